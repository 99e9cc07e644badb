import type { Effect, ErrorCode } from "../core/errors.js";
import { readHooks } from "./hooks.js";

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

/** A step of a flow is over: what it led to is stored, or it failed and is taken again later. */
export interface FlowEvent {
  readonly key: string;
  /** `undefined` for the first step. */
  readonly from: FlowPhase | undefined;
  /** The same as `from` if the step failed, or a wait was stored. */
  readonly to: FlowPhase;
  /** `possible` if the step failed, since the flow may still pay, or if it led to an outcome that nobody knows; otherwise absent. */
  readonly effect?: Effect;
  /** Of a step that failed: the library's own code of what it failed with, if that was an error of the library's. */
  readonly code?: ErrorCode;
  /** Of the service's response that refused the payment, or didn't settle the flow. */
  readonly status?: number;
  /** The service's own `error` or `code` in that response, if it looks like a code. */
  readonly serviceCode?: string;
  /** Of the step, what it stored included. */
  readonly durationMs: number;
}

/** What an operator decided about a held flow, as it was stored. For the bank's audit log. */
export interface DecisionEvent {
  readonly key: string;
  /** `decided` by one person; or `proposed` by one, and `approved` or `refused` by another. */
  readonly step: "decided" | "proposed" | "approved" | "refused";
  readonly action: "found" | "release" | "resend";
  /** Who decided, proposed, approved, or refused. */
  readonly by: string;
  /** Why it was decided or proposed, as it was given. */
  readonly why: string;
  /** Who proposed it, if that was somebody else. */
  readonly proposedBy?: string;
  /** Set if it was decided although the list of payments proves nothing. */
  readonly withoutProof?: true;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** What a `PaymentFlow` reports about its work. Errors thrown by a hook are swallowed. */
export interface FlowEvents {
  /** Each step that a flow took. It contains no secret, no name, and no account. */
  flow?(event: FlowEvent): void;
  /** Each decision of an operator, with the words that were given for it. */
  decision?(event: DecisionEvent): void;
  /** Each failure of `work`, which continues after it. */
  error?(error: unknown): void;
}

const hooks = ["flow", "decision", "error"] as const satisfies readonly (keyof FlowEvents)[];

/**
 * The hooks as they are now.
 *
 * @throws {ConfigError} if one isn't a function, or has a name that no hook has.
 */
export function readFlowHooks(on: FlowEvents): FlowEvents {
  return readHooks(on, hooks);
}
