import type { PagingValues } from "../api/api-client.js";
import type { Payment } from "../resources/payments.js";
import { isNamed, nameOf, tokenOf } from "./listed-payment.js";
import type { PaymentPages } from "./payment-pages.js";
import { type Direction, leadsOn } from "./token-order.js";

export interface NextInCreation {
  /** Payments of the page before may come again. */
  readonly payments: readonly Payment[];
  /** Whether none was passed over; `undefined` where there is more to read. */
  readonly end?: "covered" | "unproved" | undefined;
}

/**
 * Reads payments in the order of their creation, so that none is passed over whose paging token grows meanwhile.
 *
 * Behind a load balancer, each page comes from a replica that knows more or less than the others. From pages that are cut out by tokens, a
 * payment can be missing although every replica lists it: the one that is asked for its old place knows that its token has grown, and the
 * one that is asked for its new place does not. A page of what comes after a token, the oldest first, has it in either state, as long as
 * that token was given before the payment was made. So each page begins after the token of a payment that had changed for the last time
 * before the newest one of the page before was made.
 */
export class CreationOrder {
  readonly #pages: PaymentPages;
  readonly #direction: Direction;
  readonly #untilMs: number;
  #after: string | undefined;
  #last: Payment | undefined;
  /** How many payments the longest page had after the same token. */
  #longest = 0;
  #isRepeated = false;

  /**
   * @param direction which way the tokens go from older payments to newer ones.
   * @param after a token that was given before any payment was made that is looked for; `undefined` for all payments.
   * @param untilMs when a payment has been read that was created after this time, the rest is known.
   */
  constructor(pages: PaymentPages, direction: Direction, after: string | undefined, untilMs: number) {
    this.#pages = pages;
    this.#direction = direction;
    this.#after = after;
    this.#untilMs = untilMs;
  }

  async next(): Promise<NextInCreation> {
    const payments = await this.#pages.page(() => this.#paging());
    const [before, last] = [this.#last, payments.at(-1)];
    if (last === undefined || (before !== undefined && !payments.some((one) => isNamed(one, nameOf(before))))) {
      // A replica that lags behind, as for any other page.
      const end = this.#isRepeated ? "unproved" : undefined;
      this.#isRepeated = true;
      return { payments, end };
    }
    this.#isRepeated = false;
    if (!areInOrder(payments)) return { payments, end: "unproved" };
    if (createdMsOf(last) > this.#untilMs) return { payments, end: "covered" };
    const index =
      before !== undefined && isNamed(last, nameOf(before)) ? -1 : this.#lastBefore(payments, createdMsOf(last));
    // What comes after the cursor comes again: where that is most of the page, longer pages are needed.
    if (4 * (index + 1) < payments.length) {
      const end = payments.length > this.#longest ? undefined : "unproved";
      this.#longest = payments.length;
      this.#pages.widen();
      return { payments, end };
    }
    this.#longest = 0;
    this.#last = last;
    this.#after = tokenOf(payments[index]);
    return { payments };
  }

  #paging(): PagingValues {
    const bound = this.#direction === "up" ? "_after" : "_before";
    return { _sort: "createdAt.asc", ...(this.#after !== undefined && { [bound]: this.#after }) };
  }

  /**
   * The place of the last payment whose token was given before this time, as far as the clocks of the service's machines agree: it has not
   * changed since, and all payments after it have tokens after its own.
   */
  #lastBefore(payments: readonly Payment[], timeMs: number): number {
    let lowest: string | undefined;
    for (let index = payments.length - 1; index >= 0; index--) {
      const payment = payments[index];
      const token = tokenOf(payment);
      if (payment === undefined || token === undefined) return -1;
      const isBefore = lowest === undefined || leadsOn(token, lowest, this.#direction);
      if (isBefore && updatedMsOf(payment) < timeMs) return index;
      if (isBefore) lowest = token;
    }
    return -1;
  }
}

export function createdMsOf({ createdAt }: Payment): number {
  return Date.parse(createdAt);
}

/**
 * The latest time of the last change. A service may say in whole seconds when that was, and of a payment that never changed it may say a
 * time before the payment was made, such as the year 1.
 */
export function updatedMsOf(payment: Payment): number {
  const updatedMs = Date.parse(payment.updatedAt);
  return Math.max(createdMsOf(payment), updatedMs % 1000 === 0 ? updatedMs + 999 : updatedMs);
}

function areInOrder(payments: readonly Payment[]): boolean {
  let before = Number.NEGATIVE_INFINITY;
  for (const payment of payments) {
    const createdMs = createdMsOf(payment);
    if (!(createdMs >= before)) return false;
    before = createdMs;
  }
  return true;
}
