import { Big } from "big.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../src/core/errors.js";
import {
  compare,
  type Decimal,
  decimalNumeral,
  divide,
  equalAmounts,
  exact,
  exactExchangeRate,
  exchangeRate,
  plus,
  type Rounding,
  times,
} from "../src/money.js";
import { runs } from "./support/thorough.js";

/** A fraction of two whole numbers, the second above zero: what every rate is before it is rounded. */
interface Rational {
  readonly over: bigint;
  readonly under: bigint;
}

const roundings: readonly Rounding[] = ["up", "down", "ceiling", "floor", "half-up", "half-down", "half-even"];

const intent = { senderAmount: "1250.50", receiverAmount: "1000.00", receivingGatewayFee: "2.50" };

const rounding = fc.constantFrom(...roundings);
const wellFormed = fc.stringMatching(/^-?\d{1,24}(\.\d{1,18})?$/);
/** Small ones meet ties, exact quotients and quotients below the last digit far more often. */
const short = fc.stringMatching(/^-?\d{1,3}(\.\d{1,3})?$/);
const numeral = fc.oneof(short, wellFormed);
const nonZero = numeral.filter((text) => /[1-9]/.test(text));

describe("rates by definition", () => {
  it("divides the sender amount by the receiver amount", () => {
    expect(exchangeRate(intent)).toBe("1.2505");
  });

  it("adds the receiving gateway's fee to the divisor of the exact rate", () => {
    expect(exactExchangeRate({ senderAmount: "10", receiverAmount: "7.5", receivingGatewayFee: "0.5" })).toBe("1.25");
  });

  it("takes 34 significant digits where no scale is asked for", () => {
    expect(exchangeRate({ senderAmount: "1", receiverAmount: "3" })).toBe(`0.${"3".repeat(34)}`);
    expect(exchangeRate({ senderAmount: "2000", receiverAmount: "3" })).toBe(`666.${"6".repeat(30)}7`);
    expect(exactExchangeRate(intent)).toBe("1.247381546134663341645885286783042");
  });

  it("rounds half to even where no rounding is asked for", () => {
    const rate = (senderAmount: string) => exchangeRate({ senderAmount, receiverAmount: "1" }, { scale: 1 });
    expect([rate("0.25"), rate("0.35"), rate("-0.25"), rate("0.2500001")]).toEqual(["0.2", "0.4", "-0.2", "0.3"]);
  });

  it("keeps the zeros that the scale asks for", () => {
    expect(exchangeRate({ senderAmount: "6", receiverAmount: "3" }, { scale: 4 })).toBe("2.0000");
  });

  it("knows no binary fractions", () => {
    expect(exchangeRate({ senderAmount: "0.3", receiverAmount: "0.1" })).toBe("3");
    const amounts = { senderAmount: "0.3", receiverAmount: "0.1", receivingGatewayFee: "0.2" };
    expect(exactExchangeRate(amounts)).toBe("1");
  });

  it("never prints an exponent", () => {
    expect(exchangeRate({ senderAmount: "1", receiverAmount: `1${"0".repeat(60)}` })).toBe(`0.${"0".repeat(59)}1`);
    expect(exchangeRate({ senderAmount: `1${"0".repeat(60)}`, receiverAmount: "1" })).toBe(`1${"0".repeat(60)}`);
  });
});

