import { type IdentityProviderAuth, tokenLeewayOption, type UserAuth } from "../auth/auth-options.js";
import type { UserClaims } from "../auth/openid-grant.js";
import { isTokenStore, type TokenStore } from "../auth/token-store.js";
import { describeValue } from "../core/describe.js";
import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isFunction, isText } from "../core/parse.js";
import { tokenSourceKey } from "../http/token-source.js";
import type { FetchLike } from "../wire/fetch.js";
import { type AppInfo, openTransport, parseAppInfo } from "../wire/open-transport.js";
import { parseJsonObject } from "../wire/response.js";
import { parseTlsOptions, type TlsOptions } from "../wire/tls.js";
import type { Transport } from "../wire/transport.js";
import { type DispatcherLike, isDispatcher } from "../wire/undici.js";
import {
  Authorization,
  type LoginOptions,
  type LoginSettings,
  loginOptions,
  readPending,
  resolveLogin,
} from "./authorization.js";
import { UserTokens } from "./user-tokens.js";

/** How to build a `ServerLogin`. */
export interface ServerLoginOptions extends LoginOptions {
  /** The secret of a confidential client, as most servers are. Default: none. */
  readonly clientSecret?: IdentityProviderAuth["clientSecret"];
  /** How `clientId` and `clientSecret` are sent: in the form (`post`) or in a header (`basic`). Default: `post`. */
  readonly clientAuthentication?: IdentityProviderAuth["clientAuthentication"];
  /**
   * Where `save` and `resume` keep sessions between requests. Use a `MemoryTokenStore` for one process, and a `RedisTokenStore` or a
   * `PostgresTokenStore` for several. Default: none, and a session lives as long as its object.
   */
  readonly tokenStore?: TokenStore | undefined;
  /** How long before its expiry a token is renewed, in milliseconds. Default: 5,000, and at most a tenth of its lifetime. */
  readonly tokenLeewayMs?: number | undefined;
  /** Certificates for connections to the identity provider, for a private authority or mutual TLS. */
  readonly tls?: TlsOptions | undefined;
  /** Used instead of undici: for MSW and tests. */
  readonly fetch?: FetchLike | undefined;
  /** Your own undici dispatcher (7 or 8), for a proxy. It stays open after the login is closed. */
  readonly dispatcher?: DispatcherLike | undefined;
  /** Your program, for the `User-Agent` of token requests and logouts. Default: none. */
  readonly appInfo?: AppInfo | undefined;
}

/** A login that has begun. */
export interface BegunLogin {
  /** The address of the login page. Redirect the user to it. */
  readonly url: string;
  /** A secret. Keep it in this user's session on the server until the callback. */
  readonly pending: string;
}

/** A user who has logged in. Pass it to a client as `auth`. Several clients share its tokens, and any of them renews these. */
export interface ServerSession extends UserAuth {
  /** The claims of the user's ID token. */
  readonly claims: UserClaims;
  /**
   * A text for this user's session on the server. With it, `resume` continues the session in another request or another process. It
   * never changes. It's a secret, since anyone who has it can act for the user.
   *
   * @throws {ConfigError} if the login has no `tokenStore`.
   */
  save(): string;
  /**
   * Forgets the tokens, and ends the session at the identity provider. The service may accept access tokens until they expire. It waits
   * for a renewal of another request, at most `timeoutMs` and 5 s.
   *
   * @throws {TokenError} `logout_unconfirmed`, or the error of a failed request, if the client can't tell whether the session has ended.
   *   Then call it again.
   */
  logout(): Promise<void>;
}

/**
 * Logs in the users of a server with sessions, by the authorization code grant with PKCE. Use one for all users. It stores nothing about
 * them.
 *
 * @example
 * const { url, pending } = await login.begin();              // keep `pending` in the user's session, redirect to `url`
 * const session = await login.finish(request.url, pending);  // at `redirectUri`, after deleting `pending`
 * const client = new CrossBorderClient({ baseUrl, auth: session });
 */
export class ServerLogin {
  readonly #options: ServerLoginOptions;
  readonly #settings: LoginSettings;
  readonly #transport: Transport;
  readonly #authorization: Authorization;
  #closing: Promise<void> | undefined;

  /** @throws {ConfigError} that names the option, what was found and the expected value. */
  constructor(given: ServerLoginOptions) {
    const { settings, options } = resolveLogin("ServerLogin", serverLoginOptions, given);
    this.#options = options;
    this.#settings = settings;
    this.#transport = toTransport(options);
    this.#authorization = new Authorization(settings, this.#transport);
  }

  /** Begins a login. Sends nothing. */
  async begin(): Promise<BegunLogin> {
    const { url, checks } = await this.#authorization.begin();
    return { url, pending: JSON.stringify(checks) };
  }

