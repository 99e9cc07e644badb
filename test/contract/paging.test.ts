import { PagingError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { namesOf, type PreparedCalls, prepareCalls, type Query } from "./calls.js";
import { describedOperations, fields } from "./described-api.js";
import { harnesses } from "./harness.js";

const sizes = [undefined, 1, 1000];
const pageSize = 3;

/** The records as they came, and whether the list ended in a `PagingError`. */
async function read(list: ReturnType<PreparedCalls["list"]>) {
  const ids: string[] = [];
  const tokens: (string | undefined)[] = [];
  let isWhole = true;
  try {
    for await (const { id, pagingToken } of list) {
      ids.push(id);
      tokens.push(pagingToken);
    }
  } catch (error) {
    if (!(error instanceof PagingError)) throw error;
    isWhole = false;
  }
  return { ids, tokens, isWhole };
}

describe.each(harnesses)("$name", ({ open }) => {
  async function prepare() {
    const harness = await open({ pageSize });
    return prepareCalls(harness.payer());
  }

  it.each(namesOf("list"))("gives every record of %s once, or a PagingError", async (name) => {
    const { call, list } = await prepare();
    const { kind = "gateway" } = describedOperations[name] ?? {};
    const hasTokens = fields[kind].some((field) => field === "pagingToken");
    // A gateway's withdrawals are created by providers.
    const creating = name.replace("paymentGateways.w", "liquidityProviders.w").replace("list", "create");
    const { ids: made } = await read(list(name));
    for (const count of [3, 5, 8]) {
      for (; made.length < count; ) {
        const { id } = (await call(creating as typeof name)) as { readonly id: string };
        made.push(id);
      }
      for (const size of sizes) {
        const pageOf = size === 1000 ? 2 * pageSize : pageSize;
        const query = size === undefined ? {} : { size };
        const { ids, isWhole } = await read(list(name, query));
        const expected = isWhole ? made : made.slice(0, pageOf);
        // The client reads the rest of a list without tokens by id.
        expect(ids.slice(0, pageOf)).toEqual(made.slice(0, pageOf));
        expect(ids.toSorted()).toEqual(expected.toSorted());
        // Without tokens, the proof asks for the largest page.
        expect(isWhole).toBe(hasTokens || count <= 2 * pageSize);
        for (const direction of ["asc", "desc"]) {
          const sorted = await read(list(name, { ...query, sort: `id.${direction}` }));
          const inOrder = made.toSorted();
          if (direction === "desc") inOrder.reverse();
          expect(sorted.ids).toEqual(inOrder.slice(0, sorted.isWhole ? count : pageOf));
          expect(sorted.isWhole).toBe(count <= pageOf);
        }
      }
    }
  });

  it.each<[string, (tokenOf: (place: number) => string) => Query, (ids: string[]) => string[]]>([
    ["by token", () => ({ sort: "pagingToken.asc" }), (ids) => ids],
    ["between two", (tokenOf) => ({ after: tokenOf(0), before: tokenOf(7) }), (ids) => ids.slice(1, 7)],
    [
      "newest first, before a token",
      (tokenOf) => ({ sort: "pagingToken.desc", before: tokenOf(6) }),
      (ids) => ids.slice(0, 6).reverse(),
    ],
  ])("lists payments %s", async (_, queryOf, expected) => {
    const { call, list } = await prepare();
    for (let made = 1; made < 9; made += 1) await call("payments.create");
    const { ids: made, tokens } = await read(list("payments.list"));
    expect(made).toHaveLength(9);
    const ids = expected([...made]);
    const query = queryOf((place) => tokens[place] ?? "");
    for (const size of sizes) {
      expect(await read(list("payments.list", { ...query, ...(size && { size }) }))).toMatchObject({
        ids,
        isWhole: true,
      });
    }
  });
});
