import type { Effect, ErrorCode } from "../errors/errors.js";

/** How far a flow has got. */
export type FlowPhase =
  | "quoted"
  | "funds-requested"
  | "declined"
  | "claimed"
  | "unknown"
  | "held"
  | "paid"
  | "refused"
  | "rejected";

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
