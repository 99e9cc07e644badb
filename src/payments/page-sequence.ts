import type { PagingValues } from "../api/api-client.js";
import type { Payment } from "../resources/payments.js";
import { isNamed, nameOf, tokenOf } from "./listed-payment.js";
import type { PaymentPages } from "./payment-pages.js";
import type { Direction } from "./token-order.js";

export interface NextPage {
  /** Those that were not on the page before. */
  readonly payments: readonly Payment[];
  /** Whether the list is over, or there is no way on. */
  readonly isEnd: boolean;
  /** Why this page, or the end of the list, does not follow the page before. Another reading may find no gap. */
  readonly gap?: string;
  /** Why nothing can show that they follow the page before. */
  readonly doubt?: string;
}

/**
 * The pages of one list, one after the other.
 *
 * Each page after the first begins with the last payment of the page before it: it is asked for by the token of the payment before that
 * one. Behind a load balancer a replica that lags may respond to any request, the last one included, and only the payment that it was
 * asked for shows that it knows what came before.
 */
export class PageSequence {
  readonly #pages: PaymentPages;
  readonly #sort: string;
  #isBegun = false;
  #last: Payment | undefined;
  #beforeLast: Payment | undefined;
  #longest = 0;
  /** Whether each page is asked for by the last payment of the page before, where there is no way to overlap. */
  #isPlain = false;
  readonly #requested = new Set<string>();

  constructor(pages: PaymentPages, sort: string) {
    this.#pages = pages;
    this.#sort = sort;
  }

  /** @param direction which way the tokens go. The first page shows it, at the earliest. */
  async next(direction: Direction): Promise<NextPage> {
    const next = this.#isBegun ? await this.#goOn(direction) : await this.#begin();
    for (const payment of next.payments) {
      if (tokenOf(payment) === undefined) {
        this.#isPlain = true;
        continue;
      }
      this.#beforeLast = this.#last;
      this.#last = payment;
    }
    return next;
  }

  async #begin(): Promise<NextPage> {
    this.#isBegun = true;
    const payments = await this.#pages.page(() => ({ _sort: this.#sort }));
    this.#longest = payments.length;
    return { payments, isEnd: payments.length === 0 };
  }

  async #goOn(direction: Direction): Promise<NextPage> {
    const last = this.#last;
    const cursor = tokenOf(last);
    if (last === undefined || cursor === undefined) return { payments: [], isEnd: true, doubt: withoutToken };
    if (this.#requested.has(cursor)) return { payments: [], isEnd: true, doubt: goesRound };
    this.#requested.add(cursor);
    let other: readonly Payment[] = [];
    for (let tries = 0; tries < 2 && !this.#isPlain; tries += 1) {
      const payments = await this.#pages.page((size) => {
        if (size === 1) this.#isPlain = true;
        return this.#pagingAfter(size === 1 ? last : this.#beforeLast, direction);
      });
      if (this.#isPlain) return { payments, isEnd: payments.length === 0, doubt: oneByOne };
      this.#longest = Math.max(this.#longest, payments.length);
      const [first, ...rest] = payments;
      if (first === undefined || !isNamed(first, nameOf(last))) {
        other = payments;
        continue;
      }
      if (rest.length > 0 || this.#longest > 1) return { payments: rest, isEnd: rest.length === 0 };
      // Of pages with one payment each, the one that was asked for leaves no place for the next.
      this.#isPlain = true;
    }
    if (!this.#isPlain) return { payments: other, isEnd: true, gap: notAfter };
    const payments = await this.#pages.page(() => this.#pagingAfter(last, direction));
    const isOnly = payments.length === 0 && this.#beforeLast === undefined;
    return { payments, isEnd: payments.length === 0, ...(isOnly ? undefined : { doubt: oneByOne }) };
  }

  #pagingAfter(payment: Payment | undefined, direction: Direction): PagingValues {
    const token = tokenOf(payment);
    return { _sort: this.#sort, ...(token !== undefined && { [direction === "up" ? "_after" : "_before"]: token }) };
  }
}

const withoutToken = "payments without a paging token are listed";
const goesRound = "the list of payments does not go on after a paging token";
const oneByOne = "the payments are listed one by one, so nothing shows that each of them follows the one before it";
const notAfter =
  "a page does not begin with the last payment of the page before it, which it was asked for: it came from a replica that lags behind, or the list changed";
