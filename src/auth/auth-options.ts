import { describeValue } from "../errors/describe-value.js";
import { ConfigError } from "../errors/errors.js";
import { type BaseUrl, parseBaseUrl } from "../wire/base-url.js";

/**
 * The password grant of backend applications (Interface description 0.0.1, "Authentication"). The client logs in on the first
 * call, refreshes the token when it expires, and logs in again only when the refresh is refused.
 */
export interface PasswordAuth {
  /** `{auth_url}` of the description: the part before `/auth/realms/…`. https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** Default: empty. The login sends the field even then. */
  readonly clientSecret?: string | undefined;
  /** Issued when the financial institution is onboarded. */
  readonly username: string;
  /** Issued when the financial institution is onboarded. */
  readonly password: string;
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

/** How a client gets its access tokens. */
export type AuthOptions = PasswordAuth | AccessTokenAuth;

/** @throws {ConfigError} that names the option, what was found (of a secret: only its type) and what is wanted. */
export function assertAuthOptions(auth: unknown, allowInsecureHttp = false): asserts auth is AuthOptions {
  if (typeof auth !== "object" || auth === null || Array.isArray(auth)) throw refuse("auth", auth, wantedAuth);
  if ("accessToken" in auth) assertAccessTokenAuth(auth);
  else assertPasswordAuth(auth, allowInsecureHttp);
}

/** The address of the token endpoint (description: "Authentication", 2), joined by hand so that a base path stays. */
export function tokenEndpointAddress({ authUrl, realm }: PasswordAuth): BaseUrl {
  // `assertAuthOptions` has seen to the scheme.
  const { origin, path } = parseBaseUrl(authUrl, "auth.authUrl", true);
  return { origin, path: `${path}/auth/realms/${encodeURIComponent(realm)}/protocol/openid-connect/token` };
}

const wantedAuth =
  "an object: either { authUrl, realm, clientId, clientSecret?, username, password } or { accessToken }";

const passwordFields: ReadonlySet<string> = new Set([
  "authUrl",
  "realm",
  "clientId",
  "clientSecret",
  "username",
  "password",
] satisfies (keyof PasswordAuth)[]);

function assertAccessTokenAuth(auth: object): void {
  const { accessToken, ...others } = auth as Record<string, unknown>;
  if (typeof accessToken !== "function")
    throw refuse("auth.accessToken", accessToken, "a function that returns a token");
  assertNoOthers(Object.keys(others), " next to accessToken");
}

function assertPasswordAuth(auth: object, allowInsecureHttp: boolean): void {
  const fields = auth as Record<string, unknown>;
  parseBaseUrl(fields.authUrl, "auth.authUrl", allowInsecureHttp);
  for (const name of ["realm", "clientId", "username", "password"]) assertText(name, fields[name]);
  if (fields.realm === "." || fields.realm === "..") {
    throw new ConfigError(
      `auth.realm is "${fields.realm}", which would address another path; wanted: the realm's name`,
    );
  }
  if (fields.clientSecret !== undefined && fields.clientSecret !== "") assertText("clientSecret", fields.clientSecret);
  const others = Object.keys(fields).filter((name) => !passwordFields.has(name));
  assertNoOthers(others, `; the options are ${[...passwordFields].join(", ")}`);
}

function assertText(name: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw refuse(`auth.${name}`, value, "a string that is not empty");
  // The form would carry U+FFFD in its place, and the login would fail for no visible reason.
  if (/\p{Cs}/u.test(value))
    throw new ConfigError(`auth.${name} holds half of a surrogate pair, which has no encoding`);
}

function assertNoOthers(names: readonly string[], instead: string): void {
  const [name] = names;
  if (name === undefined) return;
  throw new ConfigError(`there is no option auth.${/^\w{1,40}$/.test(name) ? name : "(unprintable)"}${instead}`);
}

function refuse(option: string, value: unknown, wanted: string): ConfigError {
  return new ConfigError(`${option} is ${describeValue(value)}; wanted: ${wanted}`);
}