describe("rounding", () => {
  // One row a rounding, as in the table of java.math.RoundingMode, to no digit after the point.
  const inputs = ["5.5", "2.5", "1.6", "1.1", "1.0", "-1.0", "-1.1", "-1.6", "-2.5", "-5.5"];
  it.each([
    ["up", ["6", "3", "2", "2", "1", "-1", "-2", "-2", "-3", "-6"]],
    ["down", ["5", "2", "1", "1", "1", "-1", "-1", "-1", "-2", "-5"]],
    ["ceiling", ["6", "3", "2", "2", "1", "-1", "-1", "-1", "-2", "-5"]],
    ["floor", ["5", "2", "1", "1", "1", "-1", "-2", "-2", "-3", "-6"]],
    ["half-up", ["6", "3", "2", "1", "1", "-1", "-1", "-2", "-3", "-6"]],
    ["half-down", ["5", "2", "2", "1", "1", "-1", "-1", "-2", "-2", "-5"]],
    ["half-even", ["6", "2", "2", "1", "1", "-1", "-1", "-2", "-2", "-6"]],
  ] as const)("%s rounds as java.math.RoundingMode does", (mode, expected) => {
    const rates = inputs.map((senderAmount) =>
      exchangeRate({ senderAmount, receiverAmount: "1" }, { scale: 0, rounding: mode }),
    );
    expect(rates).toEqual(expected);
  });

  it("sees a remainder that lies far behind the last digit", () => {
    const barely = `0.5${"0".repeat(400)}1`;
    const rate = (mode: Rounding) =>
      exchangeRate({ senderAmount: barely, receiverAmount: "1" }, { scale: 0, rounding: mode });
    expect(roundings.map(rate)).toEqual(["1", "0", "1", "0", "1", "1", "1"]);
  });

  it("prints zero without a sign", () => {
    const rate = (senderAmount: string) =>
      exchangeRate({ senderAmount, receiverAmount: "1" }, { scale: 2, rounding: "down" });
    expect([rate("-0.001"), rate("-0"), rate("-0.01")]).toEqual(["0.00", "0.00", "-0.01"]);
    expect(exchangeRate({ senderAmount: "-0", receiverAmount: "5" })).toBe("0");
  });
});

