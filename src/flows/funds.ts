import type { ApiClient, CallInput } from "../api/api-client.js";
import { parseRequestOptions, type RequestOptions } from "../api/request-options.js";
import { describeValue } from "../core/describe.js";
import { AbortedError, CrossBorderError, type FundsTaken, InvalidArgumentError, traceFrom } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";
import type { Part } from "../events/reporter.js";
import {
  type PaymentIntent,
  type PaymentIntentRequest,
  PaymentIntents,
  paymentIntents,
} from "../resources/payment-intents.js";
import { isSettledBadly, type Payment, type PaymentRequest, payments } from "../resources/payments.js";
import { isSameField } from "./core/match.js";
import type { Funds } from "./core/state.js";
import type { FlowRefusal } from "./outcome.js";

/**
 * Money that was taken for a flow. `replayed: true` means that this key's money had been taken before this call. Then `takenAtMs`
 * must be the time of that debit by the bank's books, in milliseconds since 1970, and the same for each call.
 */
export type FlowFunds = Funds;

/**
 * Takes the sender's money, or returns `null` if the sender declines. The flow calls it with the key before every claim of the
 * payment.
 *
 * It must be idempotent by `key`. If it's called again, take nothing, and return the same id with `replayed: true` and
 * `takenAtMs`, or `null` again. After a release return `null`. Concurrent calls count as one.
 */
export type TakeFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
}) => Promise<FlowFunds | null> | FlowFunds | null;

/**
 * Gives the money back. Called only after a definite refusal, by the service or by an operator.
 *
 * It must be idempotent by `key`, since it is called again after a crash. It must throw if the money was not given back.
 */
export type ReleaseFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  readonly refusal: FlowRefusal;
}) => Promise<void> | void;

/**
 * Reads what `takeFunds` returned, each field once.
 *
 * @param advice ends the message, and says what to do if the money was taken anyway.
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
function readFundsTaken(returned: unknown, advice: string): FundsTaken | null {
  if (returned === null) return null;
  const id: unknown = Reflect.get(Object(returned), "senderGatewayTransactionId");
  if (typeof id === "string" && id !== "") return { senderGatewayTransactionId: id };
  const found =
    typeof returned === "object"
      ? `an object whose senderGatewayTransactionId is ${describeValue(id)}`
      : describeValue(returned);
  throw new InvalidArgumentError(
    `takeFunds must return { senderGatewayTransactionId }, with your id of the transaction, or null; it returned ${found}. No payment was made; ${advice}`,
  );
}

/**
 * Reads what the `takeFunds` of a flow returned.
 *
 * @param latestMs the latest time at which the money can have been taken, by any clock.
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
export function readFlowFunds(returned: unknown, latestMs: number): FlowFunds | null {
  const advice = "the flow stays as it is, and calls takeFunds again with the same key when it continues";
  const taken = readFundsTaken(returned, advice);
  if (taken === null) return null;
  const replayed: unknown = Reflect.get(Object(returned), "replayed");
  if (replayed === false) return { ...taken, replayed };
  if (replayed !== true) {
    throw new InvalidArgumentError(
      `takeFunds must return { senderGatewayTransactionId, replayed }, where replayed tells whether this key's money had been taken before this call, or null; replayed is ${describeValue(replayed)}. No payment was made; ${advice}`,
    );
  }
  const takenAtMs: unknown = Reflect.get(Object(returned), "takenAtMs");
  const isTime = typeof takenAtMs === "number" && Number.isSafeInteger(takenAtMs) && takenAtMs > 0;
  if (isTime && takenAtMs <= latestMs) return { ...taken, replayed, takenAtMs };
  const found = isTime
    ? `${takenAtMs}, which is ahead of this process's clock by more than bankSkewMs`
    : describeValue(takenAtMs);
  throw new InvalidArgumentError(
    `takeFunds must return takenAtMs with replayed: true, which is when the bank took this key's money, in milliseconds since 1970; takenAtMs is ${found}. No payment was made; ${advice}`,
  );
}

/** Fields that an intent must repeat from its request. A memo moves no money, so a service may shorten it. */
const repeated = [
  "senderGatewayId",
  "senderCurrency",
  "senderAccount",
  "receiverGatewayId",
  "receiverCurrency",
  "receiverAccount",
  "receiverAmount",
] as const satisfies readonly (keyof PaymentIntentRequest)[];

/**
 * Refuses an intent that must not or can't be paid, before any money is taken for it. It builds the payment's bytes and checks that
 * the signer signs.
 *
 * @throws {InvalidArgumentError} when no payment can be made of it.
 * @throws {CrossBorderError} `intent_mismatch` when it answers another request. It names the fields that differ, not their values.
 */
