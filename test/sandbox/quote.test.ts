import fc from "fast-check";
import { expect, it } from "vitest";
import { compare, divide, exact, plus, times } from "../../src/money.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { blankRecord } from "../../src/sandbox/ledger.js";
import { priceFraction } from "../../src/sandbox/price-fraction.js";
import { quote } from "../../src/sandbox/quote.js";
import { timestamps } from "../../src/sandbox/timestamps.js";

const sender = { gatewayId: "alfa", currency: "EUR" };
const receiver = { gatewayId: "bravo", currency: "USD" };

function rate(base: typeof sender, counter: typeof sender, buyPrice: string, sellPrice: string) {
  return {
    ...blankRecord(exchangeRates.create),
    baseGatewayId: base.gatewayId,
    baseCurrency: base.currency,
    counterGatewayId: counter.gatewayId,
    counterCurrency: counter.currency,
    buyPrice,
    sellPrice,
  };
}

function numeralOf(units: number, scale: number): string {
  return divide(exact(String(units)), exact(`1${"0".repeat(scale)}`));
}

function quoteOf(wanted: string, rates: ReturnType<typeof rate>[], ends = { sender, receiver }, scale = 2) {
  return quote(rates, { ...ends, wanted: exact(wanted), scale });
}

it("divides by the price at which the sender's currency is sold", () => {
  expect(quoteOf("100", [rate(sender, receiver, "1.3", "1.25")])).toBe("80.00");
});

it("multiplies with the price at which the receiver's currency is bought", () => {
  expect(quoteOf("100", [rate(receiver, sender, "0.75", "0.70")])).toBe("75.00");
});

it("takes the rate that is best for the sender", () => {
  const rates = [
    rate(sender, receiver, "2", "1.2"),
    rate(receiver, sender, "0.8", "0.1"),
    rate(sender, receiver, "2", "1.1"),
  ];
  expect(quoteOf("100", rates)).toBe("80.00");
});

it("rounds up what does not fit, and nothing else", () => {
  expect(quoteOf("1", [rate(sender, receiver, "1", "3")])).toBe("0.34");
  expect(quoteOf("0.03", [rate(sender, receiver, "1", "3")])).toBe("0.01");
  expect(quoteOf("1", [rate(sender, receiver, "1", "3")], undefined, 5)).toBe("0.33334");
});

it("has no quote without a rate between both gateways and currencies", () => {
  const elsewhere = { gatewayId: "carl", currency: "USD" };
  expect(quoteOf("1", [])).toBeUndefined();
  expect(quoteOf("1", [rate(sender, elsewhere, "1", "1")])).toBeUndefined();
});

it("goes one to one within a currency, unless there is a rate", () => {
  const ends = { sender, receiver: { gatewayId: "bravo", currency: "EUR" } };
  expect(quoteOf("7.5", [], ends)).toBe("7.50");
  expect(quoteOf("7.5", [rate(sender, ends.receiver, "1", "0.5")], ends)).toBe("15.00");
});

it("never asks the sender for less than the receiver is to get, nor for a cent more", () => {
  const numeral = fc.tuple(fc.integer({ min: 1, max: 1e9 }), fc.integer({ min: 0, max: 6 }));
  fc.assert(
    fc.property(numeral, numeral, ([amount, amountDigits], [price, priceDigits]) => {
      const wanted = numeralOf(amount, amountDigits);
      const sellPrice = numeralOf(price, priceDigits);
      const paid = exact(quoteOf(wanted, [rate(sender, receiver, "1", sellPrice)]) ?? "0");
      const aCentLess = plus(paid, exact("-0.01"));
      expect(compare(times(paid, exact(sellPrice)), exact(wanted))).toBeGreaterThanOrEqual(0);
      expect(compare(times(aCentLess, exact(sellPrice)), exact(wanted))).toBeLessThan(0);
    }),
    { numRuns: 200 },
  );
});

it.each([
  ["1.10", 11, 10],
  ["1", 1, 1],
  ["0.000001", 1, 1_000_000],
  ["9007199254740991", 9007199254740991, 1],
  ["0.3333333333333333333333333333", 1, 3],
  ["0.1234567890123456789", 895140000083684, 7250634065933547],
  ["123456.7890123456789", 2984669620298467, 24175824142],
])("writes the price %s as %d over %d", (price, numerator, denominator) => {
  expect(priceFraction(price)).toEqual({ numerator, denominator });
});

it.each(["0", "-1", "9007199254740992", "0.0000000000000000000001"])("has no fraction for the price %s", (price) => {
  expect(priceFraction(price)).toBeUndefined();
});

it("writes a price of up to 15 digits exactly, in integers that JSON carries", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e7 }), fc.integer({ min: 0, max: 8 }), (digits, scale) => {
      const price = numeralOf(digits, scale);
      const { numerator, denominator } = priceFraction(price) ?? { numerator: 0, denominator: 1 };
      expect(Number.isSafeInteger(numerator) && Number.isSafeInteger(denominator)).toBe(true);
      expect(compare(times(exact(price), exact(String(denominator))), exact(String(numerator)))).toBe(0);
    }),
    { numRuns: 200 },
  );
});

it("gives rising timestamps even where the clock stands still or goes back", () => {
  const clock = [1_000, 1_000, 500, 2_000.25];
  const next = timestamps(() => clock.shift() ?? 0);
  expect([next(), next(), next(), next()]).toEqual([
    "1970-01-01T00:00:01.000000Z",
    "1970-01-01T00:00:01.000001Z",
    "1970-01-01T00:00:01.000002Z",
    "1970-01-01T00:00:02.000250Z",
  ]);
});
