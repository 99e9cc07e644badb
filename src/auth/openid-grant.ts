import type { Configuration, ServerMetadata } from "openid-client";
import { loadOpenIdClient, type OpenIdClient } from "../core/libraries.js";
import type { BaseUrl } from "../wire/base-url.js";
import type { Grant } from "./grant-failure.js";
import type { TokenFields } from "./token-response.js";

/** One token request, as openid-client is to make it. */
export interface GrantRequest {
  readonly endpoint: BaseUrl;
  readonly grant: Grant | "authorization_code";
  /** Set for the authorization code grant only. */
  readonly callback?: LoginCallback | undefined;
  readonly clientId: string;
  /** Every field of the form but `grant_type`, the client's own included where they belong into it. */
  readonly form: Readonly<Record<string, string>>;
  /** Sends the encoded form and reads the response. */
  readonly send: (body: string) => Promise<TokenFields>;
}

/** What a login began with, and only its callback and its tokens may repeat. */
export interface LoginChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The way back from the login page. */
export interface LoginCallback extends LoginChecks {
  readonly issuer: string;
  /** The redirect URI with the query of the callback. */
  readonly url: URL;
}

/** What the ID token says of the user. Which claims there are depends on the scope and on the identity provider. */
export interface UserClaims {
  /** The user's id at the identity provider. */
  readonly sub: string;
  readonly [claim: string]: unknown;
}

export interface LoginRequest {
  readonly endpoint: BaseUrl;
  readonly clientId: string;
  readonly redirectUri: string;
  readonly scope: string;
}

export interface GrantedTokens {
  readonly tokens: TokenFields;
  /** Set for the authorization code grant only. */
  readonly claims?: UserClaims;
}

/** The address that a user is sent to, and what to check the callback with. */
export async function beginLogin({
  endpoint,
  clientId,
  redirectUri,
  scope,
}: LoginRequest): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
  const server = { issuer: endpoint.origin, authorization_endpoint: endpoint.origin + endpoint.path };
  const openid = await loadOpenIdClient();
  const checks = {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    verifier: openid.randomPKCECodeVerifier(),
  };
  const url = openid.buildAuthorizationUrl(configure(openid, server, endpoint, clientId), {
    redirect_uri: redirectUri,
    scope,
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, checks };
}

/**
 * Makes a token request through openid-client. Only this file knows the library.
 *
 * @throws an error of openid-client. What `send` throws is its `cause`. Such errors carry tokens and passwords and must not
 *   get out.
 */
export async function requestGrant(request: GrantRequest): Promise<GrantedTokens> {
  const { endpoint, grant, callback, clientId, form, send } = request;
  // Nothing is requested from the issuer. Only an ID token is compared with it: the rest uses the token endpoint alone.
  const server = {
    issuer: callback?.issuer ?? endpoint.origin,
    token_endpoint: endpoint.origin + endpoint.path,
    // Realms choose one, and nobody asks them which. The signature is not looked at: see docs/decisions/0032.
    id_token_signing_alg_values_supported: signingAlgorithms,
  };
  const openid = await loadOpenIdClient();
  const config = configure(openid, server, endpoint, clientId);
  config[openid.customFetch] = async (_url, { body }) => toResponse(await send(String(body)), callback !== undefined);
  if (callback !== undefined) return redeem(openid, config, callback, form);
  // With grant_type among the parameters the fields keep the order of the description.
  return { tokens: await openid.genericGrantRequest(config, grant, { grant_type: grant, ...form }) };
}

async function redeem(
  { authorizationCodeGrant }: OpenIdClient,
  config: Configuration,
  { url, state, nonce, verifier }: LoginCallback,
  form: Readonly<Record<string, string>>,
): Promise<GrantedTokens> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
  const tokens = await authorizationCodeGrant(config, url, checks, form);
  const claims = tokens.claims();
  if (claims === undefined) throw new Error("no ID token");
  // openid-client asks for azp only where there are several audiences, and for a sub of any kind.
  if (claims.azp !== undefined && claims.azp !== config.clientMetadata().client_id) throw new WrongClaim("azp");
  if (claims.sub === "") throw new WrongClaim("sub");
  return { tokens, claims };
}

/** As openid-client names it: by a `claim` of the cause. */
class WrongClaim extends Error {
  constructor(claim: string) {
    super(`wrong ${claim}`, { cause: { claim } });
  }
}

const signingAlgorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

function configure(
  { Configuration, allowInsecureRequests }: OpenIdClient,
  server: ServerMetadata,
  { origin }: BaseUrl,
  clientId: string,
): Configuration {
  // The form or a header has the client's id and secret already.
  const clientAuthentication = (): void => {};
  const config = new Configuration(server, clientId, undefined, clientAuthentication);
  // The deadline of the request is the only time limit. Zero turns off openid-client's own.
  config.timeout = 0;
  if (origin.startsWith("http:")) allowInsecureRequests(config);
  return config;
}

/**
 * A response whose body has been parsed already. It has only the fields that are used: openid-client would check the
 * `id_token` of a password grant against an issuer that the client does not know.
 */
function toResponse(tokens: TokenFields, hasIdToken: boolean): Response {
  const { id_token: _, ...others } = tokens;
  const body = hasIdToken ? tokens : others;
  // Defined, since it can't be assigned where `Response` was replaced, as Hono's server for Node does.
  return Object.defineProperty(new Response(), "json", { value: () => Promise.resolve(body) });
}
