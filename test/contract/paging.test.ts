import { PagingError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { describedOperations, lists, prepareCalls } from "./described-operations.js";
import { harnesses } from "./harness.js";

/** The ids as they came, and whether the list ended in a `PagingError`. */
async function read(list: AsyncIterable<{ readonly id: string }>) {
  const ids: string[] = [];
  try {
    for await (const { id } of list) ids.push(id);
    return { ids, isWhole: true };
  } catch (error) {
    if (!(error instanceof PagingError)) throw error;
    return { ids, isWhole: false };
  }
}

describe.each(harnesses)("$name", ({ name, open }) => {
  /** One kind with either transport: `CBP_THOROUGH=1` tries both with both. */
  const kindsOfTokens = (["payments", "all"] as const).filter(
    (_, index) => isThorough || name === harnesses[index]?.name,
  );

  it.each(lists)("gives every record of %s once, or a PagingError", async (name) => {
    for (const pagingTokens of kindsOfTokens) {
      // Fewer than three records a page show no overlap.
      const maxSize = 4;
      await using harness = await open({ maxSize, defaultSize: 3, pagingTokens });
      const { create, list } = await prepareCalls(harness);
      const made = (await read(list(name, {}))).ids;
      while (made.length < 7) {
        const { length } = made;
        for (const size of [1, 1_000, undefined]) {
          const hasTokens = pagingTokens === "all" || describedOperations[name].hasPagingTokens === true;
          const pageSize = Math.min(Math.max(size ?? 3, 3), maxSize);
          const { ids, isWhole } = await read(list(name, { size }));
          expect(ids).toEqual(isWhole ? made : made.slice(0, pageSize));
          // Without tokens, the proof asks for the largest page.
          expect(isWhole).toBe(hasTokens || length <= maxSize);
          for (const sort of ["id.asc", "id.desc"] as const) {
            const sorted = await read(list(name, { size, sort }));
            const expected = made.toSorted();
            if (sort === "id.desc") expected.reverse();
            if (sorted.isWhole) expect(sorted.ids).toEqual(expected);
            expect(sorted.isWhole).toBe(length <= pageSize);
          }
        }
        made.push(await create(name));
      }
    }
  });
});
