import { describeValue } from "../errors/describe-value.js";
import { type FundsTaken, InvalidArgumentError } from "../errors/errors.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { FlowRefusal } from "./flow-state.js";

/**
 * Shows the intent to the sender and takes the money; returns `null` when the sender declines.
 *
 * Must be idempotent by `key`: after a crash it is called again, must not take the money twice, and must return the same id.
 */
export type TakeFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
}) => Promise<FundsTaken | null> | FundsTaken | null;

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
