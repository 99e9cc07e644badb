import { equalAmounts } from "../money.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import { zonedMsOf } from "../payments/listed-payment.js";
import { type BookedEntry, type ComparedField, comparedFields, isAmount } from "./own-entry.js";
import type { PaymentSummary } from "./payment-summary.js";

/** One field in which an entry and its payment differ. */
export interface Difference {
  readonly field: ComparedField | "paymentId";
  /** As it is in your entry. */
  readonly here: string;
  /** As it is in the payment; `paymentId` is its `id`. */
  readonly there: string;
}

/** Something that is not the same in your ledger and at the service. */
export type Discrepancy =
  /** A payment for which you have no entry. */
  | { readonly type: "missing-here"; readonly payment: PaymentSummary }
  /** An entry for which no payment is listed. */
  | { readonly type: "missing-there"; readonly entry: BookedEntry }
  /** An entry and its payment, with the fields that are not the same. */
  | {
      readonly type: "different";
      readonly entry: BookedEntry;
      readonly payment: PaymentSummary;
      readonly differences: readonly Difference[];
    }
  /** More than one entry, or more than one payment, with one transaction id. At most 100 of each are shown. */
  | {
      readonly type: "duplicate";
      readonly entries: readonly BookedEntry[];
      readonly payments: readonly PaymentSummary[];
      readonly entryCount: number;
      readonly paymentCount: number;
    };

/** From when (inclusive) until when (exclusive), in milliseconds since 1970. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

const mostShown = 100;

/** All entries and payments with one transaction id. */
export class Group {
  readonly #entries: BookedEntry[] = [];
  readonly #payments = new Map<string, PaymentSummary>();
  #entryCount = 0;
  #paymentCount = 0;
  #isOfPeriod = false;

  addEntry(entry: BookedEntry, period: Period): void {
    this.#entryCount += 1;
    if (this.#entries.length < mostShown) this.#entries.push(entry);
    if (isWithin(entry.bookedAt, period)) this.#isOfPeriod = true;
  }

  /** The same payment can be listed twice, when it changed while the list was read: the later one counts. */
  addPayment(payment: PaymentSummary, period: Period): void {
    const id = nonEmptyText(payment.id) ?? nonEmptyText(payment.pagingToken) ?? `${this.#paymentCount}`;
    if (!this.#payments.has(id)) this.#paymentCount += 1;
    if (this.#payments.has(id) || this.#payments.size < mostShown) this.#payments.set(id, payment);
    if (isWithin(payment.createdAt, period)) this.#isOfPeriod = true;
  }

  /** `undefined` where both sides are the same, or nothing of it lies in the period. */
  compare(): Discrepancy | undefined {
    if (!this.#isOfPeriod) return undefined;
    const entries = this.#entries;
    const payments = [...this.#payments.values()];
    const [entry] = entries;
    const [payment] = payments;
    if (this.#entryCount > 1 || this.#paymentCount > 1) {
      const [entryCount, paymentCount] = [this.#entryCount, this.#paymentCount];
      return { type: "duplicate", entries, payments, entryCount, paymentCount };
    }
    if (payment === undefined) return entry && { type: "missing-there", entry };
    if (entry === undefined) return { type: "missing-here", payment };
    const differences = differencesOf(entry, payment);
    return differences.length === 0 ? undefined : { type: "different", entry, payment, differences };
  }
}

function differencesOf(entry: BookedEntry, payment: PaymentSummary): readonly Difference[] {
  const differences: Difference[] = [];
  const compare = (field: Difference["field"], there: unknown, isEqual: (here: string) => boolean) => {
    const here = entry[field];
    if (here !== undefined && !isEqual(here)) differences.push({ field, here, there: String(there) });
  };
  for (const field of comparedFields) {
    const there = payment[field];
    compare(field, there, (here) => (isAmount(field) ? equalAmounts(here, there) : here === there));
  }
  compare("paymentId", payment.id, (here) => here === payment.id);
  return differences;
}

/** What has no time that can be read is of every period, so that it is not passed over. */
function isWithin(time: string | undefined, { fromMs, toMs }: Period): boolean {
  const ms = time === undefined ? Number.NaN : zonedMsOf(time);
  return Number.isNaN(ms) || (ms >= fromMs && ms < toMs);
}
