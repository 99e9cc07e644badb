import {
  type Assertion,
  assertFlag,
  assertIdentityProviderAuth,
  assertText,
  type IdentityProviderAuth,
  realmAddress,
  refuse,
} from "../auth/auth-options.js";
import { ConfigError } from "../errors/errors.js";
import { parseBaseUrl } from "../wire/base-url.js";

/** A login by the authorization code grant (Interface description 0.0.1, "Authentication"), with PKCE. */
export interface LoginOptions {
  /** `{auth_url}` of the description: the part before `/auth/realms/…`. https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** Where the login page leads back to, as it is registered for the client. Without a query. https, or http as for `authUrl`. */
  readonly redirectUri: string;
  /** Separated by spaces, `openid` among them. Default: `openid`. */
  readonly scope?: string | undefined;
  /** As which the identity provider names itself. Default: `{authUrl}/auth/realms/<realm>`, as Keycloak does. */
  readonly issuer?: string | undefined;
  /** Takes `http:` addresses of other hosts than this machine. Default: false. */
  readonly allowInsecureHttp?: boolean | undefined;
}

/** What both logins need of their options, checked. */
export interface LoginSettings {
  readonly auth: IdentityProviderAuth;
  /** As a URL parser writes it. */
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}

/**
 * @param owner the class that the options belong to.
 * @param fields the options that it has besides those of every login.
 * @throws {ConfigError} that names the option, what was found (of a secret: only its type) and what is wanted.
 */
export function resolveLogin(
  owner: string,
  options: LoginOptions,
  fields: Readonly<Record<string, Assertion>>,
): LoginSettings {
  if (typeof options !== "object" || options === null) throw refuse(`${owner}: its argument`, options, "its options");
  const allowInsecureHttp = options.allowInsecureHttp === true;
  const assertions = {
    redirectUri: (option: string, value: unknown) => void parseBaseUrl(value, option, allowInsecureHttp),
    scope: assertScope,
    issuer: (option: string, value: unknown) => value === undefined || assertText(option, value),
    allowInsecureHttp: assertFlag,
    ...fields,
  };
  assertIdentityProviderAuth(`${owner}: `, options, assertions, allowInsecureHttp);
  const { authUrl, realm, clientId, redirectUri, scope = "openid" } = options;
  const auth = { authUrl, realm, clientId };
  const { origin, path } = realmAddress(auth);
  return { auth, redirectUri: new URL(redirectUri).href, scope, issuer: options.issuer ?? origin + path };
}

function assertScope(option: string, value: unknown): void {
  if (value === undefined) return;
  assertText(option, value, 'scopes separated by spaces, "openid" among them');
  if (!String(value).split(" ").includes("openid")) {
    throw new ConfigError(`${option} lacks "openid", without which there is no ID token to check the login by`);
  }
}
