import { PagingError } from "../errors/errors.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import { type Payment, payments } from "../resources/payments.js";
import { type Digest, digestOf } from "./digest.js";

/** As much of a listed payment as a watch keeps. */
export interface WatchedPayment {
  readonly id: string;
  readonly token: string;
  /** `NaN` where `createdAt` is no timestamp. */
  readonly createdMs: number;
  readonly state: Digest;
}

/** What a payment gets or changes after its creation. `updatedAt` shows what changed back before anyone looked. */
const changingFields = [
  "senderGatewayStatus",
  "receiverGatewayStatus",
  "receiverGatewayTransactionId",
  "receiverProcessingGatewayId",
  "receiverGatewaySignature",
  "blockchainTransactionId",
  "updatedAt",
] as const satisfies readonly (keyof Payment)[];

/** @throws {PagingError} when the payment has no id or no paging token. */
export function toWatched(payment: Payment): WatchedPayment {
  const id = nonEmptyText(payment.id);
  const token = nonEmptyText(payment.pagingToken);
  if (id === undefined || token === undefined) {
    const lacking = id === undefined ? "id" : "pagingToken";
    throw new PagingError(
      `${payments.list.name}: a payment without ${lacking} is listed, so nothing shows what was seen already: the payments of this service can't be watched`,
      { operation: payments.list.name },
    );
  }
  // With the id: two payments that took over each other's state have changed.
  const state = digestOf(JSON.stringify([id, ...changingFields.map((field) => payment[field])]));
  return { id, token, createdMs: Date.parse(payment.createdAt), state };
}
