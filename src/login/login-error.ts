import { TokenError, type TokenErrorCode } from "../core/errors.js";

/** The beginning of each message. */
export const nobody = "nobody is logged in";

/** The error of a login that came to nothing. What is said of the callback is what this library found; `details` are the server's words. */
export function loginError(
  code: TokenErrorCode,
  message: string,
  details: { readonly serviceCode?: string | undefined; readonly serviceMessage?: string | undefined } = {},
): TokenError {
  return new TokenError(`${nobody}: ${message}`, { code, ...details });
}

/** @param where the issuer was named. Its name is not shown: a forger chooses it. */
export function issuerMismatch(where: string): TokenError {
  return loginError(
    "login_issuer_mismatch",
    `the ${where} names another issuer; check authUrl and realm, or set issuer to the one that the realm names`,
  );
}
