import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { compare, type Decimal, divide, exact, plus, times } from "../money.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { type Payment, type PaymentRequest, type PaymentStatus, payments } from "../resources/payments.js";
import { tokenText } from "./lists.js";
import { feeOf } from "./options.js";
import { type Handler, requireGateway, requireNotNegative, requirePositive } from "./records.js";
import { SandboxRefusal } from "./refusal.js";
import { blankRecord, newTransactionId, type Store } from "./store.js";

/** The first step: computes what the sender pays, and verifies both names. */
export const createIntent: Handler = (store, call) => {
  // The body was checked against the row.
  const body = { extras: null, ...(call.body as unknown as PaymentIntentRequest) };
  requirePositive("receiverAmount", body.receiverAmount);
  const sender = endOf(store, "senderGatewayId", body.senderGatewayId, body.senderCurrency);
  const receiver = endOf(store, "receiverGatewayId", body.receiverGatewayId, body.receiverCurrency);
  const receivingGatewayFee = feeOf(store.settings, body);
  const senderAmount = quote(namedRates(store), {
    ...{ sender, receiver, scale: store.settings.senderAmountScale },
    amount: plus(exact(body.receiverAmount), exact(receivingGatewayFee)),
  });
  if (senderAmount === undefined) {
    throw new SandboxRefusal("no_exchange_rate", "no liquidity provider has an exchange rate between these gateways");
  }
  const intent: PaymentIntent = {
    ...body,
    id: crypto.randomUUID(),
    senderAmount,
    senderName: nameAt(store, sender, "senderAccount", body.senderAccount),
    receiverName: nameAt(store, receiver, "receiverAccount", body.receiverAccount),
    receivingGatewayFee,
  };
  return store.records.paymentIntents.add(intent).record;
};

/** The second step: stores the payment together with the request that created it. */
export const createPayment: Handler = (store, { body: given, signature, signedPath, rawText }) => {
  const body = given as unknown as PaymentRequest;
  checkPayment(store, body);
  const sender = requireGateway(store, "senderGatewayId", body.senderGatewayId);
  const receiver = requireGateway(store, "receiverGatewayId", body.receiverGatewayId);
  const createdAt = store.timestamp();
  const { pagingToken: _, ...blank } = blankRecord(payments.create.record) as unknown as Payment;
  const payment: Omit<Payment, "pagingToken"> = {
    ...blank,
    ...body,
    id: crypto.randomUUID(),
    createdAt,
    updatedAt: createdAt,
    receiverProcessingGatewayId: body.receiverGatewayId,
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    senderGatewayPublicKey: sender.rsaPublicKeyBase64,
    receiverGatewayPublicKey: receiver.rsaPublicKeyBase64,
    senderGatewaySignature: signature?.signatureBase64 ?? "",
    blockchainTransactionId: newTransactionId(),
    creationRequestUrl: signedPath,
    creationRequestBody: rawText,
    creationRequestPublicKeyBase64: signature?.publicKeyBase64 ?? "",
    creationRequestSignatureBase64: signature?.signatureBase64 ?? "",
  };
  const row = store.records.payments.add(payment as Payment);
  const { pagingTokens, quirks } = store.settings;
  if (pagingTokens !== "none") row.record = { ...row.record, pagingToken: tokenText(row.token, quirks.textTokens) };
  return row.record;
};

function checkPayment({ records }: Store, payment: PaymentRequest): void {
  requirePositive("senderAmount", payment.senderAmount);
  requirePositive("receiverAmount", payment.receiverAmount);
  requireNotNegative("receivingGatewayFee", payment.receivingGatewayFee);
  if (payment.senderGatewayTransactionId === "") {
    throw new SandboxRefusal("missing_field", "senderGatewayTransactionId must not be empty");
  }
  if (payment.id === undefined) return;
  const intent = records.paymentIntents.find(payment.id)?.record;
  if (intent === undefined) throw new SandboxRefusal("unknown_intent", "id names no payment intent");
  const differing = intentFields.find(
    (field) => !isSame(field, String(Reflect.get(intent, field)), String(Reflect.get(payment, field))),
  );
  if (differing !== undefined) throw new SandboxRefusal("intent_mismatch", `${differing} is not what the intent says`);
}

