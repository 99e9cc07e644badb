import { InvalidArgumentError } from "./core/errors.js";
import { type CheckTable, isWholeFrom, parseOptions } from "./core/parse.js";

/** How a digit that doesn't fit is rounded, as in `java.math.RoundingMode`, in lower case. */
export type Rounding = "up" | "down" | "ceiling" | "floor" | "half-up" | "half-down" | "half-even";

export interface RateOptions {
  /** Digits after the point, from 0 to 1,000. Without it the rate has 34 significant digits. */
  readonly scale?: number;
  /** Default: `half-even`. */
  readonly rounding?: Rounding;
}

/** The amounts of an intent that its rates are made of. */
export interface IntentAmounts {
  readonly senderAmount: string;
  readonly receiverAmount: string;
  readonly receivingGatewayFee: string;
}

/**
 * The exchange rate that a front end shows, `senderAmount / receiverAmount`, as a decimal numeral
 * (Interface description 0.0.1, "What the service does", 8).
 *
 * @throws {InvalidArgumentError} if an amount isn't a decimal numeral, the receiver amount is zero, or an option is wrong.
 */
export function exchangeRate(
  intent: Pick<IntentAmounts, "senderAmount" | "receiverAmount">,
  options: RateOptions = {},
): string {
  return divide(amount(intent, "senderAmount"), amount(intent, "receiverAmount"), options);
}

/**
 * The more exact rate, `senderAmount / (receiverAmount + receivingGatewayFee)`, as a decimal numeral
 * (Interface description 0.0.1, "What the service does", 8).
 *
 * @throws {InvalidArgumentError} if an amount isn't a decimal numeral, the divisor is zero, or an option is wrong.
 */
export function exactExchangeRate(intent: IntentAmounts, options: RateOptions = {}): string {
  const divisor = plus(amount(intent, "receiverAmount"), amount(intent, "receivingGatewayFee"));
  return divide(amount(intent, "senderAmount"), divisor, options);
}

/** Digits with an optional sign and an optional fraction, without exponent, separators, and spaces. */
export const decimalNumeral: RegExp = /^-?\d+(?:\.\d+)?$/;

/** As a service may write an amount, such as Java's zero `0E-7`. The exponent is short, so that no number gets huge. */
const writtenNumeral = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d{1,3})?$/i;

/** Whether a number is certainly what its JSON text said. It must be whole up to 2 ** 53, or have at most 15 significant digits. */
export function isExactNumber(value: unknown): value is number {
  if (typeof value !== "number" || !Number.isFinite(value)) return false;
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number(value.toPrecision(15)) === value;
}

/** The value of an amount as a service wrote it, in a text or as a number. `undefined` if it isn't certain. */
export function amountOf(value: unknown): Decimal | undefined {
  const text = isExactNumber(value) ? String(value) : value;
  if (typeof text !== "string" || !writtenNumeral.test(text)) return undefined;
  const [numeral = "", exponent = "0"] = text.toLowerCase().split("e");
  const { units, scale } = exact(numeral);
  const moved = scale - Number(exponent);
  return { units: units * power(-moved), scale: Math.max(moved, 0) };
}

/** A decimal that keeps every digit: `units / 10 ** scale`. */
export interface Decimal {
  readonly units: bigint;
  readonly scale: number;
}

/** The value of a decimal numeral. */
export function exact(numeral: string): Decimal {
  const [whole = "", fraction = ""] = numeral.split(".");
  return { units: BigInt(whole + fraction), scale: fraction.length };
}

export function plus(one: Decimal, other: Decimal): Decimal {
  const [units, more, scale] = alike(one, other);
  return { units: units + more, scale };
}

export function times(one: Decimal, other: Decimal): Decimal {
  return { units: one.units * other.units, scale: one.scale + other.scale };
}

/** Below zero if the first is smaller, above zero if it is larger, and zero if both have the same value. */
export function compare(one: Decimal, other: Decimal): number {
  const [first, second] = alike(one, other);
  return first < second ? -1 : first > second ? 1 : 0;
}

