import {
  formText,
  type IdentityProviderAuth,
  identityProviderOptions,
  parseIdentityProviderOptions,
  realmAddress,
} from "../auth/auth-options.js";
import { type CheckTable, isBoolean } from "../core/parse.js";
import { parseBaseUrl } from "../wire/base-url.js";

/** A login by the authorization code grant (Interface description 0.0.1, "Authentication"), with PKCE. */
export interface LoginOptions {
  /** `{auth_url}` of the description: the part before `/auth/realms/…`. https, or http on loopback or with `allowInsecureHttp`. */
  readonly authUrl: string;
  /** `<realm>` of the description. */
  readonly realm: string;
  readonly clientId: string;
  /** How long one token request may take, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
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
  /** The redirect URI as a URL parser writes it. */
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}

export const loginOptions = {
  ...identityProviderOptions,
  // `parseBaseUrl` checks it, with a message for each mistake.
  redirectUri: { accepts: () => true, wanted: "an address such as https://host/callback", isRequired: true },
  scope: {
    accepts: (value) => formText.accepts(value) && String(value).split(" ").includes("openid"),
    wanted:
      'scopes separated by spaces, with "openid" among them, without which there is no ID token to check the login by',
  },
  issuer: formText,
  allowInsecureHttp: { accepts: isBoolean, wanted: "true or false" },
} satisfies CheckTable<LoginOptions & IdentityProviderAuth>;

/**
 * @param owner the class that the options belong to.
 * @throws {ConfigError} that names the option, what was found (of a secret: only its type) and what is wanted.
 */
export function resolveLogin<Options extends LoginOptions>(
  owner: string,
  table: CheckTable<Options & IdentityProviderAuth>,
  given: Options,
): { readonly settings: LoginSettings; readonly options: Options } {
  const isInsecure = Object(given).allowInsecureHttp === true;
  const options = parseIdentityProviderOptions<Options & IdentityProviderAuth>(owner, table, given, isInsecure);
  const { authUrl, realm, clientId, timeoutMs, redirectUri, scope = "openid", issuer } = options;
  parseBaseUrl(redirectUri, `${owner}: redirectUri`, isInsecure);
  const auth = { authUrl, realm, clientId, timeoutMs };
  const { origin, path } = realmAddress(auth);
  const settings = { auth, redirectUri: new URL(redirectUri).href, scope, issuer: issuer ?? origin + path };
  return { settings, options };
}
