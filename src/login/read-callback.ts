import type { LoginCallback, LoginChecks } from "../auth/openid-grant.js";
import { toSafeLine } from "../auth/token-response.js";
import { issuerMismatch, loginError } from "./login-error.js";
import type { LoginSettings } from "./login-options.js";

/**
 * Reads the way back from the login page (RFC 6749, 4.1.2; RFC 9207). What the callback says counts only where it repeats the state of
 * the login that this user began.
 *
 * @throws {TokenError}
 */
export function readCallback(
  parameters: URLSearchParams,
  checks: LoginChecks | undefined,
  { issuer, redirectUri }: LoginSettings,
): LoginCallback {
  if (checks === undefined || parameters.get("state") !== checks.state) throw stateMismatch(checks !== undefined);
  const repeated = callbackParameters.find((name) => parameters.getAll(name).length > 1);
  if (repeated !== undefined) throw loginError(repetitionCodes[repeated], `the callback has more than one ${repeated}`);
  if ((parameters.get("iss") ?? issuer) !== issuer) throw issuerMismatch("callback");
  const error = parameters.get("error");
  if (error !== null) throw refusal(error, parameters.get("error_description") ?? "", Object.values(checks));
  const code = parameters.get("code");
  if (!code) throw loginError("login_failed", "the callback has neither a code nor an error");
  const url = new URL(redirectUri);
  url.search = new URLSearchParams({ code, state: checks.state, iss: issuer }).toString();
  return { ...checks, issuer, url };
}

/** Of each there may be one (RFC 6749, 3.1). What was added to a callback is somebody else's. */
const repetitionCodes = {
  state: "login_state_mismatch",
  code: "login_failed",
  iss: "login_issuer_mismatch",
  error: "login_failed",
  error_description: "login_failed",
} as const;
const callbackParameters = Object.keys(repetitionCodes) as (keyof typeof repetitionCodes)[];

function stateMismatch(isPending: boolean) {
  const found = isPending
    ? "the state of the callback is not that of the login that began here"
    : "there is a callback, but no login began here, or its callback has come already";
  return loginError("login_state_mismatch", `${found}; nothing was requested; begin a new login`);
}

function refusal(error: string, description: string, secrets: readonly string[]) {
  const message = toSafeLine(description, secrets);
  const details = {
    serviceCode: /^[a-z_]{1,64}$/.test(error) ? error : undefined,
    serviceMessage: message === "" ? undefined : message,
  };
  if (error === "access_denied") {
    return loginError("login_denied", "the user refused; begin a new login when they ask for it", details);
  }
  return loginError("login_failed", "the login page came back with an error, which is in serviceCode", details);
}
