import type { Waiting } from "../timing/waiting.js";

/** Where calls get their access tokens from. */
export interface TokenSource {
  /** Begins to load what the first token request will need. Asks for nothing, and never throws. */
  preload?(): void;
  /** The token to use now; a plain string where there is a live one, so that most calls wait for nothing. */
  current(waiting: Waiting): string | Promise<string>;
  /**
   * After a 401 on a call that used `used`: another token than that one, or a rejection. If it had already been replaced:
   * the current one, without a token request.
   */
  renew(used: string, waiting: Waiting): Promise<string>;
}

/** Whether a token can stand in a header as it is. */
export function isBearerToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]+$/.test(value);
}
