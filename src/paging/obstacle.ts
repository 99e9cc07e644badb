import { type CursorFields, canBeFollowed, type Direction, type Sort, whyUnsound } from "./cursor-order.js";
import type { Doubt } from "./whole-list.js";

/** Why the page after this one can't be requested, and what to do. */
export interface Obstacle {
  /** Of the records: there are no tokens, or their order is not that of the list. Of the query: its cursor function is wrong. */
  readonly kind: "no tokens" | "order" | "cursor function";
  readonly message: string;
}

export interface FollowedQuery {
  readonly sort?: Sort;
  readonly cursor?: unknown;
  readonly trustCursor?: boolean | undefined;
}

export function obstacleAfter(page: CursorFields, query: FollowedQuery, direction: Direction): Obstacle | undefined {
  if (page.tokens.length === 0) return undefined;
  if (page.tokens.includes(undefined)) return query.cursor === undefined ? noTokens : noCursors;
  if (query.trustCursor === true) return undefined;
  const problem =
    whyUnsound(page, direction) ??
    (canBeFollowed(query.sort) ? undefined : "paging tokens do not follow this sort order");
  return problem === undefined ? undefined : { kind: "order", message: describeOrder(problem, query.sort) };
}

/** Says that the list goes on where its tokens do not lead. */
export function describeSkipped(sort: Sort): string {
  return describeOrder(
    "records were skipped that lie before this one, so the list is not in the order of its tokens",
    sort,
  );
}

function describeOrder(problem: string, sort: Sort): string {
  const advice = sort === undefined ? adviceOnOrder : adviceOnSort;
  return `the page after this one would lose or repeat records: ${problem}; ${advice}`;
}

const noTokens: Obstacle = {
  kind: "no tokens",
  message:
    "its records have no pagingToken, so there is no cursor to continue with: iterate the list, or give the query a cursor function",
};

const noCursors: Obstacle = {
  kind: "cursor function",
  message:
    "the query's cursor function did not return a paging token for every record: a string that is not empty, and no promise",
};

const adviceOnOrder = "sort by pagingToken, or narrow the list with filter until it fits one page";
const adviceOnSort =
  "leave sort out, sort by pagingToken, or narrow the list with filter until it fits one page (trustCursor continues all the same)";

/** Says that what may be the end of the list comes from a machine that does not know its last record. */
export const lastNotShown =
  "the service does not show the record any more that it listed last, so nothing shows whether the list goes on: a machine of it lags behind, something answers in its place, or the record has gone; read the list again";

export const passedOver =
  "records lie between the first two that were listed: the second one came from a machine that lags behind, or they came late; read the list again";

/** Says why a list without tokens could not be proved to end, and what helps. */
export function describeDoubt(doubt: Doubt | "refused", sort: Sort): string {
  const cursor = `${sort === undefined ? "" : "leave sort out and "}give the query a cursor function that returns a record's paging token`;
  return `the page may be full and its records have no pagingToken${doubts[doubt]}, or ${cursor}`;
}

const doubts: Readonly<Record<Doubt | "refused", string>> = {
  more: ", and sorted by id from either end the list shows different records: narrow it with filter until it fits one page",
  changing: ", and the list changed whenever it was read again: read it once more, narrow it with filter",
  ignored: ", and the service does not sort by id, so nothing shows its end: narrow it with filter to one record",
  size: ", and the service gives more records than size asks for, so nothing shows its end: narrow it with filter to one record",
  refused: ", and the service refuses to sort by id, so nothing shows its end: read a record with get",
  ids: ", and not every record has an id of its own, so nothing shows its end: read a record with get",
};
