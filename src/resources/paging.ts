import { PagingError } from "../errors.js";

/** Which way the paging tokens go along a list: up is followed by `_after`, down by `_before`. */
export type Direction = "up" | "down";

/** The first sort term decides; without one, the service lists upwards. */
export function directionOf(sort: string | readonly string[] | undefined): Direction {
  const first = typeof sort === "string" ? sort.split(",")[0] : sort?.[0];
  return first?.endsWith(".desc") ? "down" : "up";
}

/** Below zero where `one` comes before `other`: whole numbers of any length by value, everything else by code units. */
export function compareTokens(one: string, other: string): number {
  if (one === other) return 0;
  // Of the same length, digits compare as texts do: by far the most common case, and no number has to be made.
  if (one.length === other.length && digits.test(one) && digits.test(other)) return one < other ? -1 : 1;
  if (wholeNumber.test(one) && wholeNumber.test(other)) {
    const difference = BigInt(one) - BigInt(other);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return one < other ? -1 : 1;
}

/** The marks of one page: what is needed to go on after it, and to notice that going on would not be sound. */
export interface PageMarks {
  readonly tokens: readonly (string | undefined)[];
  readonly ids: readonly (string | undefined)[];
}

/** Why the token of this page's last record does not lead to the next page; `undefined` where it does. */
export function unsoundness(page: PageMarks, direction: Direction): string | undefined {
  for (let index = 1; index < page.tokens.length; index++) {
    const before = page.tokens[index - 1];
    const token = page.tokens[index];
    if (before === undefined || token === undefined) continue;
    const step = compareTokens(before, token);
    if (direction === "up" ? step >= 0 : step <= 0) {
      return `its paging tokens do not strictly ${direction === "up" ? "rise" : "fall"}, so the cursor does not follow this sort order`;
    }
  }
  return undefined;
}

/**
 * Refuses a page that does not lie behind the one before it.
 *
 * @throws {PagingError} when a paging token or a record's id was on that page already, or the tokens turned round.
 */
export function assertBehind(
  operation: string,
  page: PageMarks,
  before: PageMarks,
  direction: Direction,
  trust: boolean,
): void {
  const seenTokens = new Set(before.tokens);
  const seenIds = new Set(before.ids);
  for (const token of page.tokens) {
    if (token !== undefined && seenTokens.has(token)) throw repeated(operation, "a paging token");
  }
  for (const id of page.ids) {
    if (id !== undefined && seenIds.has(id)) throw repeated(operation, "a record");
  }
  const last = before.tokens.at(-1);
  if (trust || last === undefined) return;
  // Every token, not only the first: one that lies before the end may be of a record of any earlier page.
  for (const token of page.tokens) {
    if (token === undefined) continue;
    const step = compareTokens(last, token);
    if (direction === "up" ? step < 0 : step > 0) continue;
    throw new PagingError(
      `${operation}: the next page reaches back before the end of the last one: the service does not heed the cursor, or the cursor does not follow this sort order`,
      { operation },
    );
  }
}

/**
 * Refuses a cursor that was asked for already. Tokens in order never come to that; those that are trusted without an order can.
 *
 * @throws {PagingError} where going on would be an endless loop.
 */
export function assertNotAsked(operation: string, cursor: string, asked: Set<string>): void {
  if (asked.has(cursor)) throw repeated(operation, "the cursor");
  asked.add(cursor);
}

function repeated(operation: string, what: string): PagingError {
  return new PagingError(`${operation}: ${what} of an earlier page comes again: the service does not heed the cursor`, {
    operation,
  });
}

const digits = /^\d+$/;
const wholeNumber = /^-?\d+$/;
