import { PagingError } from "cross-border-payments";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { harnesses } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it("gives every record once, for any page size, any maximum of the service, and either direction", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
        fc.constantFrom("asc", "desc", undefined),
        async (count, maxSize, size, order) => {
          await using harness = await open({ maxSize, defaultSize: maxSize });
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
    await using harness = await open();
    const client = harness.client();
    for (let index = 0; index < 7; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const page = await client.liquidityProviders.list({ size: 3 });
    const rest = await harness.client().liquidityProviders.list({ size: 3, after: page.next }).toArray({ max: 100 });
    expect([...page.items, ...rest].map(({ firstName }) => firstName)).toEqual(["0", "1", "2", "3", "4", "5", "6"]);
  });

  it("keeps the caller's bound on every page", async () => {
    await using harness = await open();
    const client = harness.client();
    for (let index = 0; index < 6; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const all = await client.liquidityProviders.list({ size: 100 }).toArray({ max: 100 });
    const tokens = all.map((record) => (record as unknown as { pagingToken: string }).pagingToken);
    const within = await client.liquidityProviders.list({ size: 1, before: tokens[4] }).toArray({ max: 100 });
    expect(within).toEqual(all.slice(0, 4));
  });

  it("throws instead of losing records when the sort order is not the tokens' order", async () => {
    await using harness = await open();
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

  it("throws instead of stopping silently at a full page without paging tokens", async () => {
    await using harness = await open({ pagingTokens: "payments" });
    const client = harness.client();
    for (let index = 0; index < 3; index++) await client.liquidityProviders.create({ firstName: String(index) });
    await expect(client.liquidityProviders.list({ size: 3 }).toArray({ max: 10 })).rejects.toBeInstanceOf(PagingError);
    expect(await client.liquidityProviders.list({ size: 4 }).toArray({ max: 10 })).toHaveLength(3);
  });

  it("requests no page that nobody reads", async () => {
    await using harness = await open();
    const client = harness.client();
    for (let index = 0; index < 6; index++) await client.liquidityProviders.create({ firstName: String(index) });
    const before = harness.sandbox.requests.length;
    for await (const record of client.liquidityProviders.list({ size: 2 })) if (record.firstName === "2") break;
    expect(harness.sandbox.requests.length - before).toBe(2);
  });
});
