import { TokenError } from "../errors.js";
import { kindOf } from "../kind-of.js";
import { redactText } from "../redact.js";
import type { Waiting } from "../waiting.js";
import type { AccessTokenAuth } from "./auth-options.js";
import { isBearerToken, type TokenSource } from "./token-source.js";

/**
 * Tokens from a function of the caller's own. It is asked for every attempt of every call, and what it gives is used as it is:
 * keeping a token until it expires is its business.
 */
export function callerTokenSource({ accessToken }: AccessTokenAuth): TokenSource {
  return {
    current(waiting) {
      return ask(accessToken, undefined, waiting);
    },
    async renew(used, waiting) {
      const token = await ask(accessToken, used, waiting);
      if (token !== used) return token;
      throw new TokenError("the service refused the access token, and auth.accessToken gave the same one again", {
        code: "token_rejected",
      });
    },
  };
}

function ask(
  accessToken: AccessTokenAuth["accessToken"],
  rejectedToken: string | undefined,
  waiting: Waiting,
): string | Promise<string> {
  const controller = new AbortController();
  const { signal } = controller;
  try {
    const given: unknown = accessToken(rejectedToken === undefined ? { signal } : { rejectedToken, signal });
    // Nothing to wait for, nothing to abort.
    if (typeof given === "string") return checked(given);
    const token = Promise.resolve(given).then(checked).catch(toTokenError(rejectedToken));
    return waiting.race(token).catch((error: unknown) => {
      controller.abort();
      throw error;
    });
  } catch (error) {
    return Promise.reject(error).catch(toTokenError(rejectedToken));
  }
}

function checked(given: unknown): string {
  if (isBearerToken(given)) return given;
  const found = typeof given === "string" && given !== "" ? "text that can't stand in a header" : kindOf(given);
  throw new TokenError(`auth.accessToken gave ${found}; wanted: the bare token, without "Bearer", as printable ASCII`, {
    code: "token_source_invalid",
  });
}

/** What the function throws is the caller's own, and may still quote the token that it was told of. */
function toTokenError(rejectedToken: string | undefined): (error: unknown) => never {
  return (error) => {
    if (error instanceof TokenError && error.code === "token_source_invalid") throw error;
    throw new TokenError("auth.accessToken failed", {
      code: "token_source_failed",
      cause: error instanceof Error && rejectedToken !== undefined ? withoutToken(error, rejectedToken) : error,
    });
  };
}

function withoutToken(error: Error, token: string): Error {
  const safe = new Error(redactText(error.message, [token]));
  safe.name = error.name;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? Object.assign(safe, { code }) : safe;
}
