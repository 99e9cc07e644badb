import { describeValue } from "../errors/describe-value.js";
import { TokenError } from "../errors/errors.js";
import { redactText } from "../errors/redact.js";
import type { Waiting } from "../timing/waiting.js";
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
  let given: unknown;
  try {
    given = accessToken(rejectedToken === undefined ? { signal } : { rejectedToken, signal });
  } catch (error) {
    return Promise.reject(sourceFailed(error, rejectedToken));
  }
  // Nothing to wait for, nothing to abort.
  if (isBearerToken(given)) return given;
  const token = Promise.resolve(given).then(checked, (error: unknown) => {
    throw sourceFailed(error, rejectedToken);
  });
  return waiting.race(token).catch((error: unknown) => {
    controller.abort();
    throw error;
  });
}

function checked(given: unknown): string {
  if (isBearerToken(given)) return given;
  const found = typeof given === "string" && given !== "" ? "text that can't stand in a header" : describeValue(given);
  throw new TokenError(`auth.accessToken gave ${found}; wanted: the bare token, without "Bearer", as printable ASCII`, {
    code: "token_source_invalid",
  });
}

function sourceFailed(error: unknown, rejectedToken: string | undefined): TokenError {
  const cause = error instanceof Error && rejectedToken !== undefined ? withoutToken(error, rejectedToken) : error;
  return new TokenError("auth.accessToken failed", { code: "token_source_failed", cause });
}

/** The error is the caller's own, and may quote the token that its function was told of. */
function withoutToken(error: Error, token: string): Error {
  const safe = new Error(redactText(error.message, [token]));
  safe.name = error.name;
  if (error.stack !== undefined) safe.stack = redactText(error.stack, [token]);
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? Object.assign(safe, { code }) : safe;
}
