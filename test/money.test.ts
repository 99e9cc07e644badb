import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../src/core/errors.js";
import { equalAmounts, exactExchangeRate, exchangeRate, type RateOptions, type Rounding } from "../src/money.js";
import { runs } from "./support/thorough.js";

/** A fraction of two whole numbers, the second above zero. Every rate is one before it is rounded. */
interface Rational {
  readonly over: bigint;
  readonly under: bigint;
}

const roundings: readonly Rounding[] = ["up", "down", "ceiling", "floor", "half-up", "half-down", "half-even"];
const intent = { senderAmount: "1250.50", receiverAmount: "1000.00", receivingGatewayFee: "2.50" };
const rate = (senderAmount: string, receiverAmount: string, options?: RateOptions) =>
  exchangeRate({ senderAmount, receiverAmount }, options);

const rounding = fc.constantFrom(...roundings);
const wellFormed = fc.stringMatching(/^-?\d{1,24}(\.\d{1,18})?$/);
/** Small ones meet ties, exact quotients and quotients below the last digit far more often. */
const short = fc.stringMatching(/^-?\d{1,3}(\.\d{1,3})?$/);
const numeral = fc.oneof(short, wellFormed);

describe("rates by definition", () => {
  it("divides the sender amount by the receiver amount", () => {
    expect(exchangeRate(intent)).toBe("1.2505");
  });

  it("adds the receiving gateway's fee to the divisor of the exact rate", () => {
    expect(exactExchangeRate({ senderAmount: "10", receiverAmount: "7.5", receivingGatewayFee: "0.5" })).toBe("1.25");
    expect(exactExchangeRate(intent)).toBe("1.247381546134663341645885286783042");
  });

  const digits = "0".repeat(59);
  it.each<[what: string, sent: string, received: string, options: RateOptions, expected: string]>([
    ["takes 34 significant digits", "1", "3", {}, `0.${"3".repeat(34)}`],
    ["knows no binary fractions", "0.3", "0.1", {}, "3"],
    ["prints no exponent of a small rate", "1", `1${digits}0`, {}, `0.${digits}1`],
    ["prints no exponent of a large rate", `1${digits}`, "1", {}, `1${digits}`],
    ["keeps the zeros of a scale", "6", "3", { scale: 4 }, "2.0000"],
    ["takes the scale 1000", "1", "3", { scale: 1000 }, `0.${"3".repeat(1000)}`],
    ["sees a remainder far behind the last digit", `0.5${digits}1`, "1", { scale: 0, rounding: "half-down" }, "1"],
    ["prints zero without a sign", "-0.001", "1", { scale: 2, rounding: "down" }, "0.00"],
    ["prints zero without a sign", "-0", "5", {}, "0"],
  ])("%s", (_, sent, received, options, expected) => {
    expect(rate(sent, received, options)).toBe(expected);
  });

  // To no digit after the point, as in the table of java.math.RoundingMode.
  it.each<[mode: Rounding, expected: string]>([
    ["up", "6 3 2 2 1 -1 -2 -2 -3 -6"],
    ["down", "5 2 1 1 1 -1 -1 -1 -2 -5"],
    ["ceiling", "6 3 2 2 1 -1 -1 -1 -2 -5"],
    ["floor", "5 2 1 1 1 -1 -2 -2 -3 -6"],
    ["half-up", "6 3 2 1 1 -1 -1 -2 -3 -6"],
    ["half-down", "5 2 2 1 1 -1 -1 -2 -2 -5"],
    ["half-even", "6 2 2 1 1 -1 -1 -2 -2 -6"],
  ])("rounds by %s as java.math.RoundingMode does", (mode, expected) => {
    const inputs = "5.5 2.5 1.6 1.1 1.0 -1.0 -1.1 -1.6 -2.5 -5.5".split(" ");
    expect(inputs.map((sent) => rate(sent, "1", { scale: 0, rounding: mode })).join(" ")).toBe(expected);
  });
});

describe("against whole-number arithmetic", () => {
  it("rounds every quotient as the definition says, in every mode and scale", () => {
    const scales = fc.oneof(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 60 }));
    fc.assert(
      fc.property(numeral, numeral, numeral, scales, rounding, (sent, received, fee, scale, mode) => {
        const divisor = rational(received);
        const withFee = sum(divisor, rational(fee));
        fc.pre(divisor.over !== 0n && withFee.over !== 0n);
        const value = quotient(rational(sent), divisor);
        expect(rate(sent, received, { scale, rounding: mode })).toBe(printed(rounded(value, scale, mode), scale));
        expect(rate(sent, received, { rounding: mode })).toBe(significant(value, 34, mode));
        const amounts = { senderAmount: sent, receiverAmount: received, receivingGatewayFee: fee };
        const exact = printed(rounded(quotient(rational(sent), withFee), scale, mode), scale);
        expect(exactExchangeRate(amounts, { scale, rounding: mode })).toBe(exact);
      }),
      { numRuns: runs(4000) },
    );
  });
});

