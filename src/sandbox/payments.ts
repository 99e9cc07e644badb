import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { compare, type Decimal, divide, exact, plus, times } from "../money.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { type Payment, type PaymentRequest, type PaymentStatus, payments } from "../resources/payments.js";
import { tokenText } from "./lists.js";
import { type Handler, requireGateway, requireNotNegative, requirePositive } from "./records.js";
import { SandboxRefusal } from "./refusal.js";
import { blankRecord, newTransactionId, type Store } from "./store.js";

/** The first step: computes what the sender pays, and verifies both names. */
export const createIntent: Handler = (store, call) => {
  // The body was checked against the row.
  const body = { extras: null, ...(call.body as unknown as PaymentIntentRequest) };
  requirePositive("receiverAmount", body.receiverAmount);
  const sender = requireGateway(store, "senderGatewayId", body.senderGatewayId);
  const receiver = requireGateway(store, "receiverGatewayId", body.receiverGatewayId);
  const { fee, senderAmountScale: scale } = store.settings;
  const receivingGatewayFee = typeof fee === "string" ? fee : fee(body);
  const senderAmount = quote(store.records.exchangeRates.records(), {
    from: { gateway: sender, currency: body.senderCurrency },
    to: { gateway: receiver, currency: body.receiverCurrency },
    amount: plus(exact(body.receiverAmount), exact(receivingGatewayFee)),
    scale,
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
export const createPayment: Handler = (store, { body: given, verified, signedPath, seen }) => {
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
    senderGatewaySignature: verified?.signatureBase64 ?? "",
    blockchainTransactionId: newTransactionId(),
    creationRequestUrl: signedPath,
    creationRequestBody: seen.body,
    creationRequestPublicKeyBase64: verified?.publicKeyBase64 ?? "",
    creationRequestSignatureBase64: verified?.signatureBase64 ?? "",
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

function nameAt({ accounts, settings }: Store, gateway: PaymentGateway, field: string, account: string): string {
  const name = accounts.nameOf(gateway.institutionId, account) ?? accounts.nameOf(gateway.id, account);
  if (name !== undefined || !settings.requireAccounts) return name ?? "";
  throw new SandboxRefusal("unknown_account", `${field} is not an account of its gateway`);
}

/** One end of a payment. */
interface End {
  readonly gateway: Pick<PaymentGateway, "id" | "institutionId">;
  readonly currency: string;
}

/** Whether an end of an exchange rate, by either name of its gateway, is the one of a payment. */
function isAt({ gateway, currency }: End, gatewayId: string, rateCurrency: string): boolean {
  return currency === rateCurrency && (gatewayId === gateway.id || gatewayId === gateway.institutionId);
}

interface QuoteRequest {
  readonly from: End;
  readonly to: End;
  /** The receiver amount and the receiving gateway's fee, in the receiver's currency. */
  readonly amount: Decimal;
  /** Decimals of the sender amount, which is rounded up. */
  readonly scale: number;
}

/**
 * Quotes the sender amount at the best exchange rate. Without a rate, it is one to one within a currency, and otherwise `undefined`.
 *
 * A rate with its base at the sender sells the sender's currency, at `sellPrice`. With its base at the receiver, it buys the
 * receiver's currency, at `buyPrice`.
 */
export function quote(rates: readonly ExchangeRate[], request: QuoteRequest): string | undefined {
  const { from, to, amount, scale } = request;
  const divided = (dividend: Decimal, price: string) => divide(dividend, exact(price), { scale, rounding: "up" });
  const offers = rates.flatMap(({ buyPrice, sellPrice, ...rate }) => {
    const isBetween = (base: End, counter: End) =>
      isAt(base, rate.baseGatewayId, rate.baseCurrency) && isAt(counter, rate.counterGatewayId, rate.counterCurrency);
    if (isBetween(from, to)) return divided(amount, sellPrice);
    return isBetween(to, from) ? divided(times(amount, exact(buyPrice)), "1") : [];
  });
  if (offers.length === 0) return from.currency === to.currency ? divided(amount, "1") : undefined;
  return offers.sort((first, second) => compare(exact(first), exact(second)))[0];
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
