import type { TokenHold } from "../api/api-client.js";
import type { Deadline } from "../core/deadline.js";
import type { TokenEvent } from "../events/events.js";

/** Where a login of the authorization code grant has its tokens for clients. */
export const tokenSourceKey: unique symbol = Symbol("cross-border-payments.tokenSource");

/** Opens the source for one client; closing it ends nothing but that. */
export type OpenTokenSource = (onToken: (event: TokenEvent) => void) => TokenSource;

/** Where calls get their access tokens from. */
export interface TokenSource {
  /** Starts to load what the first token request will need. Sends nothing, and never throws. */
  preload?(): void;
  /**
   * The token to use now; a plain string where there is a live one, so that most calls wait for nothing.
   *
   * @param deadline of the call. The wait ends with it; a token request that other calls wait for continues.
   * @param maxRetries of the call: with 0 it does not wait for a token endpoint that is away.
   */
  current(deadline: Deadline, maxRetries: number): string | Promise<string>;
  /**
   * After a 401 on a call that used `used`: another token than that one, or a rejection. If it has been replaced already: the
   * current one, without a token request.
   */
  renew(used: string, deadline: Deadline, maxRetries: number): Promise<string>;
  /** The service refused the token, and the call ends with that: calls after it need another one. Never throws. */
  refused?(token: string): void;
  accepted?(token: string): void;
  /** Set while no token is requested. Absent where that is not this source's to know. */
  hold?(): TokenHold | undefined;
  /** No call will come any more. Ends what is in flight. Never rejects. */
  close?(): Promise<void>;
}

/** Whether a token can stand in a header as it is. */
export function isBearerToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}