describe("a rate", () => {
  const texts = ["", "1 ", "1,5", "1_000", "0x10", "--1", "NaN", "1\n", "١", "1.2.3"];
  // The message doesn't repeat a bad amount, which may be an account in the wrong field.
  it.each([...texts, 1 / 3, 2 ** 53, 10n, null, ["1"]])("is not made of the amount %s", (value) => {
    for (const field of ["senderAmount", "receiverAmount", "receivingGatewayFee"]) {
      const message = `${field} must be a decimal string such as "12.50"`;
      expect(() => exactExchangeRate({ ...intent, [field]: value })).toThrow(new InvalidArgumentError(message));
    }
  });

  it.each(["0", "0.00", "-0", "000"])("has no divisor %s", (receiverAmount) => {
    const message = "the rate's divisor is zero: there is no rate";
    for (const options of [{}, { scale: 2 }]) {
      expect(() => rate("1", receiverAmount, options)).toThrow(new InvalidArgumentError(message));
    }
    const amounts = { senderAmount: "1", receiverAmount: "2.50", receivingGatewayFee: "-2.5" };
    expect(() => exactExchangeRate(amounts)).toThrow(message);
  });

  it.each<[options: object, message: RegExp]>([
    ...[-1, 0.5, 1001, Number.NaN, Number.POSITIVE_INFINITY, "2", null].map((scale): [object, RegExp] => [
      { scale },
      /^scale must be a whole number from 0 to 1000; got /,
    ]),
    ...["HALF_UP", "toString", "", null, 4].map((mode): [object, RegExp] => [
      { rounding: mode },
      /^rounding must be one of up, down, .*; got /,
    ]),
    [{ roundingMode: "up", scale: 2 }, /^unknown option "roundingMode"; the options are scale, rounding$/],
  ])("refuses the options %o", (options, message) => {
    expect(() => exchangeRate(intent, options)).toThrow(message);
  });
});

describe("two amounts", () => {
  it.each<[one: unknown, other: unknown, areEqual: boolean]>([
    ["1.5", "1.50", true],
    ["-0", "0", true],
    ["007", "7", true],
    ["12345678901234567890.1", "12345678901234567890.10", true],
    ["1e2", "100", true],
    ["0E-7", "0", true],
    ["-1.50e-1", "-.15", true],
    ["5.", "+5", true],
    [0.1, "0.10", true],
    [1e-7, "1E-7", true],
    ["", "", true],
    ["1.5", "1.51", false],
    ["12345678901234567890.1", "12345678901234567890.2", false],
    ["1e9999", "1e9998", false],
    [" 100", "100", false],
    ["about 100", "100", false],
    [2 ** 53, "9007199254740992", false],
    [1 / 3, 1 / 3, false],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, false],
    [null, null, false],
    [["5"], "5", false],
  ])("of %j and %j are equal: %s", (one, other, areEqual) => {
    expect([equalAmounts(one, other), equalAmounts(other, one)]).toEqual([areEqual, areEqual]);
  });

  it("are equal exactly if their values are", () => {
    fc.assert(
      fc.property(numeral, numeral, fc.nat(3), (one, other, zeros) => {
        const [left, right] = [rational(one), rational(other)];
        expect(equalAmounts(one, other)).toBe(left.over * right.under === right.over * left.under);
        const longer = `${one}${one.includes(".") ? "" : ".0"}${"0".repeat(zeros)}`;
        expect(equalAmounts(one, longer.replace(/\d/, "0$&"))).toBe(true);
      }),
      { numRuns: runs(1000) },
    );
  });
});

function rational(text: string): Rational {
  const [, sign = "", whole = "", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  return { over: BigInt(`${whole}${fraction}`) * (sign === "-" ? -1n : 1n), under: 10n ** BigInt(fraction.length) };
}

function sum(left: Rational, right: Rational): Rational {
  return { over: left.over * right.under + right.over * left.under, under: left.under * right.under };
}

function quotient(left: Rational, right: Rational): Rational {
  const sign = right.over < 0n ? -1n : 1n;
  return { over: left.over * right.under * sign, under: left.under * right.over * sign };
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
  let scale = 100;
  while (String(rounded(value, scale, "down")).replace("-", "").length > count) scale -= 1;
  const units = rounded(value, scale, mode);
  if (scale <= 0) return (units * 10n ** BigInt(-scale)).toString();
  return printed(units, scale).replace(/\.?0+$/, "");
}
