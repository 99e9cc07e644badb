import type { LoginChecks } from "../auth/openid-grant.js";
import { parseJsonObject } from "../wire/parse-json-object.js";

/** What is kept while the user is at the login page, as one text. */
export function writePending(checks: LoginChecks): string {
  return JSON.stringify(checks);
}

/** Returns `undefined` where the text is none that was written here. */
export function readPending(text: string): LoginChecks | undefined {
  const { state, nonce, verifier } = parseJsonObject(text);
  if (typeof state !== "string" || typeof nonce !== "string" || typeof verifier !== "string") return undefined;
  return { state, nonce, verifier };
}
