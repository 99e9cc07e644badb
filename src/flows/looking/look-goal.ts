import { isNamed, zonedMsOf } from "../../payments/listed-payment.js";
import type { Ending, PaymentGoal } from "../../payments/read-payments.js";
import type { Payment } from "../../resources/payments.js";
import type { LookGrounds, Mark, MarkedPayment } from "../state/flow-state.js";
import type { KnownPayment, KnownPayments } from "./known-payments.js";
import type { PaymentMatch } from "./match-payment.js";

/** Where a look may end before the list does. */
export interface LookRange {
  readonly mark: Mark;
  /** How far past the mark it reads on, by `createdAt`; `undefined` where the mark is no end. */
  readonly pastMarkMs: number | undefined;
  /** What was created before this time can't be the payment, in milliseconds since 1970. */
  readonly notBeforeMs: number | undefined;
}

/** A flow's look at the listed payments: what it looks for, where it may end, and what it has met on its way. */
export class LookGoal implements PaymentGoal {
  readonly #marked: MarkedPayment | undefined;
  readonly #match: (payment: Payment) => PaymentMatch;
  readonly #range: LookRange;
  readonly #known: KnownPayments;
  #toBeListed: readonly KnownPayment[] = [];
  #missing = new Set<KnownPayment>();
  #newest: { readonly payment: Payment; readonly createdMs: number } | undefined;
  #oldestMs = Number.POSITIVE_INFINITY;
  #isTimeless = false;
  #isZoneless = false;
  /** When the newest was created of which nobody can tell whose it is. */
  #namelessMs: number | undefined;
  #mark: { readonly createdMs: number } | undefined;
  #ending: Ending | undefined;
  /** Set where something is decided on the payment's absence. */
  readonly decidesFromMs: (() => number) | undefined;
  seen = 0;
  found: Payment | undefined;
  lookalike: Payment | undefined;

  constructor(
    match: (payment: Payment) => PaymentMatch,
    range: LookRange,
    known: KnownPayments,
    decides: "decides" | "reports" = "reports",
  ) {
    this.#match = match;
    this.#range = range;
    this.#marked = markedPayment(range.mark);
    this.#known = known;
    this.decidesFromMs = decides === "decides" ? () => this.#fromMs() : undefined;
  }

  begin(): void {
    this.seen = 0;
    this.#mark = undefined;
    this.#newest = undefined;
    this.#oldestMs = Number.POSITIVE_INFINITY;
    this.#isTimeless = false;
    this.#isZoneless = false;
    this.#namelessMs = undefined;
    this.#toBeListed = this.#known.toBeListed();
    this.#missing = new Set(this.#toBeListed);
  }

  take(payments: readonly Payment[]): boolean {
    for (const payment of payments) {
      this.seen += 1;
      const kind = this.#match(payment);
      if (kind === "lookalike") this.lookalike ??= payment;
      this.#meet(payment);
      if (kind === "nameless") this.#meetNameless(payment);
      if (kind === "own") {
        this.found = payment;
        return true;
      }
    }
    return false;
  }

  /** Decides nothing but what was found: a payment that is there is there, in whichever response. */
  notice(payments: readonly Payment[]): boolean {
    for (const payment of payments) {
      const kind = this.#match(payment);
      if (kind === "lookalike") this.lookalike ??= payment;
      if (kind === "own") this.found = payment;
    }
    return this.found !== undefined;
  }

