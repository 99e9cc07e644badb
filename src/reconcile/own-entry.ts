import { describeName, describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { decimalNumeral } from "../money.js";
import type { Payment } from "../resources/payments.js";
import { parseTime } from "./options.js";

/** A field of a payment that entries can have. */
export type ComparedField =
  | "senderAmount"
  | "senderCurrency"
  | "senderAccount"
  | "receiverGatewayId"
  | "receiverAmount"
  | "receiverCurrency"
  | "receiverAccount"
  | "receivingGatewayFee"
  | "receiverGatewayTransactionId"
  | "senderGatewayStatus"
  | "receiverGatewayStatus"
  | "blockchainTransactionId";

/** Each is compared by value, so that `1.5` equals `1.50`, or word for word. */
const comparisons: Readonly<Record<ComparedField, "value" | "words">> = {
  senderAmount: "value",
  receiverAmount: "value",
  receivingGatewayFee: "value",
  senderCurrency: "words",
  senderAccount: "words",
  receiverGatewayId: "words",
  receiverCurrency: "words",
  receiverAccount: "words",
  receiverGatewayTransactionId: "words",
  senderGatewayStatus: "words",
  receiverGatewayStatus: "words",
  blockchainTransactionId: "words",
};

// Its keys are those of the table, no more and no fewer.
export const comparedFields = Object.keys(comparisons) as readonly ComparedField[];

export function isAmount(field: ComparedField): boolean {
  return comparisons[field] === "value";
}

/** An entry of your own ledger. Each field that you set is compared with the payment. */
export interface OwnEntry extends Partial<Pick<Payment, ComparedField>> {
  /** Your id of the transaction that took the money. It links the entry to its payment. */
  readonly senderGatewayTransactionId: string;
  /** When you booked it, as a `Date` or ISO 8601 with a time zone. Without it, the entry belongs to the period. */
  readonly bookedAt?: string | Date;
  /** The `id` of the payment, where you have it. */
  readonly paymentId?: string;
}

/** An entry as it was read: `bookedAt` is a text in UTC. */
export interface BookedEntry extends Omit<OwnEntry, "bookedAt"> {
  readonly bookedAt?: string;
}

const amountFields: ReadonlySet<string> = new Set(comparedFields.filter(isAmount));
const textFields: ReadonlySet<string> = new Set([
  "senderGatewayTransactionId",
  "paymentId",
  ...comparedFields.filter((field) => !isAmount(field)),
]);
const fieldNames = [...textFields, ...amountFields, "bookedAt"];

/**
 * A copy of an entry, in which each field was read once.
 *
 * @param number its place among the entries, from 1 on, for messages.
 * @throws {InvalidArgumentError} that names the entry and the field, and never shows a value.
 */
export function parseEntry(given: unknown, number: number): BookedEntry {
  const refuse = (problem: string) => new InvalidArgumentError(`reconcilePayments: own entry ${number}: ${problem}`);
  if (typeof given !== "object" || given === null) throw refuse(`it must be an object; got ${describeValue(given)}`);
  const entry: Record<string, string> = {};
  // Those that an instance of a class has by its getters too, or they would not be compared.
  for (const name of new Set([...Object.keys(given), ...fieldNames])) {
    const value: unknown = Reflect.get(given, name);
    if (value === undefined) continue;
    if (name === "bookedAt") entry[name] = new Date(parseTime(name, value, refuse)).toISOString();
    else entry[name] = parseField(name, value, refuse);
  }
  const { senderGatewayTransactionId = "" } = entry;
  if (senderGatewayTransactionId === "") throw refuse("senderGatewayTransactionId must be a string that is not empty");
  return { ...entry, senderGatewayTransactionId };
}

function parseField(name: string, value: unknown, refuse: (problem: string) => Error): string {
  const isDecimal = amountFields.has(name);
  if (!isDecimal && !textFields.has(name)) {
    throw refuse(
      `there is no field ${describeName(name)}, and what is not known is not compared; there are ${fieldNames.join(", ")}`,
    );
  }
  const expected = isDecimal
    ? 'a decimal numeral in a string, such as "12.50"'
    : "a string; leave out what you do not know";
  if (typeof value !== "string" || (isDecimal && !decimalNumeral.test(value))) {
    throw refuse(`${name} must be ${expected}; got ${describeValue(value)}`);
  }
  return value;
}
