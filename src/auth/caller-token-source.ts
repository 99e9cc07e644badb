import type { Deadline } from "../core/deadline.js";
import { describeThrown, describeValue } from "../core/describe.js";
import { TokenError } from "../core/errors.js";
import { isBearerToken, type TokenSource } from "../http/token-source.js";
import type { AccessTokenAuth, AccessTokenContext } from "./auth-options.js";

/**
 * Tokens from a function of the caller's. It is called for every attempt of every call, and what it returns is used as it is:
 * keeping a token until it expires is the function's job.
 */
export function callerTokenSource({ accessToken }: AccessTokenAuth): TokenSource {
  /** The refused token of a call that asked for no other one: the next call tells of it. */
  let refused: string | undefined;
  return {
    current(deadline) {
      const told = refused;
      refused = undefined;
      return ask(accessToken, told, deadline);
    },
    refused(token) {
      refused = token;
    },
    async renew(used, deadline) {
      const token = await ask(accessToken, used, deadline);
      if (token !== used) return token;
      throw new TokenError("the service refused the access token, and auth.accessToken returned the same one again", {
        code: "token_rejected",
      });
    },
  };
}

function ask(
  accessToken: AccessTokenAuth["accessToken"],
  rejectedToken: string | undefined,
  deadline: Deadline,
): string | Promise<string> {
  let given: unknown;
  try {
    given = accessToken(toContext(rejectedToken, deadline));
  } catch (error) {
    return Promise.reject(sourceFailed(error, rejectedToken));
  }
  // Nothing to wait for.
  if (isBearerToken(given)) return given;
  const token = Promise.resolve(given).then(checked, (error: unknown) => {
    throw sourceFailed(error, rejectedToken);
  });
  return deadline.race(token);
}

/** Most functions don't look at the signal, which costs an object: it is made when they do. */
function toContext(rejectedToken: string | undefined, deadline: Deadline): AccessTokenContext {
  return {
    ...(rejectedToken === undefined ? undefined : { rejectedToken }),
    get signal() {
      return deadline.signal;
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

/** The error comes from the caller's code, and may quote the token that its function was told of. */
function sourceFailed(error: unknown, rejectedToken: string | undefined): TokenError {
  const cause = describeThrown(error, rejectedToken === undefined ? [] : [rejectedToken]);
  return new TokenError("auth.accessToken failed", { code: "token_source_failed", cause });
}
