import { PagingError } from "cross-border-payments";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { lists, prepareCalls } from "./described-operations.js";
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
  /** One kind with either transport: `npm run test:all` tries both with both. */
  const kindsOfTokens = (["payments", "all"] as const).filter(
    (_, index) => isThorough || name === harnesses[index]?.name,
  );

  it.each(lists)("gives every record of %s once, or a PagingError", async (name) => {
    for (const pagingTokens of kindsOfTokens) {
      const maxSize = 3;
      await using harness = await open({ maxSize, defaultSize: 2, pagingTokens });
      const { create, list } = await prepareCalls(harness);
      const made = (await read(list(name, {}))).ids;
      while (made.length < 5) {
        const { length } = made;
        for (const size of [1, 1_000, undefined]) {
          const hasTokens = name === "payments.list" || pagingTokens === "all";
          const pageSize = Math.min(size ?? 2, maxSize);
          const { ids, isWhole } = await read(list(name, { size }));
          if (isWhole) expect(ids).toEqual(made);
          else expect(ids).toEqual(made.slice(0, pageSize));
          // Two are asked for where a page of one was.
          expect(isWhole).toBe(hasTokens || length <= Math.max(pageSize, 2));
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

  it("gives every record once, for any page size, any maximum of the service, and either direction", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
        fc.constantFrom("asc", "desc", undefined),
        async (count, maxSize, size, order) => {
          await using harness = await open({ maxSize, defaultSize: maxSize, pagingTokens: "all" });
          const client = harness.client();
          const made: string[] = [];
          for (let index = 0; index < count; index++) {
            made.push((await client.liquidityProviders.create({ firstName: String(index) })).id);
          }
          // `pagingToken` is no described field of a provider, so its sort term is not in the types.
          const sort = order === undefined ? undefined : (`pagingToken.${order}` as "id.asc");
          const seen: string[] = [];
          for await (const { id } of client.liquidityProviders.list({ size, sort })) seen.push(id);
          expect(seen).toEqual(order === "desc" ? made.reverse() : made);
        },
      ),
      { numRuns: 15 },
    );
  });

  it("resumes from a stored cursor, in another client", async () => {
    await using harness = await open({ pagingTokens: "all" });
    const client = harness.client();
    for (let index = 0; index < 7; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const page = await client.liquidityProviders.list({ size: 3 });
    const rest = await harness.client().liquidityProviders.list({ size: 3, after: page.next }).toArray({ max: 100 });
    expect([...page.items, ...rest].map(({ firstName }) => firstName)).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
  });

  it("keeps the caller's bound on every page", async () => {
    await using harness = await open({ pagingTokens: "all" });
    const client = harness.client();
    for (let index = 0; index < 6; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const all = await client.liquidityProviders.list({ size: 100 }).toArray({ max: 100 });
    const tokens = all.map((record) => (record as unknown as { pagingToken: string }).pagingToken);
    const within = await client.liquidityProviders.list({ size: 1, before: tokens[4] }).toArray({ max: 100 });
    expect(within).toEqual(all.slice(0, 4));
  });

  it("throws instead of losing records when the sort order is not the tokens' order", async () => {
    await using harness = await open({ pagingTokens: "all" });
    const client = harness.client();
    for (const firstName of ["c", "a", "b"]) await client.liquidityProviders.create({ firstName });
    const seen: string[] = [];
    const reading = async () => {
      for await (const record of client.liquidityProviders.list({ size: 2, sort: "firstName.desc" }))
        seen.push(record.firstName);
    };
    await expect(reading()).rejects.toBeInstanceOf(PagingError);
    expect(seen).toEqual(["c", "b"]);
  });

  it("gives a list without paging tokens only where it is whole", async () => {
    await using harness = await open({ maxSize: 10 });
    const { liquidityProviders } = harness.client();
    for (let index = 0; index < 13; index++) await liquidityProviders.create({ firstName: String(index % 2) });
    for (const query of [{}, { size: 3 }, { size: 1_000 }, { size: 1_000, prefetch: true }]) {
      await expect(liquidityProviders.list(query).toArray({ max: 100 })).rejects.toBeInstanceOf(PagingError);
    }
    for (const size of [7, 8, 1_000, undefined]) {
      const even = await liquidityProviders.list({ size, filter: { firstName: "0" } }).toArray({ max: 100 });
      expect(even).toHaveLength(7);
    }
    expect(await liquidityProviders.list({ filter: { lastName: "Quid" } }).toArray({ max: 1_000 })).toEqual([]);
  });

  it("requests no page that nobody reads", async () => {
    await using harness = await open({ pagingTokens: "all" });
    const client = harness.client();
    for (let index = 0; index < 6; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const before = harness.sandbox.requests.length;
    for await (const record of client.liquidityProviders.list({ size: 2 })) if (record.firstName === "2") break;
    expect(harness.sandbox.requests.length - before).toBe(2);
  });
});
