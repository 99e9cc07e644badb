import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { BadRequestError, PagingError } from "../errors/errors.js";
import { leadsOn, nonEmptyText } from "../paging/cursor-order.js";
import { NewestFirstProof, type ReadTokens } from "../paging/newest-first.js";
import { type Payment, payments } from "../resources/payments.js";
import type { Period } from "./compare-group.js";
import { type OnFailure, readPaymentPages } from "./payment-pages.js";

export interface PeriodReader {
  readonly client: ApiClient;
  readonly size: number;
  readonly options: RequestOptions;
  readonly onFailure: OnFailure;
}

/**
 * Gives every payment that was created in a period, some of them maybe twice. The newest come first, and where creation and paging tokens
 * prove to go one way, the reading ends before the period. Where they do not, all payments are read.
 *
 * @throws {PagingError} when the list can't be read without losing payments.
 */
export async function readPeriod(
  reader: PeriodReader,
  period: Period,
  onPayment: (payment: Payment) => Promise<void>,
): Promise<void> {
  if (await readNewestFirst(reader, period, onPayment)) return;
  const { client, size, options, onFailure } = reader;
  for await (const page of readPaymentPages(client, { sort: ["pagingToken.asc"], size }, options, onFailure)) {
    for (const payment of page) if (!isOutside(payment, period)) await onPayment(payment);
  }
}

/** So many tokens in one order are no accident. They have to stand on the first page: every other one lies behind a token. */
const provingTokens = 20;

const newestFirst = ["createdAt.desc", "pagingToken.desc"] as const;

/** False where nothing proves that every payment of the period was read. */
async function readNewestFirst(
  reader: PeriodReader,
  period: Period,
  onPayment: (payment: Payment) => Promise<void>,
): Promise<boolean> {
  const { client, size, options, onFailure } = reader;
  const proof = new NewestFirstProof(tokenReader(reader), newestFirst.join(","), size);
  let before: Payment | undefined;
  try {
    for await (const page of readPaymentPages(client, { sort: newestFirst, size }, options, onFailure)) {
      const isFirst = before === undefined;
      for (const payment of page) {
        if (!isBehind(payment, before)) return false;
        before = payment;
      }
      if (isFirst && page.length < provingTokens) return false;
      const tokens = page.map(({ pagingToken }) => pagingToken);
      if (!(await proof.holds(tokens, "down"))) return false;
      for (const payment of page) if (!isOutside(payment, period)) await onPayment(payment);
      if (before !== undefined && Date.parse(before.createdAt) < period.fromMs) return true;
    }
    return before !== undefined && (await proof.holds([], "down"));
  } catch (error) {
    // In the order of the tokens, the list may be read all the same.
    if (error instanceof PagingError || error instanceof BadRequestError) return false;
    throw error;
  }
}

/** Created no later than the one before it, with a lower token. */
function isBehind(payment: Payment, before: Payment | undefined): boolean {
  const token = nonEmptyText(payment.pagingToken);
  const createdMs = Date.parse(payment.createdAt);
  if (token === undefined || Number.isNaN(createdMs)) return false;
  if (before === undefined) return true;
  return createdMs <= Date.parse(before.createdAt) && leadsOn(before.pagingToken, token, "down");
}

function tokenReader({ client, options, onFailure }: PeriodReader): ReadTokens {
  return async (paging) => {
    for (let failures = 0; ; failures += 1) {
      try {
        const page = await client.call(payments.list, [], { paging }, options);
        return page.map(({ pagingToken }) => nonEmptyText(pagingToken));
      } catch (error) {
        await onFailure(error, failures);
      }
    }
  };
}

function isOutside({ createdAt }: Payment, { fromMs, toMs }: Period): boolean {
  const createdMs = Date.parse(createdAt);
  return createdMs < fromMs || createdMs >= toMs;
}