describe("against whole-number arithmetic", () => {
  it("rounds every quotient as the definition says, in every mode and scale", () => {
    const scales = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 60 }));
    fc.assert(
      fc.property(numeral, nonZero, scales, rounding, (senderAmount, receiverAmount, scale, mode) => {
        const rate = exchangeRate({ senderAmount, receiverAmount }, { scale, rounding: mode });
        const expected = printed(
          rounded(quotient(rational(senderAmount), rational(receiverAmount)), scale, mode),
          scale,
        );
        expect(rate).toBe(expected);
      }),
      { numRuns: runs(4000) },
    );
  });

  it("rounds every quotient to 34 significant digits where no scale is asked for", () => {
    fc.assert(
      fc.property(numeral, nonZero, rounding, (senderAmount, receiverAmount, mode) => {
        const rate = exchangeRate({ senderAmount, receiverAmount }, { rounding: mode });
        expect(rate).toBe(significant(quotient(rational(senderAmount), rational(receiverAmount)), 34, mode));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("adds the fee without losing a digit before it divides", () => {
    fc.assert(
      fc.property(numeral, numeral, numeral, rounding, (senderAmount, receiverAmount, receivingGatewayFee, mode) => {
        const divisor = sum(rational(receiverAmount), rational(receivingGatewayFee));
        fc.pre(divisor.over !== 0n);
        const amounts = { senderAmount, receiverAmount, receivingGatewayFee };
        const rate = exactExchangeRate(amounts, { scale: 20, rounding: mode });
        expect(rate).toBe(printed(rounded(quotient(rational(senderAmount), divisor), 20, mode), 20));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("divides amounts of thousands of digits", () => {
    const digits = fc.stringMatching(/^[1-9]\d{1500,3000}\.\d{1000,2000}$/);
    fc.assert(
      fc.property(digits, digits, rounding, fc.constantFrom(0, 1, 999, 1000), (sent, received, mode, scale) => {
        const exact = quotient(rational(sent), rational(received));
        const amounts = { senderAmount: sent, receiverAmount: received };
        expect(exchangeRate(amounts, { scale, rounding: mode })).toBe(printed(rounded(exact, scale, mode), scale));
        expect(exchangeRate(amounts, { rounding: mode })).toBe(significant(exact, 34, mode));
      }),
      { numRuns: runs(15) },
    );
  });

  it("prints a numeral that can be read back", () => {
    fc.assert(
      fc.property(numeral, nonZero, rounding, (senderAmount, receiverAmount, mode) => {
        expect(exchangeRate({ senderAmount, receiverAmount }, { rounding: mode })).toMatch(decimalNumeral);
        expect(exchangeRate({ senderAmount, receiverAmount }, { scale: 3, rounding: mode })).toMatch(decimalNumeral);
      }),
    );
  });

  it("keeps every digit of sums and products", () => {
    fc.assert(
      fc.property(wellFormed, wellFormed, (left, right) => {
        const [a, b] = [rational(left), rational(right)];
        const product: Rational = { over: a.over * b.over, under: a.under * b.under };
        expect(equal(fraction(plus(exact(left), exact(right))), sum(a, b))).toBe(true);
        expect(equal(fraction(times(exact(left), exact(right))), product)).toBe(true);
      }),
    );
  });
});

describe("against big.js", () => {
  it.each([
    ["down", 0],
    ["half-up", 1],
    ["half-even", 2],
    ["up", 3],
  ] as const)("rounds every quotient as it does: %s", (mode, RM) => {
    fc.assert(
      fc.property(numeral, nonZero, fc.integer({ min: 0, max: 60 }), (senderAmount, receiverAmount, DP) => {
        const Rounded = Object.assign(Big(), { DP, RM });
        const expected = new Rounded(senderAmount).div(receiverAmount);
        const rate = exchangeRate({ senderAmount, receiverAmount }, { scale: DP, rounding: mode });
        expect(rate).toBe(expected.eq(0) ? expected.abs().toFixed(DP) : expected.toFixed(DP));
      }),
      { numRuns: runs(2000) },
    );
  });

  it("orders, adds and multiplies as it does", () => {
    fc.assert(
      fc.property(numeral, numeral, (left, right) => {
        const [one, other, big] = [exact(left), exact(right), new Big(left)];
        expect(compare(one, other)).toBe(big.cmp(right));
        expect(compare(plus(one, other), exact(big.plus(right).toFixed()))).toBe(0);
        expect(compare(times(one, other), exact(big.times(right).toFixed()))).toBe(0);
      }),
      { numRuns: runs(2000) },
    );
  });
});

describe("what is refused", () => {
  const bad = ["", " ", "1 ", "1,5", "1_000", "0x10", "--1", "NaN", "Infinity", "1\n", "١", "1.2.3"];

  it.each(bad)("refuses %j as an amount", (text) => {
    for (const field of ["senderAmount", "receiverAmount", "receivingGatewayFee"]) {
      expect(() => exactExchangeRate({ ...intent, [field]: text })).toThrow(
        new InvalidArgumentError(`${field} must be a decimal string such as "12.50"`),
      );
    }
  });

  it.each([1 / 3, 2 ** 53, 10n, null, undefined, {}, ["1"]])("refuses %s, which is no exact amount", (value) => {
    const amounts = { ...intent, senderAmount: value as unknown as string };
    expect(() => exchangeRate(amounts)).toThrow(InvalidArgumentError);
  });

  it("refuses an intent that is no object", () => {
    expect(() => exchangeRate(undefined as unknown as typeof intent)).toThrow(InvalidArgumentError);
  });

  it("does not repeat a bad amount, which may be an account number in the wrong field", () => {
    const attempt = () => exchangeRate({ senderAmount: "DE89370400440532013000", receiverAmount: "1" });
    expect(attempt).toThrow(expect.not.objectContaining({ message: expect.stringContaining("DE89") }));
  });

  it.each(["0", "0.00", "-0", "000"])("refuses to divide by %s", (receiverAmount) => {
    for (const options of [{}, { scale: 2 }]) {
      expect(() => exchangeRate({ senderAmount: "1", receiverAmount }, options)).toThrow(
        new InvalidArgumentError("the rate's divisor is zero: there is no rate"),
      );
    }
  });

  it("refuses a fee that takes the divisor to zero", () => {
    const amounts = { senderAmount: "1", receiverAmount: "2.50", receivingGatewayFee: "-2.5" };
    expect(() => exactExchangeRate(amounts)).toThrow("divisor is zero");
  });

  it.each([-1, 0.5, 1001, Number.NaN, Number.POSITIVE_INFINITY, "2", null])("refuses the scale %s", (scale) => {
    expect(() => exchangeRate(intent, { scale: scale as number })).toThrow(
      /^scale must be a whole number from 0 to 1000; got /,
    );
  });

  it.each(["HALF_UP", "nearest", "toString", "", null, 4])(
    "refuses the rounding %s, with and without a scale",
    (mode) => {
      for (const scale of [undefined, 2]) {
        const options = { rounding: mode as Rounding, ...(scale === undefined ? {} : { scale }) };
        expect(() => exchangeRate(intent, options)).toThrow(/^rounding must be one of up, down, .*; got /);
      }
    },
  );

  it("refuses an option that there is not, which would round in another way than was meant", () => {
    const misspelt = { roundingMode: "up", scale: 2 } as object;
    expect(() => exchangeRate(intent, misspelt)).toThrow(
      new InvalidArgumentError('unknown option "roundingMode"; the options are scale, rounding'),
    );
  });

  it("takes scales up to both ends", () => {
    expect(divide(exact("2"), exact("3"), { scale: 0 })).toBe("1");
    expect(divide(exact("1"), exact("3"), { scale: 1000 })).toBe(`0.${"3".repeat(1000)}`);
  });
});

function rational(text: string): Rational {
  const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  return { over: BigInt(`${whole}${fraction}`) * (sign === "-" ? -1n : 1n), under: 10n ** BigInt(fraction.length) };
}

function fraction({ units, scale }: Decimal): Rational {
  return { over: units, under: 10n ** BigInt(scale) };
}

function sum(left: Rational, right: Rational): Rational {
  return { over: left.over * right.under + right.over * left.under, under: left.under * right.under };
}

function quotient(left: Rational, right: Rational): Rational {
  const sign = right.over < 0n ? -1n : 1n;
  return { over: left.over * right.under * sign, under: left.under * right.over * sign };
}

function equal(left: Rational, right: Rational): boolean {
  return left.over * right.under === right.over * left.under;
}

/** The value in units of `10^-scale`, rounded. `scale` may be below zero. */
function rounded(value: Rational, scale: number, mode: Rounding): bigint {
  const over = scale >= 0 ? value.over * 10n ** BigInt(scale) : value.over;
  const under = scale >= 0 ? value.under : value.under * 10n ** BigInt(-scale);
  const negative = over < 0n;
  const size = negative ? -over : over;
  const floor = size / under;
  const rest = size % under;
  const half = rest * 2n - under;
  const away = {
    up: rest > 0n,
    down: false,
    ceiling: rest > 0n && !negative,
    floor: rest > 0n && negative,
    "half-up": half >= 0n,
    "half-down": half > 0n,
    "half-even": half > 0n || (half === 0n && floor % 2n === 1n),
  }[mode];
  const result = away ? floor + 1n : floor;
  return negative ? -result : result;
}

function printed(units: bigint, scale: number): string {
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
  const text = scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
  return units < 0n ? `-${text}` : text;
}

/** The value with `count` significant digits, without zeros at the end of its fraction. */
function significant(value: Rational, count: number, mode: Rounding): string {
  if (value.over === 0n) return "0";
  const size = value.over < 0n ? -value.over : value.over;
  let exponent = size.toString().length - value.under.toString().length;
  const [over, under] =
    exponent >= 0 ? [size, value.under * 10n ** BigInt(exponent)] : [size * 10n ** BigInt(-exponent), value.under];
  if (over < under) exponent -= 1;
  const scale = count - 1 - exponent;
  const units = rounded(value, scale, mode);
  if (scale <= 0) return (units * 10n ** BigInt(-scale)).toString();
  return printed(units, scale).replace(/\.?0+$/, "");
}

describe("two amounts", () => {
  it.each([
    ["1.5", "1.50"],
    ["150", "150.000"],
    ["-0", "0"],
    ["007", "7"],
    ["12345678901234567890.1", "12345678901234567890.10"],
    ["1e2", "100"],
    ["1E+2", "1e2"],
    ["0E-7", "0"],
    ["-1.50e-1", "-.15"],
    ["5.", "+5"],
    [5, "5.00"],
    [0.1, "0.10"],
    [1e-7, "1E-7"],
    ["", ""],
  ])("are equal where they have the same value, or the same text: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([true, true]);
  });

  it.each([
    ["1.5", "1.51"],
    ["1", "-1"],
    ["12345678901234567890.1", "12345678901234567890.2"],
    ["1e2", "1e3"],
    ["1e9999", "1e9998"],
    [" 100", "100"],
    ["about 100", "100"],
  ])("are not equal where their values differ, or one is no numeral: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([false, false]);
  });

  it.each([
    [2 ** 53, "9007199254740992"],
    [1 / 3, 1 / 3],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
    [undefined, "5"],
    [null, null],
    [["5"], "5"],
  ])("are not equal where one is no exact amount: %j and %j", (one, other) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([false, false]);
  });
});
