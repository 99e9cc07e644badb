import { ConfigError, type Effect, type ErrorCode } from "../core/errors.js";
import { isFunction, parseOptions } from "../core/parse.js";

/** A field of a response differs from the description. The record is returned unchanged. */
export interface MismatchEvent {
  /** Such as `payments.list`. */
  readonly operation: string;
  /**
   * Such as `senderAmount`. Each field of an operation is reported once in the life of a client, and each created payment whose status
   * says that it failed. A field that isn't
   * described has its own name if it looks like one, or else `(unprintable)`.
   */
  readonly field: string;
  /** The description's own type, such as `a string`, or `a field of the description` if the field is unknown. */
  readonly expected: string;
  /** The type that was received, or a failed status. Never another value. */
  readonly found: string;
}

/** A request is about to be sent again. */
export interface RetryEvent {
  readonly operation: string;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Status of the response, a code such as `ECONNREFUSED`, or why a 2xx could not be used, such as `unreadable`. */
  readonly reason: string;
  /** How long the client waits before the next attempt. */
  readonly delayMs: number;
}

/** An attempt got a response. */
export interface ResponseEvent {
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters unfilled, since ids never appear in an event. */
  readonly path: string;
  readonly status: number;
  readonly attempt: number;
  /** From the start of this attempt to the end of its response. */
  readonly durationMs: number;
  readonly requestId?: string;
}

/** A call succeeded, and its result was returned. */
export interface SuccessEvent {
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters unfilled. */
  readonly path: string;
  readonly status: number;
  /** How often the request was sent. */
  readonly attempts: number;
  /** Duration of the whole call, with token, signature, attempts and waits. */
  readonly durationMs: number;
  readonly requestId?: string;
}

/**
 * A call failed, whatever the reason: a refusal, a lost response, a deadline, a refused connection, a refused login, a signature
 * that was not made. Arguments that are refused before the call begins are thrown only.
 */
export interface FailureEvent {
  readonly operation: string;
  /** Absent if the token was requested for no call. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters unfilled. Absent if the method is. */
  readonly path?: string;
  /** The error's `code`. */
  readonly code: ErrorCode;
  readonly effect: Effect;
  /** How often the request was tried, or 0 if nothing was sent. */
  readonly attempts: number;
  /** Duration of the whole call, with token, signature, attempts and waits. */
  readonly durationMs: number;
  /** The id in the last response. */
  readonly requestId?: string;
  /** Status of the service's or the token endpoint's response that the call failed on. */
  readonly status?: number;
}

/** Hooks for the work of a client. No event contains a secret, a body or an id. Errors thrown by a hook are swallowed. */
export interface ClientEvents {
  /** Each attempt that got a response. */
  response?(event: ResponseEvent): void;
  /** Each call that succeeded, once. */
  success?(event: SuccessEvent): void;
  /** Each failed call, once. */
  failure?(event: FailureEvent): void;
  /** Each retry, before its wait. */
  retry?(event: RetryEvent): void;
  /** Each field that differs from the description, once. */
  mismatch?(event: MismatchEvent): void;
  /** Each token. */
  token?(event: TokenEvent): void;
}

export const clientHooks = ["response", "success", "failure", "retry", "mismatch", "token"] as const;

/** A token was obtained from the token endpoint. */
export interface TokenEvent {
  readonly grant: "password" | "refresh_token";
  /** Its lifetime, counted from before the request. Absent if the response gave none. */
  readonly expiresInMs?: number;
  /**
   * With a `tokenStore` only, whether the token lies there for the other processes. If it is false again and again, the store
   * can't be used.
   */
  readonly shared?: boolean;
}

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

/** A step of a flow is over. Its result is stored, or it failed and is repeated later. */
export interface FlowEvent {
  readonly key: string;
  /** `undefined` for the first step. */
  readonly from: FlowPhase | undefined;
  /** The same as `from` if the step failed, or a wait was stored. */
  readonly to: FlowPhase;
  /** `possible` if the step failed, since the flow may still pay, or if the outcome is unknown. Otherwise absent. */
  readonly effect?: Effect;
  /** The library's own code, if the step failed with an error of the library's. */
  readonly code?: ErrorCode;
  /** Status of the service's response that refused the payment, or didn't settle the flow. */
  readonly status?: number;
  /** The service's own `error` or `code` in that response, if it looks like a code. */
  readonly serviceCode?: string;
  /** Duration of the step, with what it stored. */
  readonly durationMs: number;
}

/** An operator's decision about a held flow, as it was stored. For the bank's audit log. */
export interface DecisionEvent {
  readonly key: string;
  /** `decided` by one person, or `proposed` by one and `approved` or `refused` by another. */
  readonly step: "decided" | "proposed" | "approved" | "refused";
  readonly action: "found" | "release" | "resend";
  /** Who decided, proposed, approved, or refused. */
  readonly by: string;
  /** Why it was decided or proposed, as it was given. */
  readonly why: string;
  /** Who proposed it, if that was another person. */
  readonly proposedBy?: string;
  /** Set if it was decided although the list of payments proves nothing. */
  readonly withoutProof?: true;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

/** Hooks for the work of a `PaymentFlow`. Errors thrown by a hook are swallowed. */
export interface FlowEvents {
  /** Each step that a flow took. It contains no secret, no name, and no account. */
  flow?(event: FlowEvent): void;
  /** Each decision of an operator, with the words that were given for it. */
  decision?(event: DecisionEvent): void;
  /** Each failure of `work`, which continues after it. */
  error?(error: unknown): void;
}

export const flowHooks = ["flow", "decision", "error"] as const;

/** A journal has done what a flow asked it for, or failed to. */
export interface JournalEvent {
  /** The method of `Journal`. */
  readonly operation: string;
  readonly durationMs: number;
  /** The code of its failure, or OpenTelemetry's word for an error that isn't the library's. */
  readonly code?: ErrorCode | "_OTHER";
}

/**
 * The hooks of an option `on` as they are now.
 *
 * @throws {ConfigError} if one isn't a function, or has a name that no hook has.
 */
export function readHooks<Hooks extends object>(on: Hooks, names: readonly (keyof Hooks & string)[]): Hooks {
  const table = Object.fromEntries(names.map((name) => [name, { accepts: isFunction, expected: "a function" }]));
  const hooks = parseOptions(table, on, "on", (message) => new ConfigError(`hooks: ${message}`));
  const bound = Object.entries(hooks).map(([name, hook]) => [name, (hook as () => unknown).bind(on)]);
  return Object.fromEntries(bound) as Hooks;
}
