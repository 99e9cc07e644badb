import { Big, type RoundingMode } from "big.js";
import { InvalidArgumentError } from "./errors/errors.js";
import { type CheckTable, parseOptions } from "./options/option-table.js";

export type { Big };

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

/** A constructor of our own: programs may change the settings of the one that big.js exports. */
const Exact = Big();

/** A decimal that keeps every digit of sums and products. `toFixed()` prints it without an exponent. */
export function exact(value: string | number | Big): Big {
  return new Exact(value);
}

/**
 * `dividend / divisor`, rounded once. Zero is printed without a sign, also where a negative quotient was rounded to it.
 *
 * @throws {InvalidArgumentError} when the divisor is zero, or an option is not one of those that there are.
 */
export function divide(dividend: Big, divisor: Big, options: RateOptions = {}): string {
  const { scale, rounding = "half-even" }: RateOptions = parseOptions(rateOptions, options, "the options", refuse);
  if (divisor.eq(0)) throw new InvalidArgumentError("the rate's divisor is zero: there is no rate");
  const isNegative = dividend.lt(0) !== divisor.lt(0);
  const round = roundings[rounding][isNegative ? "below" : "above"];
  const quotient =
    scale === undefined
      ? toSignificantDigits(dividend.abs(), divisor.abs(), round)
      : round(dividend.abs(), divisor.abs(), scale);
  const numeral = quotient.toFixed(scale);
  return isNegative && !quotient.eq(0) ? `-${numeral}` : numeral;
}

/** Divides two decimals without sign, to `scale` digits after the point. */
type RoundedDivision = (dividend: Big, divisor: Big, scale: number) => Big;

const down: RoundedDivision = (dividend, divisor, scale) => divideBy(dividend, divisor, scale, 0);
const halfUp: RoundedDivision = (dividend, divisor, scale) => divideBy(dividend, divisor, scale, 1);
const halfEven: RoundedDivision = (dividend, divisor, scale) => divideBy(dividend, divisor, scale, 2);
const up: RoundedDivision = (dividend, divisor, scale) => divideBy(dividend, divisor, scale, 3);

/** Half up, except where the quotient lies exactly between two neighbours. */
const halfDown: RoundedDivision = (dividend, divisor, scale) => {
  const lower = down(dividend, divisor, scale);
  const nearest = halfUp(dividend, divisor, scale);
  const isTie = lower.plus(nearest).times(divisor).eq(dividend.times(2));
  return isTie ? lower : nearest;
};

/** How a quotient above zero is rounded, and the digits of one below. big.js has four of these; the others are made of them. */
const roundings: Readonly<Record<Rounding, Readonly<Record<"above" | "below", RoundedDivision>>>> = {
  up: { above: up, below: up },
  down: { above: down, below: down },
  ceiling: { above: up, below: down },
  floor: { above: down, below: up },
  "half-up": { above: halfUp, below: halfUp },
  "half-down": { above: halfDown, below: halfDown },
  "half-even": { above: halfEven, below: halfEven },
};

const refuse = (message: string) => new InvalidArgumentError(message);

const rateOptions: CheckTable<RateOptions> = {
  scale: {
    accepts: (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1000,
    wanted: "a whole number from 0 to 1000",
  },
  rounding: {
    accepts: (value) => typeof value === "string" && Object.hasOwn(roundings, value),
    wanted: `one of ${Object.keys(roundings).join(", ")}`,
  },
};

/** big.js takes the scale and the rounding of a division from the constructor: each division has one of its own. */
function divideBy(dividend: Big, divisor: Big, scale: number, rounding: RoundingMode): Big {
  const Rounded = Big();
  Rounded.DP = scale;
  Rounded.RM = rounding;
  return new Rounded(dividend).div(divisor);
}

const significantDigits = 34;

function toSignificantDigits(dividend: Big, divisor: Big, round: RoundedDivision): Big {
  // Of two decimals from 1 up to 10 the quotient has its first digit before the point or right after it.
  const [over, under] = [shift(dividend, -dividend.e), shift(divisor, -divisor.e)];
  const scale = over.lt(under) ? significantDigits : significantDigits - 1;
  return shift(round(over, under, scale), dividend.e - divisor.e);
}

function shift(value: Big, places: number): Big {
  return value.times(`1e${places}`);
}

function amount<K extends string>(intent: { readonly [Key in K]: string }, field: K): Big {
  if (typeof intent !== "object" || intent === null) {
    throw new InvalidArgumentError("the intent is not an object; wanted: an object with the intent's amounts");
  }
  const value: unknown = intent[field];
  if (typeof value !== "string" || !decimalNumeral.test(value)) {
    throw new InvalidArgumentError(`${field} is not a decimal numeral in a string, such as "12.50"`);
  }
  return exact(value);
}

/** Whether two amounts have the same value: `1.5` and `1.50` do. */
export function equalAmounts(one: unknown, other: unknown): boolean {
  if (typeof one !== "string" || typeof other !== "string") return false;
  if (one === other) return true;
  return decimalNumeral.test(one) && decimalNumeral.test(other) && exact(one).eq(other);
}