/** The units of both at the larger scale of the two. */
function alike(one: Decimal, other: Decimal): readonly [bigint, bigint, number] {
  const scale = Math.max(one.scale, other.scale);
  return [one.units * power(scale - one.scale), other.units * power(scale - other.scale), scale];
}

/**
 * `dividend / divisor`, rounded once. Zero is printed without a sign, also if a negative quotient was rounded to it.
 *
 * @throws {InvalidArgumentError} if the divisor is zero, or an option is wrong.
 */
export function divide(dividend: Decimal, divisor: Decimal, options: RateOptions = {}): string {
  const { scale, rounding = "half-even" }: RateOptions = parseOptions(rateOptions, options, "the options", refuse);
  if (divisor.units === 0n) throw refuse("the rate's divisor is zero: there is no rate");
  const [signedOver, signedUnder] = alike(dividend, divisor);
  const [over, under] = [size(signedOver), size(signedUnder)];
  const isNegative = signedOver < 0n !== signedUnder < 0n;
  const digits = scale ?? significantDigits - 1 - exponentOf(over, under);
  const units = roundedQuotient(over * power(digits), under * power(-digits), rounding, isNegative);
  const numeral = print(units * power(-digits), Math.max(digits, 0));
  const shown = scale === undefined && digits > 0 ? numeral.replace(/\.?0+$/, "") : numeral;
  return isNegative && units !== 0n ? `-${shown}` : shown;
}

/** The quotient of two numbers without sign. It gets one unit more if it's rounded away from zero. */
function roundedQuotient(over: bigint, under: bigint, rounding: Rounding, isNegative: boolean): bigint {
  const quotient = over / under;
  const rest = over % under;
  const beyondHalf = rest * 2n - under;
  const isUp: Readonly<Record<Rounding, boolean>> = {
    up: rest > 0n,
    down: false,
    ceiling: rest > 0n && !isNegative,
    floor: rest > 0n && isNegative,
    "half-up": beyondHalf >= 0n,
    "half-down": beyondHalf > 0n,
    "half-even": beyondHalf > 0n || (beyondHalf === 0n && quotient % 2n === 1n),
  };
  return isUp[rounding] ? quotient + 1n : quotient;
}

const roundings: readonly unknown[] = ["up", "down", "ceiling", "floor", "half-up", "half-down", "half-even"];

const refuse = (message: string) => new InvalidArgumentError(message);

const rateOptions: CheckTable<RateOptions> = {
  scale: {
    accepts: isWholeFrom(0, 1000),
    expected: "a whole number from 0 to 1000",
  },
  rounding: {
    accepts: (value) => roundings.includes(value),
    expected: `one of ${roundings.join(", ")}`,
  },
};

const significantDigits = 34;

/** That of the first digit of a quotient: 0 from 1 up to 10. For zero it is any. */
function exponentOf(over: bigint, under: bigint): number {
  const exponent = String(over).length - String(under).length;
  return over * power(-exponent) < under * power(exponent) ? exponent - 1 : exponent;
}

/** `10 ** exponent`, and 1 for an exponent below zero. */
function power(exponent: number): bigint {
  return 10n ** BigInt(Math.max(exponent, 0));
}

function size(units: bigint): bigint {
  return units < 0n ? -units : units;
}

/** Without a sign. */
function print(units: bigint, scale: number): string {
  const digits = String(units).padStart(scale + 1, "0");
  return scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

function amount(intent: object, field: keyof IntentAmounts): Decimal {
  const value = amountOf(Reflect.get(Object(intent), field));
  if (value === undefined) throw refuse(`${field} must be a decimal string such as "12.50"`);
  return value;
}

/** Whether two amounts have the same value, however they are written: `1.5`, `1.50`, and the number 1.5 do. */
export function equalAmounts(one: unknown, other: unknown): boolean {
  const [first, second] = [amountOf(one), amountOf(other)];
  if (first === undefined || second === undefined) return typeof one === "string" && one === other;
  return compare(first, second) === 0;
}
