import { PagingError } from "../errors/errors.js";

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
  // Of the same length and without a sign, whole numbers compare as texts do: the common case, and no number has to be made.
  if (one.length === other.length && !isSigned(one) && !isSigned(other)) return one < other ? -1 : 1;
  if (wholeNumber.test(one) && wholeNumber.test(other)) {
    const difference = BigInt(one) - BigInt(other);
    return difference < 0n ? -1 : difference > 0n ? 1 : 0;
  }
  return one < other ? -1 : 1;
}

/** The fields of one page that are needed to continue after it, and to notice that continuing would not be sound. */
export interface CursorFields {
  readonly tokens: readonly (string | undefined)[];
  readonly ids: readonly (string | undefined)[];
  /**
   * Set where every record has a token, each lies behind the one before it, and all of them compare alike. That is the rule, and
   * leaves hardly anything to check. Numbers and texts among each other are in no one order: 9 < 10 < 1a < 9.
   */
  readonly order: "numbers" | "texts" | undefined;
}

export function cursorFieldsOf<Item>(
  items: readonly Item[],
  tokenOf: (item: Item) => string | undefined,
  direction: Direction,
): CursorFields {
  const tokens = items.map(tokenOf);
  const ids = items.map(idOf);
  let areInOrder = items.length > 0;
  let numbers = 0;
  let before: string | undefined;
  for (const token of tokens) {
    if (token === undefined || (before !== undefined && !leadsOn(before, token, direction))) areInOrder = false;
    else if (wholeNumber.test(token)) numbers += 1;
    before = token;
  }
  if (!areInOrder) return { tokens, ids, order: undefined };
  return { tokens, ids, order: numbers === items.length ? "numbers" : numbers === 0 ? "texts" : undefined };
}

function idOf(item: unknown): string | undefined {
  return nonEmptyText((item as { readonly id?: unknown }).id);
}

/** A mark that can be compared: anything but a text that is not empty is none. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function leadsOn(before: string, token: string, direction: Direction): boolean {
  const step = compareTokens(before, token);
  return direction === "up" ? step < 0 : step > 0;
}

/** Why the token of this page's last record does not lead to the next page; `undefined` where it does. */
export function whyUnsound(page: CursorFields, direction: Direction): string | undefined {
  for (let index = 1; index < page.tokens.length; index++) {
    const before = page.tokens[index - 1];
    const token = page.tokens[index];
    if (before === undefined || token === undefined) continue;
    if (!leadsOn(before, token, direction)) {
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
  page: CursorFields,
  before: CursorFields,
  direction: Direction,
  trust: boolean,
): void {
  const last = before.tokens.at(-1);
  const [first] = page.tokens;
  const goesOn = last !== undefined && first !== undefined && leadsOn(last, first, direction);
  // In one order from the first page's first token to this page's last, none can come again.
  if (!goesOn || page.order === undefined || page.order !== before.order) {
    assertNoneOf(operation, "a paging token", page.tokens, before.tokens);
    if (!trust && last !== undefined) assertEachBehind(operation, page, last, direction);
  }
  assertNoneOf(operation, "a record", page.ids, before.ids);
}

function assertNoneOf(
  operation: string,
  what: string,
  marks: readonly (string | undefined)[],
  earlier: readonly (string | undefined)[],
): void {
  const seen = new Set(earlier);
  for (const mark of marks) {
    if (mark !== undefined && seen.has(mark)) throw repeated(operation, what);
  }
}

/** Every token, not only the first: one that lies before the end may be of a record of any earlier page. */
function assertEachBehind(operation: string, page: CursorFields, last: string, direction: Direction): void {
  for (const token of page.tokens) {
    if (token === undefined || leadsOn(last, token, direction)) continue;
    throw new PagingError(
      `${operation}: the next page reaches back before the end of the last one: the service ignores the cursor, or the cursor does not follow this sort order`,
      { operation },
    );
  }
}

/**
 * Refuses a cursor that was requested for already. Tokens in order never come to that; those that are trusted without an order can.
 *
 * @throws {PagingError} where going on would be an endless loop.
 */
export function assertNotRequested(operation: string, cursor: string, requested: Set<string>): void {
  if (requested.has(cursor)) throw repeated(operation, "the cursor");
  requested.add(cursor);
}

function repeated(operation: string, what: string): PagingError {
  return new PagingError(`${operation}: ${what} of an earlier page appears again: the service ignores the cursor`, {
    operation,
  });
}

const wholeNumber = /^-?\d+$/;

function isSigned(token: string): boolean {
  return token.startsWith("-");
}
