import { describeValue, looksLikeName } from "../errors/describe-value.js";
import { ConfigError } from "../errors/errors.js";
import { type BaseUrl, parseBaseUrl } from "../wire/base-url.js";
import { type OpenTokenSource, tokenSourceKey } from "./token-source.js";

/** A secret, or a function that returns one: from a vault, say. It is called for each token request that carries the secret. */
export type SecretSource = string | (() => Promise<string> | string);

/** The identity provider, and the client as which the library is registered there. */
export interface IdentityProviderAuth {
  /** `{auth_url}` of the description: the part before `/auth/realms/…`. https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** Default: empty. The login sends the field even then; a refresh sends it where it is not empty. */
  readonly clientSecret?: SecretSource | undefined;
  /**
   * How `clientId` and `clientSecret` are sent: in the form, as described (`post`), or in an `Authorization` header, for realms
   * that demand `client_secret_basic` (`basic`). Default: `post`.
   */
  readonly clientAuthentication?: "post" | "basic" | undefined;
}

/**
 * The password grant of backend applications (Interface description 0.0.1, "Authentication"). The client logs in on the first
 * call, refreshes the token when it expires, and logs in again only when the refresh is refused.
 */
export interface PasswordAuth extends IdentityProviderAuth {
  /** Issued when the financial institution is onboarded. */
  readonly username: string;
  /**
   * Issued when the financial institution is onboarded. After a refused login a function is called with each call as well: another
   * password than the one that was refused is tried at once.
   */
  readonly password: SecretSource;
  /**
   * Whether `close()` ends the session at the identity provider: for short processes, where realms limit the number of
   * sessions. It takes 2 s at most, and a failure is ignored. Default: false.
   */
  readonly endSessionOnClose?: boolean | undefined;
}

/**
 * A session that exists already. The client refreshes its tokens and never logs in: when the session has ended, calls fail with
 * `login_refused`. Where refresh tokens rotate, the one given here is used up by the first call.
 */
export interface SessionAuth extends IdentityProviderAuth {
  readonly refreshToken: string;
}

/** What your own token source is told. */
export interface AccessTokenContext {
  /** A token that the service has just refused with 401. Return another one. */
  readonly rejectedToken?: string;
  /** Aborts when the call that needs the token ends early: by its own signal or its deadline. */
  readonly signal?: AbortSignal;
}

/** Access tokens from your own source. */
export interface AccessTokenAuth {
  /**
   * Returns the bare access token, without `Bearer`. It is called for every attempt of every call, so it should keep its token
   * until that expires. A token returned as a plain string costs the call no wait.
   */
  readonly accessToken: (context: AccessTokenContext) => Promise<string> | string;
}

/**
 * A user who logs in by the authorization code grant of front-end applications (Interface description 0.0.1, "Authentication"): a
 * `BrowserLogin`, or a `ServerSession` of a `ServerLogin`.
 */
export interface UserAuth {
  /**
   * For clients of any copy of the package.
   *
   * @internal
   */
  readonly [tokenSourceKey]: OpenTokenSource;
  /** Ends the user's session at the identity provider. */
  logout(): Promise<void>;
}

/** How a client gets its access tokens. */
export type AuthOptions = PasswordAuth | SessionAuth | AccessTokenAuth | UserAuth;

/** @throws {ConfigError} that names the option, what was found (of a secret: only its type) and what is wanted. */
export function assertAuthOptions(auth: unknown, allowInsecureHttp = false): asserts auth is AuthOptions {
  if (typeof auth !== "object" || auth === null || Array.isArray(auth)) throw refuse("auth", auth, wantedAuth);
  if (tokenSourceKey in auth) return;
  if ("accessToken" in auth) assertAccessTokenAuth(auth);
  else if ("refreshToken" in auth) assertIdentityProviderAuth("auth.", auth, sessionFields, allowInsecureHttp);
  else assertIdentityProviderAuth("auth.", auth, passwordFields, allowInsecureHttp);
}

/** The address of the token endpoint (description: "Authentication", 2), joined by hand so that a base path stays. */
export function tokenEndpointAddress(auth: IdentityProviderAuth): BaseUrl {
  return endpointAddress(auth, "token");
}

/** The address beside it where a session is ended. */
export function logoutAddress(auth: IdentityProviderAuth): BaseUrl {
  return endpointAddress(auth, "logout");
}

/** The address beside them where users log in. */
export function authorizationAddress(auth: IdentityProviderAuth): BaseUrl {
  return endpointAddress(auth, "auth");
}

