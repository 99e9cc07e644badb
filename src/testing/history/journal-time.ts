import type { JournalCall, Operation, Told } from "./history.js";

/** When something was, or ends, as far as it is known. */
export type Span = readonly [earliestMs: number, latestMs: number];

/** Journals round to milliseconds, and may read their clock twice in an operation. */
export const roundingMs = 2;

/** What is added where the clock was set: it can have been anything between two operations. */
const clockSetMs = 50;

/**
 * By how much the journal's clock is ahead of the clients'. Each time that the journal tells lies between the start and the end of its operation. Where
 * that can't be true of all of them, the clock was set meanwhile, and everything that it can have been ahead by counts.
 */
export function clockAhead(operations: readonly Operation[]): Span {
  const spans = operations.flatMap(({ startMs, endMs, call, told }): Span[] => {
    const atMs = toldTime(call, told);
    return atMs === undefined ? [] : [[atMs - 1 - endMs, atMs + 1 - startMs]];
  });
  const least = spans.map(([ms]) => ms);
  const most = spans.map(([, ms]) => ms);
  const ahead: Span = [highest(least), lowest(most)];
  return ahead[0] <= ahead[1] ? ahead : [lowest(least) - clockSetMs, highest(most) + clockSetMs];
}

/** When a journal did an operation, by its clock, which it may read more than once meanwhile. */
export interface When {
  readonly checked: Span;
  readonly stored: Span;
  readonly shown: Span;
}

export function whenDone({ startMs, endMs, call, told }: Operation, ahead: Span): When {
  const [earliest, latest]: Span = [startMs + ahead[0], endMs + ahead[1]];
  const atMs = toldTime(call, told);
  const stored: Span = atMs === undefined ? [earliest, latest] : [atMs, atMs];
  return { checked: [earliest, stored[1]], stored, shown: [stored[0], latest] };
}

/** A time of the journal's clock, at which the operation was done: of what it stored itself. */
function toldTime(call: JournalCall, told: Told | undefined): number | undefined {
  if (told?.isDone !== true || !("lease" in call)) return undefined;
  const { updatedAtMs, leaseUntilMs } = told.entry ?? {};
  if (call.name === "begin" || call.name === "replaceQuote") return updatedAtMs;
  return leaseUntilMs === undefined ? undefined : leaseUntilMs - call.lease.leaseMs;
}

function highest(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.max(one, other), Number.NEGATIVE_INFINITY);
}

function lowest(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => Math.min(one, other), Number.POSITIVE_INFINITY);
}
