import type { Effect, ErrorCode } from "../core/errors.js";
import { readHooks } from "./hooks.js";

/** A field of a response that is not what the description says. The record is returned as it came. */
export interface MismatchEvent {
  /** Such as `payments.list`. */
  readonly operation: string;
  /**
   * Such as `senderAmount`. Each field of an operation is reported once in the life of a client, and each created payment whose status
   * says that it failed. A field that the description does not
   * have goes by its name where it looks like one, and by `(unprintable)` otherwise.
   */
  readonly field: string;
  /** What the description says, such as `a string`; of an unknown field, `a field of the description`. */
  readonly expected: string;
  /** What came: its type, or a failed status. Never another value. */
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
  /** The path with its parameters unfilled: ids never appear in an event. */
  readonly path: string;
  readonly status: number;
  readonly attempt: number;
  /** From the start of this attempt to the end of its response. */
  readonly durationMs: number;
  readonly requestId?: string;
}

/** A call succeeded: what it was made for came back. */
export interface SuccessEvent {
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters unfilled. */
  readonly path: string;
  readonly status: number;
  /** How often the request was sent. */
  readonly attempts: number;
  /** The whole call: token, signature, attempts and waits. */
  readonly durationMs: number;
  readonly requestId?: string;
}

/**
 * A call failed, whatever the reason: a refusal, a lost response, a deadline, a refused connection, a refused login, a signature
 * that was not made. Arguments that are refused before the call begins are thrown only.
 */
export interface FailureEvent {
  readonly operation: string;
  /** Absent where a token was wanted for no call. */
  readonly method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path with its parameters unfilled; absent where the method is. */
  readonly path?: string;
  /** The error's `code`. */
  readonly code: ErrorCode;
  readonly effect: Effect;
  /** How often the request was tried; 0 where nothing was sent. */
  readonly attempts: number;
  /** The whole call: token, signature, attempts and waits. */
  readonly durationMs: number;
  /** Of the last response that had one. */
  readonly requestId?: string;
  /** Of the response that the call failed on: of the service's, or of the token endpoint's. */
  readonly status?: number;
}

/** What a client reports about its work. No event contains a secret, a body or an id. Errors thrown by a hook are swallowed. */
export interface ClientEvents {
  /** Each attempt that got a response. */
  response?(event: ResponseEvent): void;
  /** Each call that succeeded, once. */
  success?(event: SuccessEvent): void;
  /** Each failed call, once. */
  failure?(event: FailureEvent): void;
  /** Each retry, before its wait. */
  retry?(event: RetryEvent): void;
  /** What differs from the description, each field once. */
  mismatch?(event: MismatchEvent): void;
  /** Each token. */
  token?(event: TokenEvent): void;
}

const hooks = [
  "response",
  "success",
  "failure",
  "retry",
  "mismatch",
  "token",
] as const satisfies readonly (keyof ClientEvents)[];

/**
 * The hooks as they are now.
 *
 * @throws {ConfigError} when one is not a function, or has a name that no hook has.
 */
export function readClientHooks(on: ClientEvents): ClientEvents {
  return readHooks(on, hooks);
}

/** A token was obtained from the token endpoint. */
export interface TokenEvent {
  readonly grant: "password" | "refresh_token";
  /** Its lifetime, counted from before the request; absent where the response gave none. */
  readonly expiresInMs?: number;
  /**
   * With a `tokenStore` only: whether the token lies there for the other processes. Where it is false time and again, the store
   * can't be used.
   */
  readonly shared?: boolean;
}
