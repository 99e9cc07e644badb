import { describeValue } from "../errors/describe-value.js";
import { ConfigError } from "../errors/errors.js";
import { parseBaseUrl } from "../wire/base-url.js";

/**
 * The password grant of backend applications (description: "Authentication", 1 and 2). The client logs in on the first call,
 * refreshes the token when it expires, and logs in again only when the refresh is refused.
 */
export interface PasswordAuth {
  /** `{auth_url}` of the description: what stands before `/auth/realms/…`. https, or http on loopback. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** May be empty, which is the default: the login sends the field all the same. */
  readonly clientSecret?: string | undefined;
  /** Issued when the financial institution is onboarded. */
  readonly username: string;
  /** Issued when the financial institution is onboarded. */
  readonly password: string;
}

/** What a token source of the caller's own is told. */
export interface AccessTokenContext {
  /** A token that the service has just responded with 401. The response must be another one. */
  readonly rejectedToken?: string;
  /** Ends when the call that needs the token does: its caller's signal or its deadline. */
  readonly signal?: AbortSignal;
}

/** Access tokens from a source of the caller's own. */
export interface AccessTokenAuth {
  /**
   * Gives the bare access token, without `Bearer`. It is called for every attempt of every call, so it should keep its token
   * until that expires; a token returned as a plain string costs the call no wait.
   */
  readonly accessToken: (context: AccessTokenContext) => Promise<string> | string;
}

/** How a client gets its access tokens. */
export type AuthOptions = PasswordAuth | AccessTokenAuth;

/** @throws {ConfigError} that names the option, what was found (of a secret: only its type) and what is wanted. */
export function assertAuthOptions(auth: unknown): asserts auth is AuthOptions {
  if (typeof auth !== "object" || auth === null || Array.isArray(auth)) throw refuse("auth", auth, wantedAuth);
  if ("accessToken" in auth) assertAccessTokenAuth(auth);
  else assertPasswordAuth(auth);
}

/** The address of the token endpoint (description: "Authentication", 2), joined by hand so that a base path stays. */
export function tokenEndpointUrl({ authUrl, realm }: PasswordAuth): { readonly origin: string; readonly url: string } {
  const { origin, path } = parseBaseUrl(authUrl, "auth.authUrl");
  return { origin, url: `${origin}${path}/auth/realms/${encodeURIComponent(realm)}/protocol/openid-connect/token` };
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
  if (typeof accessToken !== "function") throw refuse("auth.accessToken", accessToken, "a function that gives a token");
  assertNoOthers(Object.keys(others), "beside accessToken");
}

function assertPasswordAuth(auth: object): void {
  const fields = auth as Record<string, unknown>;
  parseBaseUrl(fields.authUrl, "auth.authUrl");
  for (const name of ["realm", "clientId", "username", "password"]) assertText(name, fields[name]);
  if (fields.realm === "." || fields.realm === "..") {
    throw new ConfigError(
      `auth.realm is "${fields.realm}", which would address another path; wanted: the realm's name`,
    );
  }
  if (fields.clientSecret !== undefined && fields.clientSecret !== "") assertText("clientSecret", fields.clientSecret);
  const others = Object.keys(fields).filter((name) => !passwordFields.has(name));
  assertNoOthers(others, `there are ${[...passwordFields].join(", ")}`);
}

function assertText(name: string, value: unknown): void {
  if (typeof value !== "string" || value === "") throw refuse(`auth.${name}`, value, "a string that is not empty");
  // A form would carry U+FFFD in its place, and the login would fail for a reason that nobody could see.
  if (/\p{Cs}/u.test(value))
    throw new ConfigError(`auth.${name} holds half of a surrogate pair, which has no encoding`);
}

function assertNoOthers(names: readonly string[], instead: string): void {
  const [name] = names;
  if (name === undefined) return;
  throw new ConfigError(`there is no option auth.${/^\w{1,40}$/.test(name) ? name : "(unprintable)"} ${instead}`);
}

function refuse(option: string, value: unknown, wanted: string): ConfigError {
  return new ConfigError(`${option} is ${describeValue(value)}; wanted: ${wanted}`);
}
