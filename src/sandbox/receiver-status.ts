import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import type { Payment, PaymentStatus } from "../resources/payments.js";
import type { Service } from "./service.js";

const statuses: readonly unknown[] = ["pending", "processed", "error", "reverted"] satisfies readonly PaymentStatus[];

/** See `Sandbox.setReceiverStatus`. */
export function setReceiverStatus(service: Service, paymentId: string, status: PaymentStatus): Payment {
  if (!statuses.includes(status)) {
    throw new InvalidArgumentError(
      `setReceiverStatus: the status must be one of ${statuses.join(", ")}; got ${describeValue(status)} that is none of them`,
    );
  }
  const row = service.ledger.payments.find(paymentId);
  if (row === undefined) {
    throw new InvalidArgumentError(
      "setReceiverStatus: the sandbox has no payment with this id (it wants the id of the payment's record, not that of its intent, nor a transaction id)",
    );
  }
  const isHonored = status === "processed" && row.record.receiverGatewayTransactionId === "";
  row.record = {
    ...row.record,
    receiverGatewayStatus: status,
    updatedAt: service.timestamp(),
    ...(isHonored && { receiverGatewayTransactionId: service.newTransactionId() }),
  };
  return structuredClone(row.record);
}