/** The realm, which is what Keycloak's issuers are named after. */
export function realmAddress({ authUrl, realm }: IdentityProviderAuth): BaseUrl {
  // `assertAuthOptions` has seen to the scheme.
  const { origin, path } = parseBaseUrl(authUrl, "auth.authUrl", true);
  return { origin, path: `${path}/auth/realms/${encodeURIComponent(realm)}` };
}

function endpointAddress(auth: IdentityProviderAuth, name: string): BaseUrl {
  const { origin, path } = realmAddress(auth);
  return { origin, path: `${path}/protocol/openid-connect/${name}` };
}

const wantedAuth =
  "an object: { authUrl, realm, clientId, clientSecret?, username, password }, the same with a refreshToken instead of " +
  "username and password, { accessToken }, a BrowserLogin or a ServerSession";

/** @throws {ConfigError} `option` is its name for the message. */
export type Assertion = (option: string, value: unknown) => void;

const passwordFields = { username: assertText, password: assertSecret, endSessionOnClose: assertFlag };
const sessionFields = { refreshToken: assertText };

function assertAccessTokenAuth(auth: object): void {
  const { accessToken, ...others } = auth as Record<string, unknown>;
  if (typeof accessToken !== "function")
    throw refuse("auth.accessToken", accessToken, "a function that returns a token");
  assertNoOthers("auth.", Object.keys(others), " next to accessToken");
}

/** @param prefix of the options' names in messages. */
export function assertIdentityProviderAuth(
  prefix: string,
  auth: object,
  grantFields: Readonly<Record<string, Assertion>>,
  allowInsecureHttp: boolean,
): void {
  const fields = auth as Record<string, unknown>;
  const assertions: Readonly<Record<string, Assertion>> = {
    authUrl: (option, value) => parseAuthUrl(value, option, allowInsecureHttp),
    realm: assertRealm,
    clientId: assertText,
    clientSecret: assertOptionalSecret,
    clientAuthentication: assertClientAuthentication,
    ...grantFields,
  };
  for (const [name, assert] of Object.entries(assertions)) assert(prefix + name, fields[name]);
  if (fields.clientAuthentication === "basic" && isAbsent(fields.clientSecret)) {
    throw new ConfigError(`${prefix}clientAuthentication is "basic", which needs a clientSecret`);
  }
  const others = Object.keys(fields).filter((name) => !Object.hasOwn(assertions, name));
  assertNoOthers(prefix, others, `; the options are ${Object.keys(assertions).join(", ")}`);
}

/**
 * @throws {ConfigError} for an issuer, or another address of a realm, too: joined with the realm once more, it would be found nowhere.
 */
export function parseAuthUrl(value: unknown, option: string, allowInsecureHttp = false): BaseUrl {
  const url = parseBaseUrl(value, option, allowInsecureHttp);
  if (!/(?:^|\/)realms(?:\/|$)/.test(url.path)) return url;
  throw new ConfigError(
    `${option} is the address of a realm (…/realms/…); wanted: only what stands before /auth/realms, and the realm's name in realm`,
  );
}

function isAbsent(secret: unknown): boolean {
  return secret === undefined || secret === "";
}

function assertRealm(option: string, value: unknown): void {
  assertText(option, value);
  if (value !== "." && value !== "..") return;
  throw new ConfigError(`${option} is "${value}", which would address another path; wanted: the realm's name`);
}

function assertSecret(option: string, value: unknown): void {
  if (typeof value !== "function")
    assertText(option, value, "a string that is not empty, or a function that returns one");
}

export function assertOptionalSecret(option: string, value: unknown): void {
  if (!isAbsent(value)) assertSecret(option, value);
}

export function assertClientAuthentication(option: string, value: unknown): void {
  if (value !== undefined && value !== "post" && value !== "basic") throw refuse(option, value, '"post" or "basic"');
}

export function assertFlag(option: string, value: unknown): void {
  if (value !== undefined && typeof value !== "boolean") throw refuse(option, value, "true or false");
}

export function assertText(option: string, value: unknown, wanted = "a string that is not empty"): void {
  if (typeof value !== "string" || value === "") throw refuse(option, value, wanted);
  // The form would carry U+FFFD in its place, and the login would fail for no visible reason.
  if (/\p{Cs}/u.test(value)) throw new ConfigError(`${option} holds half of a surrogate pair, which has no encoding`);
}

function assertNoOthers(prefix: string, names: readonly string[], instead: string): void {
  const [name] = names;
  if (name === undefined) return;
  throw new ConfigError(`there is no option ${prefix}${looksLikeName(name) ? name : "(unprintable)"}${instead}`);
}

/** The error of an option that is something else than it has to be. */
export function refuse(option: string, value: unknown, wanted: string): ConfigError {
  return new ConfigError(`${option} is ${describeValue(value)}; wanted: ${wanted}`);
}
