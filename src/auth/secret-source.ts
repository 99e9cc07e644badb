import { reasonOf } from "../wire/wire-failure.js";
import { isFormText, type SecretSource } from "./auth-options.js";
import { GrantError } from "./grant-failure.js";

/**
 * The secret, or what the caller's function returns. Nothing of what the function throws is taken over but a code: its message
 * may quote secrets.
 *
 * @param name of the option.
 * @throws {GrantError}
 */
export async function readSecret(name: string, source: SecretSource): Promise<string> {
  if (typeof source === "string") return source;
  let given: unknown;
  try {
    given = await source();
  } catch (error) {
    const reason = reasonOf(error);
    throw new GrantError({ class: "no-secret", secretName: name, reason: systemCode.test(reason) ? reason : "THREW" });
  }
  if (isFormText(given)) return given;
  const hasLineBreak = typeof given === "string" && /[\r\n]/.test(given);
  const reason = hasLineBreak ? "LINE_BREAK_RETURNED" : "NO_SECRET_RETURNED";
  throw new GrantError({ class: "no-secret", secretName: name, reason });
}

/** A code of Node's or undici's, such as `ECONNREFUSED`. */
const systemCode = /^(?:E[A-Z]{3,20}|(?:ERR|UND_ERR)_[A-Z_]{3,40})$/;
