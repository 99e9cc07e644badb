import type { TokenHold } from "../api/api-client.js";
import type { Deadline } from "../core/deadline.js";
import type { TokenEvent } from "../events/events.js";

/** A login of the authorization code grant keeps its tokens for clients under this key. */
export const tokenSourceKey: unique symbol = Symbol("cross-border-payments.tokenSource");

/** Opens the source for one client. Closing it doesn't end the session. */
export type OpenTokenSource = (onToken: (event: TokenEvent) => void) => TokenSource;

/** Gives calls their access tokens. */
export interface TokenSource {
  /** Starts to load the libraries of the first token request. Sends nothing, and never throws. */
  preload?(): void;
  /**
   * The token to use now. It is a plain string if the source has one that is valid, so that most calls don't wait.
   *
   * @param deadline of the call, which ends the wait. A token request that other calls wait for continues.
   * @param maxRetries of the call. With 0 it doesn't wait for a token endpoint that is unavailable.
   */
  current(deadline: Deadline, maxRetries: number): string | Promise<string>;
  /**
   * Gets another token after a 401 on a call that used `used`, or rejects. If that token was replaced already, it returns the current one
   * without a token request.
   */
  renew(used: string, deadline: Deadline, maxRetries: number): Promise<string>;
  /** The service refused the token, and the call ends with that, so the next call needs another token. Never throws. */
  refused?(token: string): void;
  accepted?(token: string): void;
  /** Set while no token is requested. Absent if this source can't know. */
  hold?(): TokenHold | undefined;
  /** Ends the requests in flight. No call follows. Never rejects. */
  close?(): Promise<void>;
}

/** Whether a token can stand in a header as it is. */
export function isBearerToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}