  isEnough(): boolean {
    if (this.#isTimeless || (this.#marked !== undefined && this.#mark === undefined)) return false;
    return this.#oldestMs < this.#fromMs();
  }

  end(ending: Ending): void {
    this.#ending = ending;
    if (this.#newest !== undefined) this.#known.note(this.#newest.payment);
  }

  grounds(): LookGrounds {
    const { at = "unproved", ageSeconds = 0 } = this.#ending ?? {};
    const freshBy = this.#toBeListed.findLast((known) => !this.#missing.has(known));
    const readPastMs = this.#mark === undefined ? Number.NaN : this.#mark.createdMs - this.#oldestMs;
    return {
      mark: this.#markGround(),
      end: at,
      ...(freshBy === undefined ? undefined : { freshBy: freshBy.id ?? freshBy.token ?? "" }),
      ...(ageSeconds > 0 ? { ageSeconds } : undefined),
      ...(readPastMs >= 0 ? { pastMarkMs: readPastMs } : undefined),
    };
  }

  /** Why the payment may be there although it was not found; `undefined` where it certainly is not. */
  problem(isAnyKnown: boolean): string | undefined {
    if (this.#ending?.problem !== undefined) return this.#ending.problem;
    const { mark, end, ageSeconds } = this.grounds();
    if (ageSeconds !== undefined) return `the list came from a cache, ${ageSeconds} s old`;
    if ((this.#namelessMs ?? Number.NaN) >= this.#fromMs()) {
      return "a listed payment has neither a signature nor a body nor a transaction id, so nothing shows whose it is";
    }
    if (mark === "missed") {
      return "the newest payment from before the money was asked for is not listed, so the list is older than that, or cut short";
    }
    const missing = [...this.#missing].find((known) => this.#isInRange(known, end));
    if (missing !== undefined) {
      return `a payment that this process knows of is not listed (${missing.id ?? missing.token}), so the list is older than that, or cut short`;
    }
    return this.seen === 0 && isAnyKnown ? "no payment at all is listed, although some were made" : undefined;
  }

  #meet(payment: Payment): void {
    const createdMs = Date.parse(payment.createdAt);
    if (Number.isNaN(zonedMsOf(payment.createdAt))) this.#isZoneless = true;
    if (Number.isNaN(createdMs)) this.#isTimeless = true;
    else this.#oldestMs = Math.min(this.#oldestMs, createdMs);
    if (this.#marked !== undefined && isNamed(payment, this.#marked)) this.#mark ??= { createdMs };
    if (createdMs > (this.#newest?.createdMs ?? Number.NEGATIVE_INFINITY)) this.#newest = { payment, createdMs };
    for (const known of this.#missing) if (isNamed(payment, known)) this.#missing.delete(known);
  }

  #meetNameless({ createdAt }: Payment): void {
    const ms = Date.parse(createdAt);
    const createdMs = Number.isNaN(ms) ? Number.POSITIVE_INFINITY : ms;
    this.#namelessMs = Math.max(createdMs, this.#namelessMs ?? createdMs);
  }

  /** What was created before can't be the payment. */
  #fromMs(): number {
    const { pastMarkMs = Number.POSITIVE_INFINITY } = this.#range;
    // Times without a zone lie before and after each other, but not before a time of another clock; and they go back by an hour each autumn.
    const notBeforeMs = this.#isZoneless ? undefined : this.#range.notBeforeMs;
    const setBackMs = this.#isZoneless ? 3_600_000 : 0;
    const markMs = (this.#mark?.createdMs ?? Number.NEGATIVE_INFINITY) - pastMarkMs - setBackMs;
    return Math.max(markMs, notBeforeMs ?? Number.NEGATIVE_INFINITY);
  }

  #markGround(): LookGrounds["mark"] {
    if (this.#marked !== undefined) return this.#mark === undefined ? "missed" : "met";
    return this.#range.mark === null ? "unknown" : "no payment";
  }

  /** What lies further back than the look went need not have been met. */
  #isInRange({ createdMs }: KnownPayment, end: LookGrounds["end"]): boolean {
    return end === "end" || createdMs > this.#oldestMs;
  }
}

export function markedPayment(mark: Mark): MarkedPayment | undefined {
  if (mark === null) return undefined;
  if (typeof mark === "string") return { token: mark };
  return "none" in mark ? undefined : mark;
}
