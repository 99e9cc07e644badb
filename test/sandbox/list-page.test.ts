import { expect, it } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { listPage } from "../../src/sandbox/lists.js";
import { type SandboxOptions, toSettings } from "../../src/sandbox/options.js";

/** One page of records, whose tokens count from 1. */
function pageOf<T extends object>(
  operation: Operation,
  query: string,
  records: readonly T[],
  options?: SandboxOptions,
) {
  const rows = records.map((record, index) => ({ token: 1 + index, owner: "", addedAtMs: 0, record }));
  return listPage(toSettings(options ?? {}), operation, new URLSearchParams(query), rows) as readonly T[];
}

const providers = ["b1", "a2", "c3", "a4"].map((id) => ({ id, firstName: "", lastName: id[0] }));

const names = (query: string, options?: SandboxOptions) =>
  pageOf(liquidityProviders.list, query, providers, options).map(({ id }) => id);

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
  const small = { maxSize: 3, defaultSize: 2 };
  expect(names("_size=1000", small)).toHaveLength(3);
  expect(names("", small)).toHaveLength(2);
});

it("compares prices and integers as numbers", () => {
  const rates = ["9", "10.0", "1.5"].map((buyPrice, buyPriceN) => ({ buyPrice, buyPriceN }));
  const pick = (query: string) => pageOf(exchangeRates.list, query, rates).map(({ buyPrice }) => buyPrice);
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

it("gives paging tokens to other records than payments only where it is told to", () => {
  const hasToken = (options: SandboxOptions) =>
    Object.hasOwn(pageOf(liquidityProviders.list, "", providers, options)[0] ?? {}, "pagingToken");
  expect([{}, { pagingTokens: "all" } as const].map(hasToken)).toEqual([false, true]);
});
