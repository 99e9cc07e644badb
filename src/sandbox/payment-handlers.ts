import { exact } from "../money.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { type Payment, type PaymentRequest, payments } from "../resources/payments.js";
import { blankRecord } from "./ledger.js";
import { type PaymentEnd, quote } from "./quote.js";
import { requireGateway, requireNotNegative, requirePositive } from "./record-rules.js";
import { Refusal } from "./responses.js";
import type { SandboxCall, Service } from "./service.js";

/** The first step: computes what the sender pays, and verifies both names. */
export function createIntent(service: Service, { body }: SandboxCall<PaymentIntentRequest>): PaymentIntent {
  requirePositive("receiverAmount", body.receiverAmount);
  const sender = endOf(service, "senderGatewayId", body.senderGatewayId, body.senderCurrency);
  const receiver = endOf(service, "receiverGatewayId", body.receiverGatewayId, body.receiverCurrency);
  const receivingGatewayFee = service.settings.fee(body);
  const { senderAmountScale: scale } = service.settings;
  const wanted = exact(body.receiverAmount).plus(receivingGatewayFee);
  const senderAmount = quote(namedRates(service), { sender, receiver, wanted, scale });
  if (senderAmount === undefined) {
    throw new Refusal("no_exchange_rate", "no liquidity provider has an exchange rate between these gateways");
  }
  const intent: PaymentIntent = {
    ...blankRecord(paymentIntents.create),
    ...body,
    id: service.newId(),
    senderAmount,
    senderName: nameAt(service, sender, "senderAccount", body.senderGatewayId, body.senderAccount),
    receiverName: nameAt(service, receiver, "receiverAccount", body.receiverGatewayId, body.receiverAccount),
    receivingGatewayFee,
  };
  return service.ledger.paymentIntents.add(intent).record;
}

/** The second step: stores the payment together with the request that created it. */
export function createPayment(service: Service, call: SandboxCall<PaymentRequest>): Payment {
  const { body, signature } = call;
  checkPayment(service, body);
  const sender = requireGateway(service.ledger, "senderGatewayId", body.senderGatewayId);
  const receiver = requireGateway(service.ledger, "receiverGatewayId", body.receiverGatewayId);
  const createdAt = service.timestamp();
  const row = service.ledger.payments.add({
    ...blankRecord(payments.create),
    ...body,
    id: service.newId(),
    createdAt,
    updatedAt: createdAt,
    receiverProcessingGatewayId: body.receiverGatewayId,
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    senderGatewayPublicKey: sender.rsaPublicKeyBase64,
    receiverGatewayPublicKey: receiver.rsaPublicKeyBase64,
    senderGatewaySignature: signature?.signatureBase64 ?? "",
    blockchainTransactionId: service.newTransactionId(),
    creationRequestUrl: call.signedPath,
    creationRequestBody: call.rawText,
    creationRequestPublicKeyBase64: signature?.publicKeyBase64 ?? "",
    creationRequestSignatureBase64: signature?.signatureBase64 ?? "",
  });
  row.record = { ...row.record, pagingToken: String(row.token) };
  return row.record;
}

function checkPayment({ ledger }: Service, payment: PaymentRequest): void {
  requirePositive("senderAmount", payment.senderAmount);
  requirePositive("receiverAmount", payment.receiverAmount);
  requireNotNegative("receivingGatewayFee", payment.receivingGatewayFee);
  if (payment.senderGatewayTransactionId === "") {
    throw new Refusal("missing_field", "senderGatewayTransactionId must not be empty");
  }
  if (payment.id === undefined) return;
  const intent = ledger.paymentIntents.find(payment.id)?.record;
  if (intent === undefined) throw new Refusal("unknown_intent", "id names no payment intent");
  const differing = intentFields.find(
    (field) => !sameValue(field, String(Reflect.get(intent, field)), String(Reflect.get(payment, field))),
  );
  if (differing !== undefined) throw new Refusal("intent_mismatch", `${differing} is not what the intent says`);
}

/** The fields that a payment has to bring back as they were in its intent. */
const intentFields = (payments.create.body?.required ?? []).filter((field) =>
  Object.hasOwn(paymentIntents.create.record, field),
);

function sameValue(field: string, one: string, other: string): boolean {
  return paymentIntents.create.record[field] === "decimal" ? exact(one).eq(other) : one === other;
}

function endOf({ ledger }: Service, field: string, gatewayName: string, currency: string): PaymentEnd {
  return { gatewayId: requireGateway(ledger, field, gatewayName).id, currency };
}

/** The rates with their gateways named by id, whichever of the two names they were created with. */
function namedRates({ ledger }: Service) {
  const idOf = (name: string) => ledger.gatewayNamed(name)?.id ?? name;
  return ledger.exchangeRates.rows().map(({ record }) => ({
    ...record,
    baseGatewayId: idOf(record.baseGatewayId),
    counterGatewayId: idOf(record.counterGatewayId),
  }));
}

function nameAt(service: Service, end: PaymentEnd, field: string, gatewayName: string, account: string): string {
  const { accounts, ledger, settings } = service;
  const institutionId = ledger.paymentGateways.find(end.gatewayId)?.record.institutionId ?? gatewayName;
  const name = accounts.nameOf(institutionId, account) ?? accounts.nameOf(end.gatewayId, account);
  if (name === undefined && settings.requireAccounts) {
    throw new Refusal("unknown_account", `${field} is not an account of its gateway`);
  }
  return name ?? "";
}
