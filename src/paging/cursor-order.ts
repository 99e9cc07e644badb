import { PagingError } from "../errors/errors.js";

/** Which way the paging tokens go along a list: up is followed by `_after`, down by `_before`. */
export type Direction = "up" | "down";

/** A sort order as the caller gives it: one term, several with commas, or an array. */
export type Sort = string | readonly string[] | undefined;

/** The first sort term decides; without one, the service lists upwards. */
export function directionOf(sort: Sort): Direction {
  return sortTerms(sort)[0]?.endsWith(".desc") ? "down" : "up";
}

/**
 * Whether paging tokens can follow this order: their own, and that of creation. Records of one instant have to lie in the order
 * of their tokens, which a further term may ask for; any other further term puts them into another one.
 */
export function canBeFollowed(sort: Sort): boolean {
  const [first, second] = sortTerms(sort);
  if (first === undefined || /^pagingToken\./.test(first)) return true;
  return /^createdAt\./.test(first) && (second === undefined || second === first.replace("createdAt", "pagingToken"));
}

function sortTerms(sort: Sort): readonly string[] {
  const terms = typeof sort === "string" ? [sort] : (sort ?? []);
  return terms.flatMap((term) => term.split(","));
}

/** Below zero where `one` comes before `other`: whole numbers of any length by value, everything else by code units. */
export function compareTokens(one: string, other: string): number {
  const isAsTexts = comparesAsText(one, other) || !wholeNumber.test(one) || !wholeNumber.test(other);
  return isAsTexts ? compare(one, other) : compare(BigInt(one), BigInt(other));
}

/** Of the same length and without a sign, whole numbers compare as texts do: the common case, and no number has to be made. */
function comparesAsText(one: string, other: string): boolean {
  return one.length === other.length && !one.startsWith("-") && !other.startsWith("-");
}

function compare<Value extends string | bigint>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

/** The fields of one page that are needed to continue after it, and to notice that continuing would not be sound. */
export interface CursorFields {
  readonly tokens: readonly (string | undefined)[];
  readonly ids: ReadonlySet<string>;
  readonly hasRepeatedId: boolean;
  /** Every record has a token, and each comes after the one before it. */
  readonly isInOrder: boolean;
  /**
   * Set where every record has a token, each comes after the one before it, and all of them compare alike. That is the rule, and
   * leaves hardly anything to check. Numbers and texts among each other are in no one order: 9 < 10 < 1a < 9.
   */
  readonly order: "numbers" | "texts" | undefined;
  /** Every record has a token, and as texts each comes after the one before it, numbers included. */
  readonly isInOrderAsTexts: boolean;
}

export function cursorFieldsOf<Item>(
  items: readonly Item[],
  tokenOf: (item: Item) => string | undefined,
  direction: Direction,
): CursorFields {
  const tokens: (string | undefined)[] = [];
  const ids = new Set<string>();
  let identified = 0;
  let isInOrder = true;
  let isInOrderAsTexts = true;
  let numbers = 0;
  let before: string | undefined;
  for (const item of items) {
    const id = nonEmptyText((item as { readonly id?: unknown }).id);
    if (id !== undefined) {
      identified += 1;
      ids.add(id);
    }
    const token = tokenOf(item);
    tokens.push(token);
    if (token === undefined) isInOrder = isInOrderAsTexts = false;
    else if (wholeNumber.test(token)) numbers += 1;
    if (token !== undefined && before !== undefined) {
      const asTexts = leadsOnAsText(before, token, direction);
      if (!asTexts) isInOrderAsTexts = false;
      if (!(comparesAsText(before, token) ? asTexts : leadsOn(before, token, direction))) isInOrder = false;
    }
    before = token;
  }
  const isOfOneKind = numbers === items.length || numbers === 0;
  const order = isInOrder && isOfOneKind ? (numbers > 0 ? "numbers" : "texts") : undefined;
  return { tokens, ids, hasRepeatedId: ids.size < identified, isInOrder, order, isInOrderAsTexts };
}

