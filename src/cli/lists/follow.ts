import { clock } from "../../core/clock.js";
import { Deadline } from "../../core/deadline.js";
import { PagingError } from "../../core/errors.js";
import { retryDelayMs } from "../../reconcile/read-payments.js";
import type { ListedRecord } from "./output.js";

/** A list from a token on, in the order of its tokens. */
export type OpenList = (
  query: { readonly after: string | undefined; readonly sort: readonly ["pagingToken.asc"] },
  signal: AbortSignal,
) => { pages(): AsyncIterable<{ readonly items: readonly ListedRecord[] }> };

export interface FollowOptions {
  /** The name of the records. */
  readonly name: string;
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** Only records after this paging token. */
  readonly after: string | undefined;
  /** Told once of each outage, and without an error of its end. */
  readonly onOutage: (error: Error | undefined) => void;
}

/** How many records before the last one are read again, since services list some records after later ones. */
const reread = 10;
const maxRemembered = 500;

/**
 * Each record once, as it is listed. Reads the list again and again from a token near its end. Tokens are never compared, so it
 * doesn't matter what they look like. A record that was handed out is dropped by its id.
 */
export async function* follow(
  open: OpenList,
  { name, everyMs, signal, after, onOutage }: FollowOptions,
): AsyncGenerator<{ readonly records: readonly ListedRecord[]; readonly after: string }> {
  const handedOut = new Set<string>();
  let tokens = after === undefined ? [] : [after];
  let failures = 0;
  let isAway = false;
  const noteResponse = (): void => {
    if (isAway) onOutage(undefined);
    isAway = false;
  };
  const deadline = new Deadline({ signal });
  try {
    for (;;) {
      let delayMs: number | undefined = everyMs;
      try {
        for await (const { items } of open({ sort: inOrder, after: tokens[0] }, deadline.signal).pages()) {
          noteResponse();
          const listed = items.map((record) => ({ record, ...marksOf(record, name) }));
          const news = listed.filter(({ id }) => !handedOut.has(id));
          for (const { id } of news) handedOut.add(id);
          forgetFirst(handedOut, maxRemembered);
          const latest = new Set(listed.map(({ token }) => token));
          tokens = [...tokens.filter((token) => !latest.has(token)), ...latest].slice(-reread);
          if (news.length > 0) yield { records: news.map(({ record }) => record), after: tokens.at(-1) ?? "" };
        }
        noteResponse();
        failures = 0;
      } catch (error) {
        delayMs = retryDelayMs(error, failures, Math.random, clock.wallMs());
        if (delayMs === undefined) throw error;
        if (!isAway) onOutage(error as Error);
        isAway = true;
        failures += 1;
      }
      await deadline.sleep(delayMs);
    }
  } catch (error) {
    // Once it is stopped, an error is how it ends.
    if (!signal.aborted) throw error;
  } finally {
    deadline.finish();
  }
}

const inOrder = ["pagingToken.asc"] as const;

/** @throws {PagingError} if the record can't be told from others, or has no place in the list. */
function marksOf({ id, pagingToken }: ListedRecord, name: string): { readonly id: string; readonly token: string } {
  const [knownId, token] = [textOf(id), textOf(pagingToken)];
  if (knownId !== undefined && token !== undefined) return { id: knownId, token };
  const [lacks, of] = token === undefined ? ["paging tokens", "where new ones are listed"] : ["ids", "which are new"];
  throw new PagingError(
    `${name} can't be followed: the service lists them without ${lacks}, so nothing tells ${of}. List them again instead`,
  );
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "number") return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function forgetFirst(ids: Set<string>, max: number): void {
  for (const id of ids) {
    if (ids.size <= max) return;
    ids.delete(id);
  }
}
