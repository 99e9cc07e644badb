import { expect, it } from "vitest";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { pageOf } from "../../src/sandbox/lists.js";
import type { SandboxOptions } from "../../src/sandbox/options.js";
import { openFixture } from "./sandbox-fixture.js";

const limits = { maxSize: 100, defaultSize: 20, quirks: {} };

function providers(names: readonly string[]) {
  return names.map((lastName, index) => ({
    token: 1 + index,
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

it("gives paging tokens to other records than payments only where it is told to", async () => {
  const hasToken = async (options: SandboxOptions) => {
    const fixture = await openFixture(options);
    await fixture.create("/liquidity-providers", { firstName: "Ann" });
    return Object.hasOwn((await fixture.send("GET", "/liquidity-providers")).body[0], "pagingToken");
  };
  expect([await hasToken({}), await hasToken({ pagingTokens: "payments" })]).toEqual([false, false]);
  expect(await hasToken({ pagingTokens: "all" })).toBe(true);
});
