import {
  formText,
  type IdentityProviderAuth,
  identityProviderOptions,
  parseIdentityProviderOptions,
  realmAddress,
} from "../auth/auth-options.js";
import { beginLogin, type LoginCallback, type LoginChecks, type UserClaims } from "../auth/openid-grant.js";
import { type Granted, TokenEndpoint, toSafeLine } from "../auth/token-endpoint.js";
import { type GrantFailure, isDeadGrant, toTokenError } from "../auth/token-error.js";
import { ConfigError, TokenError, type TokenErrorCode } from "../core/errors.js";
import { type CheckTable, isBoolean, isText } from "../core/parse.js";
import { parseBaseUrl } from "../wire/base-url.js";
import { parseJsonObject } from "../wire/response.js";
import type { Transport } from "../wire/transport.js";
import type { UserTokens } from "./user-tokens.js";

/** A login by the authorization code grant (Interface description 0.0.1, "Authentication"), with PKCE. */
export interface LoginOptions {
  /** `{auth_url}` of the description, which is the part before `/auth/realms/…`. It must be https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** How long one token request may take, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Where the login page leads back to, as registered for the client. It must be https, or http as for `authUrl`, without a query. */
  readonly redirectUri: string;
  /** Separated by spaces, `openid` among them. Default: `openid`. */
  readonly scope?: string | undefined;
  /** The identity provider's name for itself. Default: `{authUrl}/auth/realms/<realm>`, as with Keycloak. */
  readonly issuer?: string | undefined;
  /** Allows `http:` addresses of other hosts than this machine. Default: false. */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** What both logins need of their options, checked. */
export interface LoginSettings {
  readonly auth: IdentityProviderAuth;
  /** The redirect URI as a URL parser writes it. */
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}

export const loginOptions = {
  ...identityProviderOptions,
  // `parseBaseUrl` checks it, with a message for each mistake.
  redirectUri: { accepts: () => true, expected: "an address such as https://host/callback", isRequired: true },
  scope: {
    accepts: (value) => formText.accepts(value) && String(value).split(" ").includes("openid"),
    expected:
      'scopes separated by spaces, with "openid" among them, without which there is no ID token to check the login by',
  },
  issuer: formText,
  allowInsecureHttp: { accepts: isBoolean, expected: "true or false" },
} satisfies CheckTable<LoginOptions & IdentityProviderAuth>;

/**
 * @param owner the class that the options belong to.
 * @throws {ConfigError} that names the option, what was found (of a secret: only its type) and the expected value.
 */
export function resolveLogin<Options extends LoginOptions>(
  owner: string,
  table: CheckTable<Options & IdentityProviderAuth>,
  given: Options,
): { readonly settings: LoginSettings; readonly options: Options } {
  const isInsecure = Object(given).allowInsecureHttp === true;
  const options = parseIdentityProviderOptions<Options & IdentityProviderAuth>(owner, table, given, isInsecure);
  const { redirectUri, scope = "openid", issuer } = options;
  parseBaseUrl(redirectUri, `${owner}: redirectUri`, isInsecure);
  const { origin, path } = realmAddress(options);
  const settings = { auth: options, redirectUri: new URL(redirectUri).href, scope, issuer: issuer ?? origin + path };
  return { settings, options };
}

/** A user who has logged in, and the tokens of that. */
export interface LoggedIn {
  readonly granted: Granted;
  readonly refreshToken: string;
  readonly claims: UserClaims;
}

/** The authorization code grant, to the login page and from the callback to tokens. It keeps nothing. */
export class Authorization {
  readonly #settings: LoginSettings;
  readonly #endpoint: TokenEndpoint;

  constructor(settings: LoginSettings, transport: Transport) {
    this.#settings = settings;
    this.#endpoint = new TokenEndpoint({ auth: settings.auth, transport });
  }

  /** The address to send the user to, and what to keep in the meantime. */
  async begin(): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
    const { auth, redirectUri, scope } = this.#settings;
    if (globalThis.crypto?.subtle !== undefined) return beginLogin(auth, redirectUri, scope);
    throw new ConfigError(
      "There is no WebCrypto (crypto.subtle) here. A page has it only if it was loaded over https.",
    );
  }