/** The fields that a payment must repeat from its intent. */
const intentFields = (payments.create.body?.required ?? []).filter((field) =>
  Object.hasOwn(paymentIntents.create.record, field),
);

function isSame(field: string, one: string, other: string): boolean {
  return paymentIntents.create.record[field] === "decimal" ? compare(exact(one), exact(other)) === 0 : one === other;
}

/** One end of a payment: the id of a gateway, and the currency there. */
interface PaymentEnd {
  readonly gatewayId: string;
  readonly currency: string;
}

function endOf(store: Store, field: string, gatewayName: string, currency: string): PaymentEnd {
  return { gatewayId: requireGateway(store, field, gatewayName).id, currency };
}

/** The rates with their gateways named by id. */
function namedRates(store: Store): ExchangeRate[] {
  const idOf = (name: string) => store.gatewayNamed(name)?.id ?? name;
  return store.records.exchangeRates.rows().map(({ record }) => ({
    ...record,
    baseGatewayId: idOf(record.baseGatewayId),
    counterGatewayId: idOf(record.counterGatewayId),
  }));
}

function nameAt(
  { accounts, records, settings }: Store,
  { gatewayId }: PaymentEnd,
  field: string,
  account: string,
): string {
  const institutionId = records.paymentGateways.find(gatewayId)?.record.institutionId ?? "";
  const name = accounts.nameOf(institutionId, account) ?? accounts.nameOf(gatewayId, account);
  if (name === undefined && settings.requireAccounts) {
    throw new SandboxRefusal("unknown_account", `${field} is not an account of its gateway`);
  }
  return name ?? "";
}

interface QuoteRequest {
  readonly sender: PaymentEnd;
  readonly receiver: PaymentEnd;
  /** The receiver amount and the receiving gateway's fee, in the receiver's currency. */
  readonly amount: Decimal;
  /** Decimals of the sender amount, which is rounded up. */
  readonly scale: number;
}

/**
 * What the sender pays at the best exchange rate. `undefined` if there is no rate.
 *
 * A rate whose base is the sender's end sells the sender's currency, at `sellPrice`. One whose base is the receiver's end buys
 * the receiver's currency, at `buyPrice`. Within one currency, no rate means one to one.
 */
export function quote(
  rates: readonly ExchangeRate[],
  { sender, receiver, amount, scale }: QuoteRequest,
): string | undefined {
  const round = { scale, rounding: "up" } as const;
  const one = exact("1");
  const offers = rates.flatMap((rate) => {
    const base = { gatewayId: rate.baseGatewayId, currency: rate.baseCurrency };
    const counter = { gatewayId: rate.counterGatewayId, currency: rate.counterCurrency };
    if (isSameEnd(base, sender) && isSameEnd(counter, receiver)) return divide(amount, exact(rate.sellPrice), round);
    const isInverse = isSameEnd(base, receiver) && isSameEnd(counter, sender);
    return isInverse ? divide(times(amount, exact(rate.buyPrice)), one, round) : [];
  });
  if (offers.length === 0 && sender.currency === receiver.currency) return divide(amount, one, round);
  return offers.sort((first, second) => compare(exact(first), exact(second)))[0];
}

function isSameEnd(first: PaymentEnd, second: PaymentEnd): boolean {
  return first.gatewayId === second.gatewayId && first.currency === second.currency;
}

export const paymentStatuses: readonly PaymentStatus[] = ["pending", "processed", "error", "reverted"];

/** See `Sandbox.setReceiverStatus`. */
export function setReceiverStatus(store: Store, paymentId: string, status: PaymentStatus): Payment {
  if (!paymentStatuses.includes(status)) {
    const expected = paymentStatuses.join(", ");
    throw new InvalidArgumentError(
      `setReceiverStatus: status must be one of ${expected}; got ${describeValue(status)}`,
    );
  }
  const row = store.records.payments.find(paymentId);
  if (row === undefined) throw new InvalidArgumentError("setReceiverStatus: there is no payment with this id");
  const isPaid = status === "processed" && row.record.receiverGatewayTransactionId === "";
  row.record = {
    ...row.record,
    receiverGatewayStatus: status,
    updatedAt: store.timestamp(),
    ...(isPaid && { receiverGatewayTransactionId: newTransactionId() }),
  };
  return structuredClone(row.record);
}
