/** Which way the paging tokens of one record after the other go: each further up, each further down, or neither. */
export class TokenOrder {
  #count = 0;
  #last: string | undefined;
  #ways: readonly Way[] = allWays;

  get count(): number {
    return this.#count;
  }

  /** `undefined` when the tokens go no one way, and before there are two. */
  get direction(): "up" | "down" | undefined {
    return this.#count < 2 ? undefined : this.#ways[0]?.direction;
  }

  /** Whether the tokens may still go up. As numbers 1000 and 900 go down, and as texts up: the third token shows which it is. */
  get mayGoUp(): boolean {
    return this.#ways.some(({ direction }) => direction === "up");
  }

  add(token: string): void {
    const last = this.#last;
    if (last !== undefined) {
      this.#ways = this.#ways.filter(({ direction, compare }) => {
        const step = compare(last, token);
        return direction === "up" ? step < 0 : step > 0;
      });
    }
    this.#count += 1;
    this.#last = token;
  }
}

interface Way {
  readonly direction: "up" | "down";
  readonly compare: (one: string, other: string) => number;
}

/** A service may order whole numbers as the texts that they are written as. */
export function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

const allWays: readonly Way[] = [
  { direction: "down", compare: compareTokens },
  { direction: "up", compare: compareTokens },
  { direction: "down", compare: compareTexts },
  { direction: "up", compare: compareTexts },
];

/** Which way the paging tokens go along a list: up is followed by `_after`, down by `_before`. */
export type Direction = "up" | "down";

const wholeNumber = /^-?\d+$/;

/** Below zero if `one` comes before `other`: whole numbers of any length by value, everything else by code units. */
export function compareTokens(one: string, other: string): number {
  return wholeNumber.test(one) && wholeNumber.test(other) ? compare(BigInt(one), BigInt(other)) : compare(one, other);
}

function compare<Value extends string | bigint>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

export function leadsOn(before: string, token: string, direction: Direction): boolean {
  const step = compareTokens(before, token);
  return direction === "up" ? step < 0 : step > 0;
}

/** A mark that can be compared: anything but a non-empty string isn't one. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
