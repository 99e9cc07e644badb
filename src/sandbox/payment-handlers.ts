import { compare, divide, exact, plus } from "../money.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { type Payment, type PaymentRequest, payments } from "../resources/payments.js";
import type { Row } from "./collection.js";
import { blankRecord } from "./ledger.js";
import { tokenText } from "./list-page.js";
import { type PaymentEnd, quote } from "./quote.js";
import { requireGateway, requireNotNegative, requirePositive } from "./record-rules.js";
import { SandboxRefusal } from "./responses.js";
import type { SandboxCall, Service } from "./service.js";

/** The first step: computes what the sender pays, and verifies both names. */
export function createIntent(service: Service, call: SandboxCall<PaymentIntentRequest>): PaymentIntent {
  const body = allowedIntent(service, { ...blankRecord(paymentIntents.create), ...call.body });
  requirePositive("receiverAmount", body.receiverAmount);
  const sender = endOf(service, "senderGatewayId", body.senderGatewayId, body.senderCurrency);
  const receiver = endOf(service, "receiverGatewayId", body.receiverGatewayId, body.receiverCurrency);
  const receivingGatewayFee = service.settings.fee(body);
  const { senderAmountScale: scale } = service.settings;
  const wanted = plus(exact(body.receiverAmount), exact(receivingGatewayFee));
  const senderAmount = quote(namedRates(service), { sender, receiver, wanted, scale });
  if (senderAmount === undefined) {
    throw new SandboxRefusal("no_exchange_rate", "no liquidity provider has an exchange rate between these gateways");
  }
  const intent: PaymentIntent = {
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
  const { signature } = call;
  const repeated = repeatedPayment(service, call);
  if (repeated !== undefined) return repeated;
  const intent = call.body.id === undefined ? undefined : service.ledger.paymentIntents.find(call.body.id);
  // Every field is there already, unless a quirk makes it optional.
  const body = { ...blankRecord(payments.create), ...intent?.record, ...call.body };
  checkPayment(service, body, call.body.id === undefined ? "none" : intent);
  const sender = requireGateway(service.ledger, "senderGatewayId", body.senderGatewayId);
  const receiver = requireGateway(service.ledger, "receiverGatewayId", body.receiverGatewayId);
  const createdAt = service.timestamp(call.machine);
  const row = service.ledger.payments.add({
    ...body,
    ...(service.settings.quirks.losesExtras === true && { extras: null }),
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
  if (intent !== undefined) intent.isPaid = true;
  const { pagingTokens, quirks } = service.settings;
  const pagingToken = tokenText(row.token, quirks);
  if (pagingTokens !== "none") row.record = { ...row.record, pagingToken };
  return row.record;
}

/** The payment of the same bytes, where these don't make another one. @throws {SandboxRefusal} */
function repeatedPayment({ ledger, settings }: Service, call: SandboxCall<PaymentRequest>): Payment | undefined {
  const { repeatedRequests = "taken" } = settings.quirks;
  if (repeatedRequests === "taken") return undefined;
  const made = ledger.payments
    .rows()
    .find(
      ({ record }) =>
        record.creationRequestBody === call.rawText &&
        record.creationRequestSignatureBase64 === call.signature?.signatureBase64,
    );
  if (made === undefined || repeatedRequests === "same") return made?.record;
  throw new SandboxRefusal("repeated_request", "this request has come before");
}

/** The request as it is stored. @throws {SandboxRefusal} where a quirk forbids its amount or its memo. */
function allowedIntent<Body extends PaymentIntentRequest>({ settings }: Service, body: Body): Body {
  const { receiverAmountScale: scale = Infinity, excessDigits, ...memos } = settings.quirks;
  const { maxMemoLength = Infinity, memoCharacters = "any", excessMemo } = memos;
  const hasExcess = (body.receiverAmount.split(".")[1]?.length ?? 0) > scale;
  if (hasExcess && excessDigits !== "rounded") {
    throw new SandboxRefusal("invalid_value", `receiverAmount must have ${scale} digits after the point at most`);
  }
  const receiverAmount = hasExcess
    ? divide(exact(body.receiverAmount), exact("1"), { scale, rounding: "half-even" })
    : body.receiverAmount;
  const characters = [...body.memo].filter((each) => memoCharacters === "any" || /[ -~]/.test(each));
  const memo = characters.slice(0, maxMemoLength).join("");
  if (memo !== body.memo && excessMemo !== "cut") throw new SandboxRefusal("invalid_value", "memo is not allowed");
  return { ...body, receiverAmount, memo };
}

function checkPayment(
  { settings }: Service,
  payment: PaymentRequest,
  intentRow: Row<PaymentIntent> | "none" | undefined,
): void {
  requirePositive("senderAmount", payment.senderAmount);
  requirePositive("receiverAmount", payment.receiverAmount);
  requireNotNegative("receivingGatewayFee", payment.receivingGatewayFee);
  if (payment.senderGatewayTransactionId === "") {
    throw new SandboxRefusal("missing_field", "senderGatewayTransactionId must not be empty");
  }
  if (intentRow === "none") return;
  if (intentRow === undefined) throw new SandboxRefusal("unknown_intent", "id names no payment intent");
  const { record: intent, isPaid, addedAtMs } = intentRow;
  const differing = intentFields.find(
    (field) => !sameValue(field, String(Reflect.get(intent, field)), String(Reflect.get(payment, field))),
  );
  if (differing !== undefined) throw new SandboxRefusal("intent_mismatch", `${differing} is not what the intent says`);
  const { singleUseIntents = false, intentLifetimeMs = Infinity } = settings.quirks;
  if (singleUseIntents && isPaid) throw new SandboxRefusal("intent_paid", "the intent was paid already");
  if (settings.now() >= addedAtMs + intentLifetimeMs)
    throw new SandboxRefusal("intent_expired", "the intent has expired");
}

/** The fields that a payment has to bring back as they were in its intent. */
const intentFields = (payments.create.body?.required ?? []).filter((field) =>
  Object.hasOwn(paymentIntents.create.record, field),
);

function sameValue(field: string, one: string, other: string): boolean {
  return paymentIntents.create.record[field] === "decimal" ? compare(exact(one), exact(other)) === 0 : one === other;
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
    throw new SandboxRefusal("unknown_account", `${field} is not an account of its gateway`);
  }
  return name ?? "";
}
