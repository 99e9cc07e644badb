import type { FlowEvent } from "../events/flow-event.js";
import { readHooks } from "../events/hooks.js";

/** What a `PaymentFlow` reports about its work. No event contains a secret, a name or an account. Errors thrown by a hook are swallowed. */
export interface FlowEvents {
  /** Each step, operators' decisions included. */
  flow?(event: FlowEvent): void;
  /** Each failure of `work`, which goes on after it. */
  error?(error: unknown): void;
}

const hooks = ["flow", "error"] as const satisfies readonly (keyof FlowEvents)[];

/**
 * The hooks as they are now.
 *
 * @throws {ConfigError} when one is not a function, or has a name that no hook has.
 */
export function readFlowHooks(on: FlowEvents): FlowEvents {
  return readHooks(on, hooks);
}
