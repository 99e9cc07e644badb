import fc from "fast-check";
import { expect, it } from "vitest";
import { operations } from "../../src/resources/catalogue.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { pageOf } from "../../src/sandbox/lists.js";
import type { SandboxOptions } from "../../src/sandbox/options.js";
import { openFixture } from "./sandbox-fixture.js";

const limits = { maxSize: 100, defaultSize: 20, quirks: {} };

function providers(names: readonly string[], firstToken = 1) {
  return names.map((lastName, index) => ({
    token: firstToken + index,
    record: { id: `id-${index}`, firstName: "", lastName, email: "" },
  }));
}

function names(query: string, rows = providers(["b", "a", "c", "a"]), pageLimits = limits) {
  const page = pageOf(rows, liquidityProviders.list, new URLSearchParams(query), pageLimits);
  return page.map(({ token, record }) => `${record.lastName}${token}`);
}

it("filters, bounds, sorts and limits, in this order", () => {
  expect(names("")).toEqual(["b1", "a2", "c3", "a4"]);
  expect(names("lastName=a")).toEqual(["a2", "a4"]);
  expect(names("lastName=a&_after=2")).toEqual(["a4"]);
  expect(names("_after=1&_before=4")).toEqual(["a2", "c3"]);
  expect(names("_sort=lastName.desc&_after=1&_size=2")).toEqual(["c3", "a4"]);
  expect(names("_sort=lastName.asc&_size=2")).toEqual(["a2", "a4"]);
  expect(names("_sort=lastName.asc,pagingToken.desc")).toEqual(["a4", "a2", "b1", "c3"]);
  expect(names("_sort=firstName.desc")).toEqual(["a4", "c3", "a2", "b1"]);
});

it("never gives more than the maximum, nor more than the default without a size", () => {
  const small = { ...limits, maxSize: 3, defaultSize: 2 };
  expect(names("_size=1000", undefined, small)).toHaveLength(3);
  expect(names("", undefined, small)).toHaveLength(2);
});

it("compares prices and integers as numbers", () => {
  const rows = ["9", "10.0", "1.5"].map((buyPrice, index) => ({
    token: index,
    record: { buyPrice, buyPriceN: index },
  }));
  const pick = (query: string) =>
    pageOf(rows, exchangeRates.list, new URLSearchParams(query), limits).map(({ record }) => record.buyPrice);
  expect(pick("_sort=buyPrice.asc")).toEqual(["1.5", "9", "10.0"]);
  expect(pick("buyPrice=10")).toEqual(["10.0"]);
  expect(pick("buyPriceN=2")).toEqual(["1.5"]);
});

it.each([
  "_size=0",
  "_size=-1",
  "_size=1.5",
  "_size=",
  "_size=ten",
  "_after=x",
  "_before=-1",
  "_sort=",
  "_sort=lastName",
  "_sort=lastName.up",
  "_sort=nickname.asc",
  "_sort=lastName.asc,",
  "nickname=x",
  "constructor=x",
  "__proto__=x",
  "lastName=a&lastName=b",
])("refuses the query %s", (query) => {
  expect(() => names(query)).toThrowError(expect.objectContaining({ code: "invalid_query" }));
});

it("gives every record once and in order, whatever the page size, the maximum and the direction", () => {
  const cases = fc.record({
    names: fc.array(fc.constantFrom("a", "b"), { maxLength: 40 }),
    firstToken: fc.integer({ min: 0, max: 1_000 }),
    size: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    maxSize: fc.integer({ min: 1, max: 12 }),
    filter: fc.constantFrom("", "&lastName=a"),
    falling: fc.boolean(),
  });
  fc.assert(
    fc.property(cases, ({ names: lastNames, firstToken, size, maxSize, filter, falling }) => {
      const rows = providers(lastNames, firstToken);
      const wanted = rows.filter(({ record }) => filter === "" || record.lastName === "a");
      const seen: number[] = [];
      for (let bound = ""; ; ) {
        const query = `${falling ? "_sort=pagingToken.desc" : ""}${filter}${bound}${size ? `&_size=${size}` : ""}`;
        const page = pageOf(rows, liquidityProviders.list, new URLSearchParams(query), {
          ...{ maxSize, defaultSize: 5, quirks: {} },
        });
        const last = page.at(-1);
        if (last === undefined) break;
        expect(page.length).toBeLessThanOrEqual(Math.min(size ?? 5, maxSize));
        seen.push(...page.map(({ token }) => token));
        bound = `&${falling ? "_before" : "_after"}=${last.token}`;
      }
      const tokens = wanted.map(({ token }) => token);
      expect(seen).toEqual(falling ? tokens.reverse() : tokens);
    }),
    { numRuns: 200 },
  );
});

it("gives paging tokens to other records than payments only where it is told to", async () => {
  const hasToken = async (options: SandboxOptions) => {
    const fixture = await openFixture(options);
    await fixture.create("/liquidity-providers", { firstName: "Ann" });
    return Object.hasOwn((await fixture.send("GET", "/liquidity-providers")).body[0], "pagingToken");
  };
  expect([await hasToken({}), await hasToken({ pagingTokens: "payments" })]).toEqual([false, false]);
  expect(await hasToken({ pagingTokens: "all" })).toBe(true);
});

it.each([...operations.values()].filter(({ verb }) => verb === "list"))(
  "sorts $name by every field, and turns the order round exactly",
  (operation) => {
    const kinds = Object.entries(operation.record).filter(([, kind]) => kind !== "any");
    const valuesOf = (kind: string) =>
      kind === "decimal" || kind === "integer"
        ? fc.constantFrom("1", "2", "10", "010")
        : fc.constantFrom("", "2", "10", "a");
    const row = fc.record(Object.fromEntries(kinds.map(([field, kind]) => [field, valuesOf(kind)])));
    fc.assert(
      fc.property(
        fc.array(row, { maxLength: 8 }),
        fc.constantFrom(...kinds.map(([field]) => field)),
        (records, field) => {
          const rows = records.map((record, token) => ({ token, record }));
          const tokens = (sort: string) =>
            pageOf(rows, operation, new URLSearchParams({ _sort: sort }), limits).map(({ token }) => token);
          expect(tokens(`${field}.desc`)).toEqual(tokens(`${field}.asc`).reverse());
        },
      ),
      { numRuns: 30 },
    );
  },
);
