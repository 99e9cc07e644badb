import { Decimal } from "decimal.js";
import { InvalidArgumentError } from "./errors/errors.js";

/** How a digit that does not fit is rounded: as in `java.math.RoundingMode`, in lower case. */
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
 * The exchange rate as seen by a front-end: `senderAmount / receiverAmount`, as a decimal numeral
 * (Interface description 0.0.1, "What the service does", 8).
 *
 * @throws {InvalidArgumentError} when an amount is not a decimal numeral, the receiver amount is zero, or an option is wrong.
 */
export function exchangeRate(
  intent: Pick<IntentAmounts, "senderAmount" | "receiverAmount">,
  options: RateOptions = {},
): string {
  return divide(amount(intent, "senderAmount"), amount(intent, "receiverAmount"), options);
}

/**
 * The more exact rate: `senderAmount / (receiverAmount + receivingGatewayFee)`, as a decimal numeral
 * (Interface description 0.0.1, "What the service does", 8).
 *
 * @throws {InvalidArgumentError} when an amount is not a decimal numeral, the divisor is zero, or an option is wrong.
 */
export function exactExchangeRate(intent: IntentAmounts, options: RateOptions = {}): string {
  const divisor = amount(intent, "receiverAmount").plus(amount(intent, "receivingGatewayFee"));
  return divide(amount(intent, "senderAmount"), divisor, options);
}

/** Digits with an optional sign and an optional fraction: no exponent, no separators, no spaces. */
export const decimalNumeral: RegExp = /^-?\d+(?:\.\d+)?$/;

/** A decimal that keeps every digit of sums and products, and never prints an exponent. */
export function exact(value: Decimal.Value): Decimal {
  const { Exact } = decimals();
  return new Exact(value);
}

interface Decimals {
  readonly Exact: typeof Decimal;
  /** Each divides to 34 significant digits, and rounds in its own way. */
  readonly roundings: Readonly<Record<Rounding, typeof Decimal>>;
}

let made: Decimals | undefined;

/** Made on first use: the library is loaded then, and not with the client. */
function decimals(): Decimals {
  if (made !== undefined) return made;
  const Exact = Decimal.clone({ precision: 1e9, toExpNeg: -9e15, toExpPos: 9e15 });
  const rounded = (rounding: Decimal.Rounding): typeof Decimal => Exact.clone({ precision: 34, rounding });
  const roundings = {
    up: rounded(Decimal.ROUND_UP),
    down: rounded(Decimal.ROUND_DOWN),
    ceiling: rounded(Decimal.ROUND_CEIL),
    floor: rounded(Decimal.ROUND_FLOOR),
    "half-up": rounded(Decimal.ROUND_HALF_UP),
    "half-down": rounded(Decimal.ROUND_HALF_DOWN),
    "half-even": rounded(Decimal.ROUND_HALF_EVEN),
  };
  made = { Exact, roundings };
  return made;
}

/**
 * `dividend / divisor`, rounded once. Zero is printed without a sign, also where a negative quotient was rounded to it.
 *
 * @throws {InvalidArgumentError} when the divisor is zero, or an option is not one of those that there are.
 */
export function divide(dividend: Decimal, divisor: Decimal, options: RateOptions = {}): string {
  const { scale, rounding = "half-even" } = options;
  const { roundings } = decimals();
  if (!Object.hasOwn(roundings, rounding)) {
    throw new InvalidArgumentError(`rounding is none of ${Object.keys(roundings).join(", ")}`);
  }
  if (scale !== undefined && !(Number.isInteger(scale) && scale >= 0 && scale <= 1000)) {
    throw new InvalidArgumentError("scale is not a whole number from 0 to 1000");
  }
  if (divisor.isZero()) throw new InvalidArgumentError("the rate's divisor is zero: there is no rate");
  const Rate = roundings[rounding];
  return scale === undefined
    ? Rate.div(dividend, divisor).toFixed()
    : unsignedZero(digitsBeyond(dividend, divisor, scale).toFixed(scale, Rate.rounding));
}

/**
 * The quotient cut off behind its digit `scale + 1`, and behind that a 1 if anything was lost: enough for ties and directed
 * roundings to come out as they would with all of its digits.
 */
function digitsBeyond(dividend: Decimal, divisor: Decimal, scale: number): Decimal {
  const shifted = exact(dividend).times(`1e${scale + 1}`);
  const whole = shifted.divToInt(divisor);
  const lost = shifted.minus(whole.times(divisor));
  const sign = dividend.isNegative() === divisor.isNegative() ? 1 : -1;
  return whole
    .times(10)
    .plus(lost.isZero() ? 0 : sign)
    .times(`1e-${scale + 2}`);
}

function unsignedZero(numeral: string): string {
  return /^-0(?:\.0+)?$/.test(numeral) ? numeral.slice(1) : numeral;
}

function amount<K extends string>(intent: { readonly [Key in K]: string }, field: K): Decimal {
  if (typeof intent !== "object" || intent === null) {
    throw new InvalidArgumentError("the intent is not an object; wanted: an object with the intent's amounts");
  }
  const value: unknown = intent[field];
  if (typeof value !== "string" || !decimalNumeral.test(value)) {
    throw new InvalidArgumentError(`${field} is not a decimal numeral in a string, such as "12.50"`);
  }
  return exact(value);
}
