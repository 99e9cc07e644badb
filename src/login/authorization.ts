import { authorizationAddress } from "../auth/auth-options.js";
import { beginLogin, type LoginChecks } from "../auth/openid-grant.js";
import type { TokenEndpointOptions } from "../auth/token-endpoint.js";
import { ConfigError } from "../core/errors.js";
import type { Transport } from "../wire/transport.js";
import { CodeExchange, type LoggedIn } from "./code-exchange.js";
import type { LoginSettings } from "./login-options.js";
import type { UserTokens } from "./user-tokens.js";

/** The authorization code grant: to the login page, and from the callback to tokens. It keeps nothing. */
export class Authorization {
  readonly #settings: LoginSettings;
  readonly #auth: TokenEndpointOptions["auth"];
  readonly #transport: Transport;
  #exchange: CodeExchange | undefined;

  constructor(settings: LoginSettings, auth: TokenEndpointOptions["auth"], transport: Transport) {
    this.#settings = settings;
    this.#auth = auth;
    this.#transport = transport;
  }

  /** The address to send the user to, and what to keep meanwhile. */
  async begin(): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
    const { auth, redirectUri, scope } = this.#settings;
    try {
      return await beginLogin({ endpoint: authorizationAddress(auth), clientId: auth.clientId, redirectUri, scope });
    } catch (error) {
      if (globalThis.crypto?.subtle !== undefined) throw error;
      throw new ConfigError(
        "there is no WebCrypto (crypto.subtle) here; a page has it only when it was loaded over https",
      );
    }
  }

  /**
   * @param checks undefined where no login began.
   * @throws {TokenError}
   */
  async finish(parameters: URLSearchParams, checks: LoginChecks | undefined): Promise<LoggedIn> {
    return this.#openExchange().finish(parameters, checks);
  }

  /** @throws {TokenError} where the session is not known to have ended. */
  async end(tokens: UserTokens): Promise<void> {
    const failure = await tokens.end();
    if (failure === undefined) return;
    throw this.#openExchange().toLogoutError(failure);
  }

  #openExchange(): CodeExchange {
    this.#exchange ??= new CodeExchange(this.#settings, this.#auth, this.#transport);
    return this.#exchange;
  }
}
