import { type GrantFailure, toTokenError } from "../auth/grant-failure.js";
import type { LoginChecks, UserClaims } from "../auth/openid-grant.js";
import { type Granted, TokenEndpoint, type TokenEndpointOptions } from "../auth/token-endpoint.js";
import { TokenError } from "../core/errors.js";
import type { Transport } from "../wire/transport.js";
import { issuerMismatch, nobody } from "./login-error.js";
import type { LoginSettings } from "./login-options.js";
import { readCallback } from "./read-callback.js";

/** A user who has logged in, and the tokens of that. */
export interface LoggedIn {
  readonly granted: Granted;
  readonly refreshToken: string;
  readonly claims: UserClaims;
}

/** From callbacks to tokens. */
export class CodeExchange {
  readonly #settings: LoginSettings;
  readonly #endpoint: TokenEndpoint;

  constructor(settings: LoginSettings, auth: TokenEndpointOptions["auth"], transport: Transport) {
    this.#settings = settings;
    this.#endpoint = new TokenEndpoint({ auth, transport });
  }

  /** @throws {TokenError} */
  async finish(parameters: URLSearchParams, checks: LoginChecks | undefined): Promise<LoggedIn> {
    const callback = readCallback(parameters, checks, this.#settings);
    const result = await this.#endpoint.redeem(callback);
    if ("failure" in result) throw toLoginError(result.failure, this.#endpoint.url);
    const { granted } = result;
    const { refreshToken, claims } = granted;
    if (refreshToken !== undefined && claims !== undefined) return { granted, refreshToken, claims };
    throw toLoginError({ class: "unreadable", status: 200 }, this.#endpoint.url);
  }

  /** The error of a session that is not known to have ended. */
  toLogoutError(failure: GrantFailure): TokenError {
    return toTokenError(failure, this.#endpoint.url, undefined, "the tokens are gone, but the session may go on");
  }
}

function toLoginError(failure: GrantFailure, url: string): TokenError {
  const { status, serviceCode, serviceMessage } = failure;
  if (failure.class === "unverified" && failure.reason === "iss") return issuerMismatch("ID token");
  if (failure.class !== "refused") return toTokenError(failure, url, undefined, nobody);
  const isCode = serviceCode === "invalid_grant";
  const says = isCode
    ? `${url} takes the code of the callback no more: it was used before, or is too old; begin a new login`
    : `${url} refused the client with ${status}; check clientId, clientSecret, and that the client has the standard flow`;
  const code = isCode ? "login_code_refused" : "login_refused";
  return new TokenError(`${nobody}: ${says}`, { code, status, serviceCode, serviceMessage });
}
