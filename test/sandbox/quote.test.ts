import fc from "fast-check";
import { expect, it } from "vitest";
import { compare, divide, exact, plus, times } from "../../src/money.js";
import { quote } from "../../src/sandbox/payments.js";

const [from, to] = ["EUR at alfa", "USD at bravo"];
const rate = (base: string, counter: string, buyPrice: string, sellPrice: string) => ({
  ...{ base, counter, buyPrice, sellPrice },
});

function numeralOf(units: number, scale: number): string {
  return divide(exact(String(units)), exact(`1${"0".repeat(scale)}`));
}

function quoteOf(amount: string, rates: ReturnType<typeof rate>[], isOneCurrency = false, scale = 2) {
  return quote(rates, { from, to, isOneCurrency, amount: exact(amount), scale });
}

const third = rate(from, to, "1", "3");
const best = [rate(from, to, "2", "1.2"), rate(to, from, "0.8", "0.1"), rate(from, to, "2", "1.1")];

it.each([
  ["divided by the price at which the sender's currency is sold", "100", [rate(from, to, "1.3", "1.25")], "80.00"],
  ["times the price at which the receiver's currency is bought", "100", [rate(to, from, "0.75", "0.7")], "75.00"],
  ["at the best rate for the sender", "100", best, "80.00"],
  ["rounded up", "1", [third], "0.34"],
  ["not rounded if it fits", "0.03", [third], "0.01"],
  ["nothing without a rate", "1", [], undefined],
  ["nothing with the rate of another gateway", "1", [rate(from, "USD at carl", "1", "1")], undefined],
])("quotes %s", (_, amount, rates, expected) => {
  expect(quoteOf(amount, rates)).toBe(expected);
});

it("quotes one to one within a currency, unless there is a rate, and as many decimals as it is told", () => {
  expect(quoteOf("7.5", [], true)).toBe("7.50");
  expect(quoteOf("7.5", [rate(from, to, "1", "0.5")], true)).toBe("15.00");
  expect(quoteOf("1", [third], false, 5)).toBe("0.33334");
});

it("never asks the sender for less than the receiver is to get, nor for a cent more", () => {
  const numeral = fc.tuple(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 0, max: 6 }));
  fc.assert(
    fc.property(numeral, numeral, ([units, amountDigits], [price, priceDigits]) => {
      const amount = numeralOf(units, amountDigits);
      const sellPrice = numeralOf(price, priceDigits);
      const paid = exact(quoteOf(amount, [rate(from, to, "1", sellPrice)]) ?? "0");
      const aCentLess = plus(paid, exact("-0.01"));
      expect(compare(times(paid, exact(sellPrice)), exact(amount))).toBeGreaterThanOrEqual(0);
      expect(compare(times(aCentLess, exact(sellPrice)), exact(amount))).toBeLessThan(0);
    }),
    { numRuns: 200 },
  );
});
