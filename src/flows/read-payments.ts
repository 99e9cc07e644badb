import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { UnexpectedResponseError } from "../errors/errors.js";
import { NewestFirstProof } from "../paging/newest-first.js";
import { type Payment, payments } from "../resources/payments.js";
import { TokenOrder } from "./token-order.js";

/** What was read of the list of payments. */
export interface PaymentsRead {
  /** How many payments were read. */
  readonly seen: number;
  /** Why it is not certain that no payment was passed over; `undefined` when it is certain. */
  readonly problem: string | undefined;
}

/** Looks at a payment; true when no other needs to be looked at. */
export type Inspect = (payment: Payment) => boolean;

/**
 * Reads the payments, back to the one whose token is `since`, or all of them where it is `null`.
 *
 * Nothing says what paging tokens look like: they may be numbers that grow, UUIDs, or numbers that several machines hand out from
 * ranges of their own. The newest payments come first, since the one that is looked for is mostly among them. Only where their tokens
 * have proved to go one way, with no payment passed over, is `since` an end. Otherwise all payments are read, in the order of their tokens.
 */
export async function readPayments(
  client: ApiClient,
  since: string | null,
  inspect: Inspect,
  options?: RequestOptions,
): Promise<PaymentsRead> {
  const pages = new PaymentPages(client, options);
  const newest = await readNewestFirst(pages, since, inspect);
  if (newest.isEnough) return { seen: newest.seen, problem: undefined };
  // What is too long to be read in the order of tokens is not read a second time.
  if (newest.seen >= mostPayments) return { seen: newest.seen, problem: tooMany };
  return readInTokenOrder(pages, inspect);
}

/**
 * So many tokens in one order are no accident. They have to stand on the first page: on every other one the cursor has left out
 * whatever would show another order.
 */
const provingTokens = 20;

const sort = "createdAt.desc";

/** A service with more payments than this and tokens in no order can't be read to its end each time. */
const mostPayments = 100_000;
const tooMany = `more than ${mostPayments} payments are listed, with paging tokens in no order`;

async function readNewestFirst(
  pages: PaymentPages,
  since: string | null,
  inspect: Inspect,
): Promise<{ readonly seen: number; readonly isEnough: boolean }> {
  const order = new TokenOrder();
  const proof = new NewestFirstProof(async (paging) => (await pages.request(paging)).map(tokenOf), sort, fullSize);
  let seen = 0;
  let sinceMs: number | undefined;
  let createdAt = "";
  for (let bound: PagingValues = {}; ; ) {
    const page = await pages.request({ _sort: sort, ...bound });
    seen += page.length;
    // Every payment of the page is looked at before the order decides anything.
    if (page.some(inspect)) return { seen, isEnough: true };
    const tokens: string[] = [];
    for (const payment of page) {
      const token = tokenOf(payment);
      if (token === undefined || isNewer(payment.createdAt, createdAt)) return { seen, isEnough: false };
      tokens.push(token);
      order.add(token);
      createdAt = payment.createdAt;
      if (token === since) sinceMs = Date.parse(createdAt);
    }
    const { direction } = order;
    if (direction === undefined || order.count < provingTokens) return { seen, isEnough: false };
    if (!(await proof.holds(tokens, direction))) return { seen, isEnough: false };
    const last = tokens.at(-1);
    if (last === undefined || isBefore(createdAt, sinceMs)) return { seen, isEnough: true };
    bound = direction === "up" ? { _after: last } : { _before: last };
  }
}

/**
 * By so much the clocks of a service's machines may differ, in milliseconds. Where they make the tokens (UUIDs of version 7, for one), a
 * payment that was made after the mark can have a lower token, and an earlier time, in a list that is in order all the same.
 */
const clockSlackMs = 2000;

/** Whether a payment is so much older than the mark, which was created at `sinceMs`, that none behind it is younger than the mark. */
function isBefore(createdAt: string, sinceMs: number | undefined): boolean {
  if (sinceMs === undefined) return false;
  const createdMs = Date.parse(createdAt);
  // What is no timestamp shows nothing: the tokens have proved the order.
  return Number.isNaN(createdMs) || Number.isNaN(sinceMs) || createdMs < sinceMs - clockSlackMs;
}

/** What is no timestamp shows nothing. */
function isNewer(createdAt: string, before: string): boolean {
  return Date.parse(createdAt) > Date.parse(before);
}

async function readInTokenOrder(pages: PaymentPages, inspect: Inspect): Promise<PaymentsRead> {
  const order = new TokenOrder();
  const requested = new Set<string>();
  let seen = 0;
  let problem: string | undefined;
  for (let after: string | undefined; ; ) {
    const page = await pages.request({ _sort: "pagingToken.asc", _after: after });
    for (const payment of page) {
      seen += 1;
      if (inspect(payment)) return { seen, problem };
      const token = tokenOf(payment);
      if (token === undefined) problem ??= "payments without a paging token are listed";
      else order.add(token);
    }
    if (!order.mayGoUp) problem ??= "the payments are not listed in the order of their paging tokens";
    if (page.length === 0) return { seen, problem };
    after = page.map(tokenOf).findLast((token) => token !== undefined);
    if (after === undefined || requested.has(after)) {
      return { seen, problem: problem ?? "the list of payments does not go on behind a paging token" };
    }
    requested.add(after);
    if (seen >= mostPayments) return { seen, problem: problem ?? tooMany };
  }
}

export function tokenOf(payment: Partial<Payment> | undefined): string | undefined {
  const token: unknown = payment?.pagingToken;
  return typeof token === "string" && token !== "" ? token : undefined;
}

/** Requests pages that fit into a response: smaller ones for as long as larger ones are too large. */
class PaymentPages {
  readonly #client: ApiClient;
  readonly #options: RequestOptions | undefined;
  #size = fullSize;

  constructor(client: ApiClient, options: RequestOptions | undefined) {
    this.#client = client;
    this.#options = options;
  }

  async request(paging: PagingValues): Promise<readonly Payment[]> {
    for (;;) {
      try {
        // A difference in somebody's record must not stop the search for another.
        const query = { paging: { _size: this.#size, ...paging }, lenient: true as const };
        const page = await this.#client.call(payments.list, [], query, this.#options);
        this.#size = Math.min(fullSize, 2 * this.#size);
        return page;
      } catch (error) {
        if (!(error instanceof UnexpectedResponseError) || this.#size === 1) throw error;
        this.#size = Math.ceil(this.#size / 10);
      }
    }
  }
}

const fullSize = 100;