  /**
   * Finishes a login, in the handler of `redirectUri`. First delete `pending` from the user's session, since it's for one callback.
   *
   * @param callbackUrl the requested address, or its path and query.
   * @param pending as `begin` returned it. Undefined or null if the user's session has none.
   * @throws {TokenError} `login_state_mismatch`, `login_code_refused`, `login_issuer_mismatch`, `login_denied`, `login_failed`,
   *   `login_unverified`, `login_refused`, or the error of a failed token request. Then nothing is stored.
   */
  async finish(callbackUrl: string | URL, pending: string | null | undefined): Promise<ServerSession> {
    const parameters = this.#parametersOf(callbackUrl);
    const checks = pending === undefined || pending === null ? undefined : readPending(assertText("pending", pending));
    const { granted, refreshToken, claims } = await this.#authorization.finish(parameters, checks);
    const tokens = new UserTokens();
    await this.#open(tokens, refreshToken).begin(granted);
    return this.#toSession(tokens, { refreshToken, claims });
  }

  /**
   * Continues a saved session. It requests nothing yet. If the session has ended, the first call fails with `session_ended`.
   *
   * @throws {ConfigError} if the login has no `tokenStore`.
   * @throws {InvalidArgumentError} if the text isn't from `save`.
   */
  resume(saved: string): ServerSession {
    this.#assertStore("resume");
    const { refreshToken, claims } = parseJsonObject(assertText("saved", saved));
    if (!isText(refreshToken) || !isText(Object(claims).sub)) {
      throw new InvalidArgumentError("ServerLogin: saved is not a text of ServerSession.save");
    }
    // Both were checked.
    const session = { refreshToken, claims } as SavedSession;
    const tokens = new UserTokens();
    this.#open(tokens, session.refreshToken);
    return this.#toSession(tokens, session);
  }

  /** Closes the login's connections. Afterwards, sessions can't renew their tokens. */
  close(): Promise<void> {
    this.#closing ??= this.#transport.close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #open(tokens: UserTokens, refreshToken: string) {
    const auth = { ...this.#settings.auth, refreshToken };
    const { tokenLeewayMs: leewayMs, tokenStore: store } = this.#options;
    return tokens.open({ auth, transport: this.#transport, leewayMs, store });
  }

  #toSession(tokens: UserTokens, saved: SavedSession): ServerSession {
    return {
      claims: saved.claims,
      save: () => {
        this.#assertStore("save");
        return JSON.stringify(saved);
      },
      logout: () => this.#authorization.end(tokens),
      [tokenSourceKey]: tokens.source,
    };
  }

  #parametersOf(callbackUrl: unknown): URLSearchParams {
    const text = callbackUrl instanceof URL ? callbackUrl.href : callbackUrl;
    const { redirectUri } = this.#settings;
    if (typeof text === "string" && URL.canParse(text, redirectUri)) return new URL(text, redirectUri).searchParams;
    throw new InvalidArgumentError(
      `ServerLogin: callbackUrl is ${describeValue(callbackUrl)}; expected: the address of the callback, or its path and query`,
    );
  }

  /** Without a store, the saved refresh token would be outdated after the next renewal. */
  #assertStore(name: string): void {
    if (this.#options.tokenStore !== undefined) return;
    throw new ConfigError(`ServerLogin: ${name} needs a tokenStore; for one process, a MemoryTokenStore will do`);
  }
}

interface SavedSession {
  /** The first one, which names the session. The store has the newest one. */
  readonly refreshToken: string;
  readonly claims: UserClaims;
}

export const serverLoginOptions: CheckTable<ServerLoginOptions> = {
  ...loginOptions,
  tokenStore: {
    accepts: isTokenStore,
    expected: "a token store: an object with the methods read, lock, unlock and write",
  },
  tokenLeewayMs: tokenLeewayOption,
  // `parseTlsOptions` checks it, and `parseAppInfo` the program.
  tls: { accepts: () => true, expected: "certificates" },
  fetch: { accepts: isFunction, expected: "a function" },
  dispatcher: { accepts: isDispatcher, expected: "an undici dispatcher: an object with a dispatch method" },
  appInfo: { accepts: () => true, expected: "the program" },
};

function toTransport({ tls, fetch, dispatcher, appInfo }: ServerLoginOptions): Transport {
  const given = Object.entries({ tls, fetch, dispatcher }).filter(([, value]) => value !== undefined);
  if (given.length > 1) {
    throw new ConfigError(`ServerLogin: ${given.map(([name]) => name).join(" and ")} exclude each other`);
  }
  const material = tls === undefined ? undefined : parseTlsOptions(tls);
  const app = appInfo === undefined ? undefined : parseAppInfo(appInfo, "ServerLogin: ");
  return openTransport({ fetch, dispatcher, connections: 64, connectTimeoutMs: 10_000, tls: material, appInfo: app });
}

function assertText(name: string, value: unknown): string {
  if (isText(value)) return String(value);
  throw new InvalidArgumentError(
    `ServerLogin: ${name} is ${describeValue(value)}; expected: the text as it was given out`,
  );
}