  /**
   * @param checks undefined if no login began.
   * @throws {TokenError}
   */
  async finish(parameters: URLSearchParams, checks: LoginChecks | undefined): Promise<LoggedIn> {
    const callback = readCallback(parameters, checks, this.#settings);
    const result = await this.#endpoint.redeem(callback);
    if ("failure" in result) throw toLoginError(result.failure, this.#endpoint.url);
    const { granted } = result;
    const { refreshToken, claims } = granted;
    if (refreshToken !== undefined && claims !== undefined) return { granted, refreshToken, claims };
    throw toLoginError({ class: "unreadable", status: 200 }, this.#endpoint.url);
  }

  /** @throws {TokenError} if the session isn't known to have ended. */
  async end(tokens: UserTokens): Promise<void> {
    const failure = await tokens.end();
    if (failure === undefined) return;
    throw toTokenError(failure, this.#endpoint.url, undefined, "The tokens are gone, but the session may continue");
  }
}

/** What was kept while the user was at the login page. Undefined if the text wasn't written here. */
export function readPending(text: string): LoginChecks | undefined {
  const { state, nonce, verifier } = parseJsonObject(text);
  const checks = { state, nonce, verifier };
  // Of its type if each is a text.
  return Object.values(checks).every(isText) ? (checks as LoginChecks) : undefined;
}

/**
 * Reads the callback of the login page (RFC 6749, 4.1.2, and RFC 9207). It counts only if it repeats the state of the login that this
 * user began.
 *
 * @throws {TokenError}
 */
export function readCallback(
  parameters: URLSearchParams,
  checks: LoginChecks | undefined,
  { issuer, redirectUri }: LoginSettings,
): LoginCallback {
  if (checks === undefined || parameters.get("state") !== checks.state) {
    throw loginError(
      "login_state_mismatch",
      "the callback does not belong to a login that began here, or was used before",
    );
  }
  if ((parameters.get("iss") ?? issuer) !== issuer) throw issuerMismatch("callback");
  const error = parameters.get("error");
  if (error !== null) throw refusal(error, parameters.get("error_description"), Object.values(checks));
  const code = parameters.get("code");
  if (!code) throw loginError("login_failed", "the callback has neither a code nor an error");
  const url = new URL(redirectUri);
  url.search = new URLSearchParams({ code, state: checks.state, iss: issuer }).toString();
  return { ...checks, issuer, url };
}

function refusal(error: string, description: string | null, secrets: readonly string[]): TokenError {
  const details = {
    serviceCode: /^[a-z_]{1,64}$/.test(error) ? error : undefined,
    serviceMessage: toSafeLine(description, secrets),
  };
  return error === "access_denied"
    ? loginError("login_denied", "the user refused. Begin a new login when they ask for it", details)
    : loginError("login_failed", "the login page reported an error, which is in serviceCode", details);
}

function toLoginError(failure: GrantFailure, url: string): Error {
  const { status, serviceCode, serviceMessage } = failure;
  if (failure.class === "unverified" && failure.reason === "iss") return issuerMismatch("ID token");
  if (!isDeadGrant(failure)) return toTokenError(failure, url, undefined, noUser);
  return loginError(
    "login_code_refused",
    `${url} does not accept the code of the callback: it was used before, or is too old`,
    { status, serviceCode, serviceMessage },
  );
}

/** The beginning of each message. */
const noUser = "No user is logged in";

/** The message is this library's, and `details` are the identity provider's words. */
function loginError(
  code: TokenErrorCode,
  message: string,
  details: Omit<ConstructorParameters<typeof TokenError>[1], "code"> = {},
): TokenError {
  return new TokenError(`${noUser}: ${message}`, { code, ...details });
}

/** The issuer's name isn't shown, since a forger could choose it. */
function issuerMismatch(where: string): TokenError {
  return loginError(
    "login_issuer_mismatch",
    `the ${where} names another issuer. Check authUrl and realm, or set issuer to the name that the realm uses`,
  );
}
