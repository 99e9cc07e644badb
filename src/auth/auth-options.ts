import { describeValue } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { type Check, type CheckTable, isBoolean, isFunction, isText, parseOptions } from "../core/parse.js";
import { type OpenTokenSource, tokenSourceKey } from "../http/token-source.js";
import { type BaseUrl, parseBaseUrl } from "../wire/base-url.js";

/** A secret, or a function that returns one, for example from a vault. It is called for each token request that carries the secret. */
export type SecretSource = string | (() => Promise<string> | string);

/** The identity provider, and the client as which the library is registered there. */
export interface IdentityProviderAuth {
  /** `{auth_url}` of the description, which is the part before `/auth/realms/…`. It must be https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** Default: empty. A login sends the field even then. A refresh sends it if it isn't empty. */
  readonly clientSecret?: SecretSource | undefined;
  /**
   * How `clientId` and `clientSecret` are sent. `post` sends them in the form, as described. `basic` sends them in an `Authorization`
   * header, for realms that require `client_secret_basic`. Default: `post`.
   */
  readonly clientAuthentication?: "post" | "basic" | undefined;
  /**
   * How long one token request may take, in milliseconds. The deadlines of the calls that wait for it don't count.
   *
   * @defaultValue 10,000
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * The password grant of backend applications (Interface description 0.0.1, "Authentication"). The client logs in on the first
 * call, refreshes the token when it expires, and logs in again only if the refresh is refused.
 */
export interface PasswordAuth extends IdentityProviderAuth {
  /** Issued when the financial institution is onboarded. */
  readonly username: string;
  /**
   * Issued when the financial institution is onboarded. After a refused login, the client calls a function with each call, and tries
   * another password than the refused one at once.
   */
  readonly password: SecretSource;
  /**
   * Whether `close()` ends the session at the identity provider, for short processes and realms that limit the number of sessions. It
   * takes 2 s at most, and ignores failures. Default: false.
   */
  readonly endSessionOnClose?: boolean | undefined;
}

/**
 * A session that exists already. The client refreshes its tokens and never logs in. If the session has ended, calls fail with
 * `login_refused`. If refresh tokens rotate, the first call uses this one up.
 */
export interface SessionAuth extends IdentityProviderAuth {
  readonly refreshToken: string;
}

/** The client passes this to your own token source. */
export interface AccessTokenContext {
  /** A token that the service has just refused with 401. Return another one. */
  readonly rejectedToken?: string;
  /** Aborts if the call that needs the token ends early, by its own signal or its deadline. */
  readonly signal?: AbortSignal;
}

/** Access tokens from your own source. */
export interface AccessTokenAuth {
  /**
   * Returns the bare access token, without `Bearer`. The client calls it for every attempt of every call, so it should keep its token
   * until that expires. A plain string costs the call no wait.
   */
  readonly accessToken: (context: AccessTokenContext) => Promise<string> | string;
}

/**
 * A user who logs in by the authorization code grant of front-end applications (Interface description 0.0.1, "Authentication"): a
 * `BrowserLogin`, or a `ServerSession` of a `ServerLogin`.
 */
export interface UserAuth {
  /**
   * For clients.
   *
   * @internal
   */
  readonly [tokenSourceKey]: OpenTokenSource;
  /** Ends the user's session at the identity provider. */
  logout(): Promise<void>;
}

/** How a client gets its access tokens. */
export type AuthOptions = PasswordAuth | SessionAuth | AccessTokenAuth | UserAuth;

/**
 * A copy of the options, in which each was read once. Functions stay methods of the object that they were given in.
 *
 * @throws {ConfigError} that names the option, what it must be, and what was given (only the type of a secret).
 */
export function parseAuthOptions(auth: unknown, allowInsecureHttp = false): AuthOptions {
  if (typeof auth !== "object" || auth === null) {
    throw new ConfigError(`auth must be ${wantedAuth}; got ${describeValue(auth)}`);
  }
  // The tables have checked the types.
  if (tokenSourceKey in auth) return auth as UserAuth;
  const refuse = (message: string) => new ConfigError(`auth: ${message}`);
  const table: CheckTable<IdentityProviderAuth> = "refreshToken" in auth ? sessionOptions : passwordOptions;
  const options: object =
    "accessToken" in auth
      ? parseOptions(accessTokenOptions, auth, "it", refuse, " (accessToken stands alone)")
      : parseIdentityProviderOptions("auth", table, auth, allowInsecureHttp);
  const entries = Object.entries(options);
  const bound = entries.map(([name, value]) => [name, typeof value === "function" ? value.bind(auth) : value]);
  return Object.fromEntries(bound) as AuthOptions;
}

/**
 * The address of the token endpoint, the login page, or the logout (description: "Authentication", 2). It is joined by hand, so that a
 * base path stays.
 */
export function endpointAddress(auth: IdentityProviderAuth, name: "token" | "auth" | "logout"): BaseUrl {
  const { origin, path } = realmAddress(auth);
  return { origin, path: `${path}/protocol/openid-connect/${name}` };
}

/** The address of the realm, which is also the name of a Keycloak issuer. */
export function realmAddress({ authUrl, realm }: IdentityProviderAuth): BaseUrl {
  // `parseAuthOptions` has seen to the scheme.
  const { origin, path } = parseBaseUrl(authUrl, "auth.authUrl", true);
  return { origin, path: `${path}/auth/realms/${encodeURIComponent(realm)}` };
}

const wantedAuth =
  "an object: { authUrl, realm, clientId, clientSecret?, username, password }, the same with a refreshToken instead of " +
  "username and password, { accessToken }, a BrowserLogin or a ServerSession";

/** Whether a text can be a name or a secret. A line break belongs to the file that it was read from, and would make a login fail. */
export function isFormText(value: unknown): value is string {
  return isText(value) && textProblem(value) === undefined;
}

function textProblem(value: unknown): string | undefined {
  if (value === undefined || value === "") {
    return `is ${value === "" ? "an empty string" : value}. Is the environment variable set?`;
  }
  return /[\r\n]/.test(String(value)) ? "contains a line break. Trim what was read from a file" : undefined;
}

const isSecret = (value: unknown) => isFunction(value) || isFormText(value);

export const formText: Check = { accepts: isFormText, expected: "a string that is not empty", problemOf: textProblem };
const requiredText = { ...formText, isRequired: true } as const;
const requiredSecret = { ...requiredText, isSecret: true } as const;

/** An option of the client and of a `ServerLogin`. */
export const tokenLeewayOption = {
  accepts: (value: unknown) => typeof value === "number" && value >= 0,
  expected: "a number of milliseconds, 0 or more",
} satisfies Check;

/** The options of every kind of login. */
export const identityProviderOptions: CheckTable<IdentityProviderAuth> = {
  // `parseAuthUrl` checks it, with a message for each mistake.
  authUrl: { accepts: () => true, expected: "an address such as https://host", isRequired: true },
  realm: requiredText,
  clientId: requiredText,
  clientSecret: {
    accepts: (value) => value === "" || isSecret(value),
    expected: "a string, or a function that returns one",
    problemOf: textProblem,
    isSecret: true,
  },
  clientAuthentication: {
    accepts: (value) => value === "post" || value === "basic",
    expected: '"post" or "basic"',
  },
  timeoutMs: {
    accepts: (value) => typeof value === "number" && value > 0 && value <= 2 ** 31 - 1,
    expected: "a number of milliseconds above 0 and up to 2147483647",
  },
};

const passwordOptions: CheckTable<PasswordAuth> = {
  ...identityProviderOptions,
  username: requiredText,
  password: {
    ...requiredSecret,
    accepts: isSecret,
    expected: `${formText.expected}, or a function that returns one`,
  },
  endSessionOnClose: { accepts: isBoolean, expected: "true or false" },
};
const sessionOptions: CheckTable<SessionAuth> = {
  ...identityProviderOptions,
  refreshToken: requiredSecret,
};
const accessTokenOptions: CheckTable<AccessTokenAuth> = {
  accessToken: { accepts: isFunction, expected: "a function that returns a token", isRequired: true, isSecret: true },
};

/**
 * Reads the options of a login by their table.
 *
 * @param owner to whom they belong, for messages.
 */
export function parseIdentityProviderOptions<Options extends IdentityProviderAuth>(
  owner: string,
  table: CheckTable<Options>,
  given: unknown,
  allowInsecureHttp: boolean,
): Options {
  const refuse = (message: string) => new ConfigError(`${owner}: ${message}`);
  const options = parseOptions<Options>(table, given, "the options", refuse);
  parseAuthUrl(options.authUrl, `${owner}: authUrl`, allowInsecureHttp);
  if (options.clientAuthentication === "basic" && (options.clientSecret ?? "") === "") {
    throw refuse('clientAuthentication is "basic", which needs a clientSecret');
  }
  return options;
}

/** @throws {ConfigError} also for an address that already contains what the client adds. */
export function parseAuthUrl(value: unknown, option: string, allowInsecureHttp = false): BaseUrl {
  const url = parseBaseUrl(value, option, allowInsecureHttp);
  const [found] = /(?:\/auth)?(?:\/realms(?:\/.*)?)?$/.exec(url.path) ?? [];
  if (!found) return url;
  const part = found.replace(/\/realms.*/, "/realms/…");
  throw new ConfigError(
    `${option} ends in ${part}. Remove that part: the client adds /auth/realms/NAME itself, with the name from realm`,
  );
}
