/** A price as a fraction of two integers that JSON numbers can carry. */
export interface PriceFraction {
  readonly numerator: number;
  readonly denominator: number;
}

/** Numerator and denominator. */
type Fraction = readonly [over: bigint, under: bigint];

const largest = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * A positive price as a fraction in lowest terms: exactly, where both integers fit into 2^53 - 1, otherwise the closest
 * fraction that fits. Nothing for a price that no such fraction comes close to.
 *
 * @param price a decimal numeral.
 */
export function priceFraction(price: string): PriceFraction | undefined {
  const [whole = "", digits = ""] = price.split(".");
  const exact: Fraction = [BigInt(whole + digits), 10n ** BigInt(digits.length)];
  if (exact[0] <= 0n || exact[0] > exact[1] * largest) return undefined;
  const [numerator, denominator] = closestFraction(exact);
  return numerator === 0n ? undefined : { numerator: Number(numerator), denominator: Number(denominator) };
}

/** By continued fractions: each convergent is closer than the one before, and in lowest terms. */
function closestFraction(value: Fraction): Fraction {
  let [over, under] = value;
  let previous: Fraction = [0n, 1n];
  let current: Fraction = [1n, 0n];
  while (under !== 0n) {
    const next = mediant(previous, current, over / under);
    if (next[0] > largest || next[1] > largest) {
      const between = mediant(previous, current, mostSteps(previous, current));
      return isCloser(between, current, value) ? between : current;
    }
    [previous, current] = [current, next];
    [over, under] = [under, over % under];
  }
  return current;
}

function mediant(first: Fraction, second: Fraction, times: bigint): Fraction {
  return [first[0] + second[0] * times, first[1] + second[1] * times];
}

/** How often `second` can be added to `first` before an integer no longer fits. */
function mostSteps(first: Fraction, second: Fraction): bigint {
  const [numerators, denominators] = [steps(first[0], second[0]), steps(first[1], second[1])];
  return numerators < denominators ? numerators : denominators;
}

function steps(from: bigint, by: bigint): bigint {
  return by === 0n ? largest : (largest - from) / by;
}

function isCloser(first: Fraction, second: Fraction, to: Fraction): boolean {
  return distance(first, to) * second[1] < distance(second, to) * first[1];
}

/** Returns the distance of two fractions, times both denominators. */
function distance(first: Fraction, second: Fraction): bigint {
  const difference = first[0] * second[1] - second[0] * first[1];
  return difference < 0n ? -difference : difference;
}
