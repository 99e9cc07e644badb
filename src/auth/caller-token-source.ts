import type { Deadline } from "../core/deadline.js";
import { describeThrown, describeValue } from "../core/describe.js";
import { TokenError } from "../core/errors.js";
import { isBearerToken, type TokenSource } from "../http/token-source.js";
import type { AccessTokenAuth } from "./auth-options.js";

/**
 * Tokens from a function of the caller's. It is called for every attempt of every call, and what it returns is used as it is:
 * keeping a token until it expires is the function's job.
 */
export function callerTokenSource({ accessToken }: AccessTokenAuth): TokenSource {
  /** The refused token of a call that asked for no other one: the next call tells of it. */
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
      // The error comes from the caller's code, and may quote the token that its function was told of.
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
    `auth.accessToken returned ${found}; wanted: the bare token, without "Bearer", as printable ASCII`,
    { code: "token_source_invalid" },
  );
}
