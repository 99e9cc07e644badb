import { describeValue } from "../errors/describe-value.js";
import { type FundsTaken, InvalidArgumentError } from "../errors/errors.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { FlowRefusal } from "./flow-state.js";

/** Money that was taken for a flow. */
export interface FlowFunds extends FundsTaken {
  /**
   * Whether this key's money had been taken before this call. It tells a flow whose journal was restored from a backup, or lost an entry,
   * that the payment may have been made already.
   */
  readonly replayed: boolean;
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
 * Must be idempotent by `key`: after a crash it is called again.
 */
export type ReleaseFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  readonly refusal: FlowRefusal;
}) => Promise<void> | void;

/**
 * Checks what `takeFunds` returned.
 *
 * @param advice ends the message: what to do if the money was taken all the same.
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
export function assertFundsTaken(returned: unknown, advice: string): asserts returned is FundsTaken | null {
  if (returned === null) return;
  const isObject = typeof returned === "object";
  const id: unknown = isObject ? Reflect.get(returned, "senderGatewayTransactionId") : undefined;
  if (typeof id === "string" && id !== "") return;
  const found = isObject
    ? `an object whose senderGatewayTransactionId is ${describeValue(id)}`
    : describeValue(returned);
  throw new InvalidArgumentError(
    `takeFunds must return { senderGatewayTransactionId }, with your id of the transaction, or null; it returned ${found}. No payment was made; ${advice}`,
  );
}

/**
 * Checks what the `takeFunds` of a flow returned.
 *
 * @throws {InvalidArgumentError} that says what was returned, but not its value.
 */
export function assertFlowFunds(returned: unknown): asserts returned is FlowFunds | null {
  const advice = "the flow stays as it is, and takeFunds is called again with the same key when it is run again";
  assertFundsTaken(returned, advice);
  if (returned === null) return;
  const replayed: unknown = Reflect.get(returned, "replayed");
  if (typeof replayed === "boolean") return;
  throw new InvalidArgumentError(
    `takeFunds must return { senderGatewayTransactionId, replayed }, where replayed says whether this key's money had been taken before, or null; replayed is ${describeValue(replayed)}. No payment was made; ${advice}`,
  );
}
