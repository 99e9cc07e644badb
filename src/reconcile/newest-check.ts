import { PagingError } from "../errors/errors.js";
import { payments } from "../resources/payments.js";
import type { WatchedPayment } from "./watched-payment.js";

/**
 * Notices payments that a watch would never see: a service that orders whole numbers as texts lists 1000 before 999, so that nothing ever
 * comes after 999. The payment that was created last shows it, since it can be asked for without a token.
 */
export class NewestCheck {
  /** `undefined` where nothing is known of what was handed out before. */
  #newestMs: number | undefined;
  #hidden: WatchedPayment | undefined;

  /** @param newestMs when the newest payment was created that a watch before this one handed out. */
  constructor(newestMs: number | undefined) {
    this.#newestMs = newestMs;
  }

  /** When the newest payment was created that was handed out. */
  get newestMs(): number | undefined {
    return this.#newestMs;
  }

  /** Takes a payment that was handed out, or was before this watch began. */
  see({ id, createdMs }: Pick<WatchedPayment, "id" | "createdMs">): void {
    if (id === this.#hidden?.id) this.#hidden = undefined;
    if (createdMs > (this.#newestMs ?? Number.NEGATIVE_INFINITY)) this.#newestMs = createdMs;
  }

  /**
   * Takes the newest payment, as it was before all payments after the watch's position were read.
   *
   * @throws {PagingError} when one that was the newest at such a time before has not come yet. Once may be a replica that lags behind, which
   *   may also be the one that does not know it as the newest this time.
   */
  afterReread(newest: WatchedPayment | undefined): void {
    if (newest === undefined) return;
    if (this.#hidden !== undefined && newest.createdMs >= this.#hidden.createdMs) throw notAfter(this.#hidden);
    if (newest.createdMs > (this.#newestMs ?? Number.NEGATIVE_INFINITY)) this.#hidden = newest;
  }
}

/** For a payment that is not listed after those that were handed out, and never will be. */
export function notAfter({ token }: WatchedPayment): PagingError {
  const { name } = payments.list;
  const isNumber = /^\d+$/.test(token);
  return new PagingError(
    `${name}: the newest payment is not listed after those before it: new paging tokens do not follow the older ones${isNumber ? asTexts : ""}. The payments of this service can't be watched from here on${isNumber ? adviceOnNumbers : advice}`,
    { operation: name },
  );
}

const asTexts = ", as where numbers are ordered as texts, so that 1000 comes before 999";

const adviceOnNumbers =
  ". reconcilePayments reads all of them, in the order of the service: compare by that until it orders its tokens by value, or gives all of them one length";

const advice =
  ". Take what is missing from reconcilePayments, then watch without a cursor, or with startAfter, once the service orders its tokens as it makes them";
