import type { TokenEvent } from "../auth/token-event.js";

/** A field of a response that is not what the description says. The record is returned as it came. */
export interface MismatchEvent {
  /** Such as `payments.list`. */
  readonly operation: string;
  /** Such as `senderAmount`. Each field of an operation is reported once in the life of a client. */
  readonly field: string;
  /** What the description says, such as `a decimal numeral in a string`. */
  readonly expected: string;
  /** What came: its type, never its value. */
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

/** A response arrived. */
export interface ResponseEvent {
  readonly operation: string;
  readonly method: "GET" | "POST" | "PUT";
  /** The path with its parameters unfilled: ids never appear in an event. */
  readonly path: string;
  readonly status: number;
  readonly attempt: number;
  /** From the start of this attempt to the end of its response. */
  readonly durationMs: number;
  readonly requestId?: string;
}

/** What a client reports about its work. No event contains a secret, a body or an id. Errors thrown by a hook are swallowed. */
export interface ClientEvents {
  mismatch?(event: MismatchEvent): void;
  retry?(event: RetryEvent): void;
  response?(event: ResponseEvent): void;
  token?(event: TokenEvent): void;
}

/** Calls one hook. Its failure is its own. */
export function emit<Name extends keyof ClientEvents>(
  events: ClientEvents,
  name: Name,
  event: Parameters<NonNullable<ClientEvents[Name]>>[0],
): void {
  try {
    const hook = events[name] as ((event: unknown) => unknown) | undefined;
    const result: unknown = hook?.call(events, event);
    // So is the rejection of an async hook.
    if (result instanceof Promise) result.catch(() => {});
  } catch {}
}
