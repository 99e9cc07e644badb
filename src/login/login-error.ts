import { type GrantFailure, toTokenError } from "../auth/grant-failure.js";
import { TokenError, type TokenErrorCode } from "../errors/errors.js";

const effect = "nobody is logged in";

/** The error of a login that came to nothing. What is said of the callback is what this library found; `details` are the server's words. */
export function loginError(
  code: TokenErrorCode,
  message: string,
  details: { readonly serviceCode?: string | undefined; readonly serviceMessage?: string | undefined } = {},
): TokenError {
  return new TokenError(`${effect}: ${message}`, { code, ...details });
}

/** The error of a code that brought no tokens. */
export function toLoginError(failure: GrantFailure, origin: string): TokenError {
  const { status, serviceCode, serviceMessage } = failure;
  if (failure.class === "unverified" && failure.reason === "iss") return issuerMismatch("ID token");
  if (failure.class !== "refused") return toTokenError(failure, origin, undefined, effect);
  const isCode = serviceCode === "invalid_grant";
  const says = isCode
    ? `${origin} takes the code of the callback no more: it was used before, or is too old; begin a new login`
    : `${origin} refused the client with ${status}; check clientId, clientSecret, and that the client has the standard flow`;
  const code = isCode ? "login_code_refused" : "login_refused";
  return new TokenError(`${effect}: ${says}`, { code, status, serviceCode, serviceMessage });
}

/** @param where the issuer was named. Its name is not shown: a forger chooses it. */
export function issuerMismatch(where: string): TokenError {
  return loginError(
    "login_issuer_mismatch",
    `the ${where} names another issuer; check authUrl and realm, or set issuer to the one that the realm names`,
  );
}
