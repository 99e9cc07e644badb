import { describeValue } from "../errors/describe-value.js";
import { type FundsTaken, InvalidArgumentError } from "../errors/errors.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { FlowRefusal } from "./state/flow-state.js";

/** Money that was taken for a flow. */
export interface FlowFunds extends FundsTaken {
  /**
   * Whether this key's money had been taken before this call. It tells a flow whose journal was restored from a backup, or lost an entry,
   * that the payment may have been made already.
   */
  readonly replayed: boolean;
  /**
   * When the bank's own books took the money of this key, in milliseconds since 1970: the same at each call. A look for a payment that has
   * nothing else to end at then ends `bankSkewMs` before it, and does not read the service's whole history. Default: not known.
   */
  readonly takenAtMs?: number | undefined;
}

/**
 * Takes the sender's money; returns `null` when the sender declines. Called before every request that is sent for the flow.
 *
 * Must be idempotent by `key`, and the first response is final: called again, it does not take the money twice, and returns the same id with
 * `replayed: true`, or `null` again. After a release it takes nothing and returns `null`. Concurrent calls with one key are one.
 */
export type TakeFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
}) => Promise<FlowFunds | null> | FlowFunds | null;

/**
 * Gives the money back. Called only after a definite refusal, by the service or by an operator, and never while the outcome is unknown.
 *
 * Must be idempotent by `key`: after a crash it is called again. Must throw where the money was not given back.
 */
export type ReleaseFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  readonly refusal: FlowRefusal;
}) => Promise<void> | void;

/**
 * Reads what `takeFunds` returned, each field once: the object is its own, which it may change for the next payment.
 *
 * @param advice ends the message: what to do if the money was taken all the same.
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
export function readFundsTaken(returned: unknown, advice: string): FundsTaken | null {
  if (returned === null) return null;
  const isObject = typeof returned === "object";
  const id: unknown = isObject ? Reflect.get(returned, "senderGatewayTransactionId") : undefined;
  if (typeof id === "string" && id !== "") return { senderGatewayTransactionId: id };
  const found = isObject
    ? `an object whose senderGatewayTransactionId is ${describeValue(id)}`
    : describeValue(returned);
  throw new InvalidArgumentError(
    `takeFunds must return { senderGatewayTransactionId }, with your id of the transaction, or null; it returned ${found}. No payment was made; ${advice}`,
  );
}

/**
 * Reads what the `takeFunds` of a flow returned.
 *
 * @param latestMs the latest time at which the money can have been taken, whatever the clocks.
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
export function readFlowFunds(returned: unknown, latestMs: number): FlowFunds | null {
  const advice = "the flow stays as it is, and takeFunds is called again with the same key when it is run again";
  const taken = readFundsTaken(returned, advice);
  if (taken === null) return null;
  const replayed: unknown = Reflect.get(Object(returned), "replayed");
  if (typeof replayed !== "boolean") {
    throw new InvalidArgumentError(
      `takeFunds must return { senderGatewayTransactionId, replayed }, where replayed says whether this key's money had been taken before, or null; replayed is ${describeValue(replayed)}. No payment was made; ${advice}`,
    );
  }
  const takenAtMs: unknown = Reflect.get(Object(returned), "takenAtMs");
  if (takenAtMs === undefined || (isTime(takenAtMs) && takenAtMs <= latestMs)) return { ...taken, replayed, takenAtMs };
  const found = isTime(takenAtMs)
    ? `${takenAtMs}, which is ahead of this process's clock by more than bankSkewMs`
    : describeValue(takenAtMs);
  throw new InvalidArgumentError(
    `takeFunds must return as takenAtMs when the bank took the money of this key, in milliseconds since 1970, or nothing; takenAtMs is ${found}. No payment was made; ${advice}`,
  );
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0;
}
