import { exact } from "../money.js";

/** A price as a fraction of two integers that JSON numbers can carry. */
export interface PriceFraction {
  readonly numerator: number;
  readonly denominator: number;
}

/**
 * A positive price as a fraction in lowest terms: exactly, where both integers fit into 2^53 - 1, otherwise the closest
 * fraction that fits. Nothing for a price that no such fraction comes close to.
 */
export function priceFraction(price: string): PriceFraction | undefined {
  const value = exact(price);
  if (!value.isPositive() || value.isZero() || value.gt(Number.MAX_SAFE_INTEGER)) return undefined;
  const largest = exact(Number.MAX_SAFE_INTEGER).divToInt(value.lt(1) ? 1 : value);
  const [numerator = 0, denominator = 0] = value.toFraction(largest).map(Number);
  return numerator > 0 && Number.isSafeInteger(numerator) ? { numerator, denominator } : undefined;
}
