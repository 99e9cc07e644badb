import { equalAmounts } from "../money.js";
import { createdMsOf, keyOf } from "../paging/newest-first.js";
import { textOf } from "../paging/reader.js";
import type { Payment } from "../resources/payments.js";
import { type BookedEntry, type ComparedField, comparedFields, isAmount } from "./own-entry.js";
import { isWithin, type Period } from "./read-payments.js";

/** A payment without its names, keys, signatures, memo, and creating request. */
export type PaymentSummary = Pick<
  Payment,
  "id" | "createdAt" | "updatedAt" | "pagingToken" | "senderGatewayId" | "senderGatewayTransactionId" | ComparedField
>;

const summaryFields: readonly (keyof PaymentSummary)[] = [
  "id",
  "createdAt",
  "updatedAt",
  "pagingToken",
  "senderGatewayId",
  "senderGatewayTransactionId",
  ...comparedFields,
];

/** One field in which an entry and its payment differ. */
export interface Difference {
  readonly field: ComparedField | "paymentId";
  /** As it is in your entry. */
  readonly here: string;
  /** The name of the field in the payment, except that `paymentId` is its `id`. */
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

const maxShown = 100;

/** All entries and payments with one transaction id. */
interface Group {
  readonly entries: BookedEntry[];
  readonly payments: Map<string | undefined, PaymentSummary>;
}

/** Entries and payments in memory, brought together by transaction id. */
export class Comparison {
  readonly #groups = new Map<string, Group>();

  addEntry(entry: BookedEntry): void {
    this.#groupOf(`transaction ${entry.senderGatewayTransactionId}`).entries.push(entry);
  }

  /** If a payment is listed twice, the later version counts. */
  addPayment(payment: Payment): void {
    const transactionId = textOf(payment.senderGatewayTransactionId);
    // Without a transaction id it has no partner, and isn't a duplicate of another one.
    const key = transactionId === undefined ? `payment ${keyOf(payment)}` : `transaction ${transactionId}`;
    this.#groupOf(key).payments.set(keyOf(payment), summaryOf(payment));
  }

  #groupOf(key: string): Group {
    const group = this.#groups.get(key) ?? { entries: [], payments: new Map() };
    this.#groups.set(key, group);
    return group;
  }

  /** What isn't the same on both sides. Groups that lie outside of the period are left out. */
  *discrepancies(period: Period): Generator<Discrepancy, void, undefined> {
    for (const { entries, payments: found } of this.#groups.values()) {
      const payments = [...found.values()];
      const isOfPeriod =
        entries.some(({ bookedAt }) => isWithin(bookedAt === undefined ? Number.NaN : Date.parse(bookedAt), period)) ||
        payments.some((payment) => isWithin(createdMsOf(payment), period));
      const discrepancy = isOfPeriod ? compare(entries, payments) : undefined;
      if (discrepancy !== undefined) yield discrepancy;
    }
  }
}

function compare(entries: readonly BookedEntry[], payments: readonly PaymentSummary[]): Discrepancy | undefined {
  const [entry] = entries;
  const [payment] = payments;
  if (entries.length > 1 || payments.length > 1) {
    const counts = { entryCount: entries.length, paymentCount: payments.length };
    return { type: "duplicate", entries: entries.slice(0, maxShown), payments: payments.slice(0, maxShown), ...counts };
  }
  if (payment === undefined) return entry && { type: "missing-there", entry };
  if (entry === undefined) return { type: "missing-here", payment };
  const differences = differencesOf(entry, payment);
  return differences.length === 0 ? undefined : { type: "different", entry, payment, differences };
}

function differencesOf(entry: BookedEntry, payment: PaymentSummary): readonly Difference[] {
  const fields = [...comparedFields, "paymentId"] as const;
  return fields.flatMap((field) => {
    const here = entry[field];
    const there: unknown = field === "paymentId" ? textOf(payment.id) : payment[field];
    const isEqual = field !== "paymentId" && isAmount(field) ? equalAmounts(here, there) : here === there;
    if (here === undefined || isEqual) return [];
    return [{ field, here, there: String(there) }];
  });
}

function summaryOf(payment: Payment): PaymentSummary {
  // The fields are those of the type.
  return Object.fromEntries(summaryFields.map((field) => [field, payment[field]])) as PaymentSummary;
}
