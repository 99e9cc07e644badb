import { authorizationAddress } from "../auth/auth-options.js";
import { toTokenError } from "../auth/grant-failure.js";
import type { LoginChecks, UserClaims } from "../auth/openid-grant.js";
import { type Granted, TokenEndpoint, type TokenEndpointOptions } from "../auth/token-endpoint.js";
import { ConfigError, type TokenError } from "../errors/errors.js";
import type { Transport } from "../wire/transport.js";
import { toLoginError } from "./login-error.js";
import type { LoginSettings } from "./login-options.js";
import { readCallback } from "./read-callback.js";
import type { UserTokens } from "./user-tokens.js";

/** A user who has logged in, and the tokens of that. */
export interface LoggedIn {
  readonly granted: Granted;
  readonly refreshToken: string;
  readonly claims: UserClaims;
}

/** The authorization code grant: to the login page, and from the callback to tokens. It keeps nothing. */
export class Authorization {
  readonly #settings: LoginSettings;
  readonly #endpoint: TokenEndpoint;

  constructor(settings: LoginSettings, auth: TokenEndpointOptions["auth"], transport: Transport) {
    this.#settings = settings;
    this.#endpoint = new TokenEndpoint({ auth, transport, timeoutMs: requestTimeoutMs });
  }

  /** The address to send the user to, and what to keep meanwhile. */
  async begin(): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
    const { auth, redirectUri, scope } = this.#settings;
    try {
      const { beginLogin } = await import("#login");
      return await beginLogin({ endpoint: authorizationAddress(auth), clientId: auth.clientId, redirectUri, scope });
    } catch {
      throw new ConfigError(
        globalThis.crypto?.subtle === undefined
          ? "there is no WebCrypto (crypto.subtle) here; a page has it only when it was loaded over https"
          : "no login can begin; is the package openid-client installed completely?",
      );
    }
  }

  /**
   * @param checks undefined where no login began.
   * @throws {TokenError}
   */
  async finish(parameters: URLSearchParams, checks: LoginChecks | undefined): Promise<LoggedIn> {
    const callback = readCallback(parameters, checks, this.#settings);
    const result = await this.#endpoint.redeem(callback);
    if ("failure" in result) throw toLoginError(result.failure, this.#endpoint.origin);
    const { granted } = result;
    const { refreshToken, claims } = granted;
    if (refreshToken !== undefined && claims !== undefined) return { granted, refreshToken, claims };
    throw toLoginError({ class: "unreadable", status: 200 }, this.#endpoint.origin);
  }

  /** @throws {TokenError} where the session is not known to have ended. */
  async end(tokens: UserTokens): Promise<void> {
    const failure = await tokens.end();
    if (failure === undefined) return;
    throw this.#toLogoutError(failure);
  }

  #toLogoutError(failure: Parameters<typeof toTokenError>[0]): TokenError {
    return toTokenError(failure, this.#endpoint.origin, undefined, "the tokens are gone, but the session may go on");
  }
}

const requestTimeoutMs = 10_000;