/** A mark that can be compared: anything but a text that is not empty is none. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

export function leadsOn(before: string, token: string, direction: Direction): boolean {
  const step = compareTokens(before, token);
  return direction === "up" ? step < 0 : step > 0;
}

function leadsOnAsText(before: string, token: string, direction: Direction): boolean {
  return direction === "up" ? before < token : before > token;
}

/** Why the token of this page's last record does not lead to the next page; `undefined` where it does. Every record has a token. */
export function whyUnsound(page: CursorFields, direction: Direction): string | undefined {
  if (page.order !== undefined || (page.isInOrder && page.isInOrderAsTexts)) return undefined;
  return `its paging tokens do not strictly ${direction === "up" ? "rise" : "fall"}, so the cursor does not follow this sort order`;
}

/**
 * Refuses a page that does not come after the one before it.
 *
 * @throws {PagingError} when a paging token or a record's id was on that page already, or the tokens turned round.
 */
export function assertAfter(
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
    if (!trust && last !== undefined) assertEachAfter(operation, page, last, direction);
  }
  assertNoneAgain(operation, page.ids, before.ids);
}

/** @throws {PagingError} when a page has a record of the one before it. */
export function assertNoneAgain(operation: string, ids: ReadonlySet<string>, earlier: ReadonlySet<string>): void {
  assertNoneOf(operation, "a record", ids, earlier);
}

/** The kinds of order in which a list has been so far, which every further page has to keep. */
export interface ListOrder {
  readonly asNumbers: boolean;
  readonly asTexts: boolean;
}

/**
 * Looks at the pages as one list. From page to page, tokens of mixed forms can go round in a circle in which each leads on to the
 * next.
 *
 * @throws {PagingError} when the tokens of all pages are in no one order.
 */
export function assertOneOrder(
  operation: string,
  page: CursorFields,
  before: Pick<CursorFields, "tokens"> | undefined,
  earlier: ListOrder | undefined,
  direction: Direction,
): ListOrder {
  const last = before?.tokens.at(-1);
  const [first] = page.tokens;
  const goesOnAsText = last === undefined || first === undefined || leadsOnAsText(last, first, direction);
  const asNumbers = page.order === "numbers" && earlier?.asNumbers !== false;
  const asTexts = page.isInOrderAsTexts && goesOnAsText && earlier?.asTexts !== false;
  if (asNumbers || asTexts || before === undefined || page.tokens.includes(undefined)) return { asNumbers, asTexts };
  throw new PagingError(
    `${operation}: the paging tokens of this list are in no one order, so the cursor can't be followed`,
    {
      operation,
    },
  );
}

/**
 * Refuses a first page that does not come after the bound that the caller gave.
 *
 * @throws {PagingError} where the service ignores it.
 */
export function assertAfterBound(operation: string, page: CursorFields, bound: string, direction: Direction): void {
  for (const token of page.tokens) {
    if (token === undefined || leadsOn(bound, token, direction)) continue;
    throw new PagingError(
      `${operation}: the page reaches back before the cursor that was given as ${direction === "up" ? "after" : "before"}: the service ignores it`,
      { operation },
    );
  }
}

function assertNoneOf(
  operation: string,
  what: string,
  marks: Iterable<string | undefined>,
  earlier: Iterable<string | undefined>,
): void {
  const seen = earlier instanceof Set ? earlier : new Set(earlier);
  for (const mark of marks) {
    if (mark !== undefined && seen.has(mark)) throw repeated(operation, what);
  }
}

/**
 * Every token, not only the first: one that lies before the end may be of a record of any earlier page.
 *
 * @throws {PagingError} where a page has tokens that do not come after the one that it was asked for with.
 */
export function assertEachAfter(operation: string, page: CursorFields, last: string, direction: Direction): void {
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