export async function assertPayable(
  client: ApiClient,
  request: PaymentIntentRequest,
  intent: PaymentIntent,
  options: RequestOptions | undefined,
): Promise<void> {
  const input = paymentInput(intent, "to be taken");
  const differing = repeated.filter((field) => !isSameField(field, intent[field], request[field]));
  if (differing.length > 0) {
    const { name: operation } = paymentIntents.create;
    throw new CrossBorderError(
      `${operation}: the service responded with the intent of another request, which differs in ${differing.join(", ")}; no money was taken and nothing was paid`,
      { code: "intent_mismatch", operation },
    );
  }
  await client.check(payments.create, [], input, options);
}

/** A copy, so that it doesn't matter what becomes of the caller's object. What isn't an object is refused later. */
export function ownRequest(request: PaymentIntentRequest): PaymentIntentRequest {
  return isPlainObject(request) ? { ...request } : request;
}

/**
 * Makes the body of `payments.create` from an intent and the sending gateway's transaction id (Interface description 0.0.1,
 * "Payment creation"). No I/O.
 *
 * Every field of the intent is sent back unchanged, including unknown ones. `payments.create` checks the required fields.
 *
 * @throws {InvalidArgumentError} if the intent isn't an object, or the transaction id is empty.
 */
export function paymentFromIntent(intent: PaymentIntent, senderGatewayTransactionId: string): PaymentRequest {
  if (typeof intent !== "object" || intent === null) {
    throw new InvalidArgumentError("the intent must be the record that paymentIntents.create returned");
  }
  if (typeof senderGatewayTransactionId !== "string" || senderGatewayTransactionId === "") {
    throw new InvalidArgumentError(
      "senderGatewayTransactionId must be the sending gateway's id of the transaction that took the money: a string that is not empty",
    );
  }
  return { ...intent, senderGatewayTransactionId };
}

/** The same for a call. All unknown fields of an intent are the service's own. */
export function paymentInput(intent: PaymentIntent, senderGatewayTransactionId: string): CallInput<PaymentRequest> {
  return { body: paymentFromIntent(intent, senderGatewayTransactionId), isFromService: true };
}

/**
 * Shows the intent to the sender and takes the money from the sender's account, or returns `null` if the sender declines.
 *
 * The intent is a copy, so changes to it have no effect. A call of `pay` calls it at most once. If it throws, `pay` throws the
 * same error and makes no payment.
 */
export type TakeFunds = (
  intent: PaymentIntent,
  context: { readonly signal: AbortSignal | undefined },
) => Promise<FundsTaken | null> | FundsTaken | null;

/** `paid` means that the service has recorded the payment. */
export type PayOutcome =
  | {
      readonly status: "paid";
      readonly intent: PaymentIntent;
      readonly payment: Payment;
      /** Set if a status of the payment says `error` or `reverted`. The bank decides what to do about the money. */
      readonly isSettledBadly?: true;
    }
  | { readonly status: "declined"; readonly intent: PaymentIntent };

/** The two steps of a payment in order, as one part of the work. See `CrossBorderClient.pay`. */
export async function pay(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  try {
    // Changes that the caller makes to these objects during the call have no effect.
    const asked = ownRequest(request);
    const kept = parseRequestOptions(paymentIntents.create, options);
    return await client.reporter.follow(payPart, async ({ note }) => {
      const outcome = await payInSteps(client, asked, takeFunds, kept);
      note({ "cross_border.outcome": outcome.status });
      return outcome;
    });
  } catch (error) {
    throw traceFrom(error);
  }
}

const payPart = (): Part => ({ name: "pay", kind: "internal", attributes: { "cross_border.operation": "pay" } });

async function payInSteps(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  if (typeof takeFunds !== "function") {
    throw new InvalidArgumentError("pay: takeFunds must be a function of the intent");
  }
  // Anything that would prevent the second step is found before the sender's money is touched.
  client.assertCallable(payments.create);
  const intent = await new PaymentIntents(client).create(request, options);
  await assertPayable(client, request, intent, options);
  const signal = options?.signal;
  if (signal?.aborted) {
    throw new AbortedError("pay: the caller's signal ended the call before the money was taken", { operation: "pay" });
  }
  const returned: unknown = await takeFunds(structuredClone(intent), { signal });
  const funds = readFundsTaken(returned, "if the sender's money was taken, give it back");
  if (funds === null) return { status: "declined", intent };
  const payment = await createPayment(client, intent, funds, options);
  return { status: "paid", intent, payment, ...(isSettledBadly(payment) && { isSettledBadly: true }) };
}

async function createPayment(
  client: ApiClient,
  intent: PaymentIntent,
  { senderGatewayTransactionId }: FundsTaken,
  options: RequestOptions | undefined,
): Promise<Payment> {
  try {
    // Now that the money is taken, only the deadline ends the call, and the caller's signal no longer does.
    const { signal: _, ...rest } = options ?? {};
    return await client.call(payments.create, [], paymentInput(intent, senderGatewayTransactionId), rest);
  } catch (error) {
    if (error instanceof CrossBorderError) error.funds = { intentId: intent.id, senderGatewayTransactionId };
    throw error;
  }
}
