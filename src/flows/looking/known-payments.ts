import { isNamed, nameOf, type PaymentName } from "../../payments/listed-payment.js";
import type { Payment } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";

/** A payment that this process knows of, and since when, by the monotonic clock. */
export interface KnownPayment extends PaymentName {
  readonly createdMs: number;
  readonly sinceMs: number;
}

/** Eight cover the lag that is relied on, however many payments are made. */
const mostKnown = 8;

/**
 * The newest payments that a process knows of: from responses that said that one was made, and from earlier looks. A list in which one of
 * them is missing is older than it seems. It costs no request.
 */
export class KnownPayments {
  /** How long a payment may have been made and not be listed. */
  readonly #lagMs: number;
  /** By how much the clocks of the service's machines may differ. */
  readonly #skewMs: number;
  readonly #known: KnownPayment[] = [];

  constructor(lagMs: number, skewMs: number) {
    this.#lagMs = lagMs;
    this.#skewMs = skewMs;
  }

  get hasAny(): boolean {
    return this.#known.length > 0;
  }

  /** Notes a payment, unless one is known that is certainly newer: a machine whose clock is ahead must not hide the others' payments. */
  note(payment: Partial<Payment>): void {
    const name = nameOf(payment);
    const createdMs = Date.parse(payment.createdAt ?? "");
    if (name.id === undefined && name.token === undefined) return;
    if (this.#known.some((known) => isNamed(payment, known) || this.#isCertainlyNewer(known, createdMs))) return;
    const sinceMs = clock.monotonicMs();
    // Some have to be old enough to count: the last one gives way while the one before it is young.
    const beforeLast = this.#known.at(-2);
    if (beforeLast !== undefined && sinceMs - beforeLast.sinceMs < this.#lagMs / 2) this.#known.pop();
    this.#known.push({ ...name, createdMs, sinceMs });
    if (this.#known.length > mostKnown) this.#known.shift();
  }

  /** What a clock that is ahead has made is newer than nothing. */
  #isCertainlyNewer(known: KnownPayment, createdMs: number): boolean {
    return known.createdMs - createdMs > this.#skewMs && known.createdMs - clock.wallMs() <= this.#skewMs;
  }

  /** Those that have been known for so long that every list has to have them, the newest last. */
  toBeListed(): readonly KnownPayment[] {
    const nowMs = clock.monotonicMs();
    return this.#known.filter(({ sinceMs }) => nowMs - sinceMs >= this.#lagMs);
  }
}
