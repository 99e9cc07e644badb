import type { ClientAuth, Configuration, ServerMetadata } from "openid-client";
import { loadOpenIdClient, type OpenIdClient } from "../core/libraries.js";
import type { BaseUrl } from "../wire/base-url.js";

/** What a login began with, and only its callback and its tokens may repeat. */
export interface LoginChecks {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** The callback of the login page. */
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
  const url = openid.buildAuthorizationUrl(configure(openid, server, clientId, openid.None()), {
    redirect_uri: redirectUri,
    scope,
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, checks };
}

/** What openid-client needs to know of the endpoint. Nothing is requested from the issuer: only an ID token is compared with it. */
export function configureGrant(
  openid: OpenIdClient,
  { origin, path }: BaseUrl,
  clientId: string,
  clientSecret: string,
  authorization: string | undefined,
  issuer = origin,
): Configuration {
  const server = {
    issuer,
    token_endpoint: origin + path,
    // Each realm has its own. The signature isn't checked: the token comes from the endpoint itself.
    id_token_signing_alg_values_supported: signingAlgorithms,
  };
  return configure(openid, server, clientId, clientAuthentication(openid, clientSecret, authorization));
}

/** @throws an error of openid-client. It carries tokens and passwords, and must not get out. */
export async function redeem(
  { authorizationCodeGrant }: OpenIdClient,
  config: Configuration,
  { url, state, nonce, verifier }: LoginCallback,
  form: Readonly<Record<string, string>>,
): Promise<UserClaims> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
  const claims = (await authorizationCodeGrant(config, url, checks, form)).claims();
  if (claims === undefined) throw new Error("no ID token");
  // openid-client asks for azp only if there are several audiences, and accepts an empty sub.
  if (claims.azp !== undefined && claims.azp !== config.clientMetadata().client_id) throw wrongClaim("azp");
  if (claims.sub === "") throw wrongClaim("sub");
  return claims;
}

/** As openid-client names it: by a `claim` of the cause. */
function wrongClaim(claim: string): Error {
  return new Error(`wrong ${claim}`, { cause: { claim } });
}

function clientAuthentication(
  { ClientSecretPost, None }: OpenIdClient,
  clientSecret: string,
  authorization: string | undefined,
): ClientAuth {
  if (authorization === undefined) return clientSecret === "" ? None() : ClientSecretPost(clientSecret);
  // `ClientSecretBasic` escapes hyphens and dots too, which servers that decode nothing refuse.
  return (_server, _client, _body, headers) => headers.set("authorization", authorization);
}

const signingAlgorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");

function configure(
  { Configuration, allowInsecureRequests }: OpenIdClient,
  server: ServerMetadata,
  clientId: string,
  authentication: ClientAuth,
): Configuration {
  const config = new Configuration(server, clientId, undefined, authentication);
  // The request has a deadline of its own.
  config.timeout = 0;
  const address = server.token_endpoint ?? server.authorization_endpoint ?? "";
  if (address.startsWith("http:")) allowInsecureRequests(config);
  return config;
}
