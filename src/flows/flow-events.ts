import type { Effect, ErrorCode } from "../errors/errors.js";
import { readHooks } from "../events/hooks.js";
import type { FlowPhase } from "./state/flow-state.js";

/** A step of a flow is over: what it led to is stored, or it failed and is to be taken again later. */
export interface FlowEvent {
  readonly key: string;
  /** `undefined` for the first step. */
  readonly from: FlowPhase | undefined;
  /** The same as `from` when the step failed, or a look for the payment decided nothing yet. */
  readonly to: FlowPhase;
  /**
   * `possible` when the step failed, since the flow may still pay, or has led to an outcome that nobody knows; otherwise absent. It is
   * absent of an `unknown` that follows a definite refusal: that payment is looked for only to be sure.
   */
  readonly effect?: Effect;
  /** Of a step that failed: the library's own code of what it failed with, if that was an error of the library's. */
  readonly code?: ErrorCode;
  /** Of the service's refusal, or of another response that did not settle the flow. */
  readonly status?: number;
  /** The service's own `error` or `code` in that response, where it looks like a code. */
  readonly serviceCode?: string;
  /** Of the step, what it stored included. */
  readonly durationMs: number;
  /** How often this step of this flow has been taken, from 1. */
  readonly attempt: number;
}

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
