import { AbortedError, InvalidArgumentError } from "../core/errors.js";
import { newestFirst, type ReadingEnd } from "../paging/newest-first.js";
import { payments } from "../resources/payments.js";
import type { FlowContext } from "./context.js";
import { matchPayment } from "./core/match.js";
import type { Listed, SearchResult, Signed } from "./core/state.js";

/** A search that reads by token ends after so many payments. */
const maxRecords = 10_000;

export interface SearchOptions {
  /** Payments that were created before this time don't count. Milliseconds since 1970. */
  readonly since: number;
  readonly signal: AbortSignal | undefined;
  readonly headers: Readonly<Record<string, string>> | undefined;
}

/**
 * Searches the list of payments for the payment of a claim, newest first. A record that could be the payment ends the search only if
 * no later page shows the payment itself.
 *
 * @throws {AbortedError} when the signal aborts; {InvalidArgumentError} if the client is closed.
 */
export async function searchForPayment(
  { client, clockSkewMs, tokensFollowTime }: Pick<FlowContext, "client" | "clockSkewMs" | "tokensFollowTime">,
  signed: Signed,
  options: SearchOptions,
): Promise<SearchResult> {
  const matches = matchPayment(signed);
  const reading = newestFirst(client, payments.list, { ...options, clockSkewMs, tokensFollowTime, maxRecords });
  let match: Listed | undefined;
  try {
    for (;;) {
      const page = await reading.next();
      if (page.done) return match ?? resultOf(page.value);
      for (const payment of page.value) {
        const is = matches(payment);
        if (is === "found") return { is, payment };
        if (is === "match") match ??= { is, payment };
      }
    }
  } catch (error) {
    if (error instanceof AbortedError || error instanceof InvalidArgumentError) throw error;
    return match ?? { is: "unreadable" };
  }
}

function resultOf(end: ReadingEnd): SearchResult {
  if (end.complete) return { is: "absent" };
  return { is: end.reason === "time_bound" ? "incomplete" : "forbidden" };
}
