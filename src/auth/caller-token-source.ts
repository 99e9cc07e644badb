import type { Deadline } from "../core/deadline.js";
import { describeThrown, describeValue } from "../core/describe.js";
import { TokenError } from "../core/errors.js";
import { isBearerToken, type TokenSource } from "../http/token-source.js";
import type { AccessTokenAuth } from "./auth-options.js";

/**
 * Tokens from the caller's function, which is called for every attempt of every call. The function must keep a token until it expires.
 */
export function callerTokenSource({ accessToken }: AccessTokenAuth): TokenSource {
  /** The refused token of a call that asked for no other one. The next call passes it to the function. */
  let refused: string | undefined;
  const ask = (rejectedToken: string | undefined, deadline: Deadline): string | Promise<string> => {
    const { signal } = deadline;
    let given: unknown;
    try {
      given = accessToken(rejectedToken === undefined ? { signal } : { rejectedToken, signal });
      // Nothing to wait for.
      if (isBearerToken(given)) return given;
    } catch (error) {
      given = Promise.reject(error);
    }
    const token = Promise.resolve(given).then(checked, (error: unknown) => {
      // It's the caller's error, which may quote the token that its function was given.
      const cause = describeThrown(error, rejectedToken === undefined ? [] : [rejectedToken]);
      throw new TokenError("auth.accessToken failed", { code: "token_source_failed", cause });
    });
    return deadline.race(token);
  };
  return {
    current(deadline) {
      const told = refused;
      refused = undefined;
      return ask(told, deadline);
    },
    refused(token) {
      refused = token;
    },
    async renew(used, deadline) {
      const token = await ask(used, deadline);
      if (token !== used) return token;
      throw new TokenError("the service refused the access token, and auth.accessToken returned the same one again", {
        code: "token_rejected",
      });
    },
  };
}

function checked(given: unknown): string {
  if (isBearerToken(given)) return given;
  const found = typeof given === "string" && given !== "" ? "text that can't stand in a header" : describeValue(given);
  throw new TokenError(
    `auth.accessToken returned ${found}; expected the bare token, without "Bearer", as printable ASCII`,
    { code: "token_source_invalid" },
  );
}
