/** Anything but a text that is not empty is no id and no token. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

type Compare = (one: string, other: string) => number;

/** Compares by code units. */
export const compareTexts: Compare = compare;

/** Compares whole numbers of any length by value, and everything else as texts. */
export function compareTokens(one: string, other: string): number {
  return wholeNumber.test(one) && wholeNumber.test(other) ? compare(BigInt(one), BigInt(other)) : compare(one, other);
}

const wholeNumber = /^-?\d+$/;

function compare<Value extends string | bigint>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** Which way tokens go, each compared with the one before it; `undefined` if they go no one way, or if there are fewer than two. */
export function directionOf(tokens: readonly string[]): "up" | "down" | undefined {
  if (tokens.length < 2) return undefined;
  const goes = (order: Compare, sign: number) =>
    tokens.every((token, index) => index === 0 || order(token, tokens[index - 1] ?? "") * sign > 0);
  for (const order of [compareTokens, compareTexts]) {
    if (goes(order, -1)) return "down";
    if (goes(order, 1)) return "up";
  }
  return undefined;
}

/** Milliseconds since 1970; `NaN` for a time without a zone, which `Date.parse` would read in the zone of this machine. */
export function zonedMsOf(text: string): number {
  return zoned.test(text) ? Date.parse(text) : Number.NaN;
}

const zoned = /\d\d:\d\d.*(?:Z|[+-]\d\d:?\d\d)$/i;
