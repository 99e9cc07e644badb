import type { ClientAuth, Configuration, ServerMetadata } from "openid-client";
import { loadOpenIdClient, type OpenIdClient } from "../core/libraries.js";
import type { BaseUrl } from "../wire/base-url.js";
import { endpointAddress, type IdentityProviderAuth } from "./auth-options.js";

/** The secrets of one login. Only its callback and its tokens may repeat them. */
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

/** The claims of the user's ID token. They depend on the scope and on the identity provider. */
export interface UserClaims {
  /** The user's id at the identity provider. */
  readonly sub: string;
  readonly [claim: string]: unknown;
}

/** The address of the login page, and the secrets to check the callback with. */
export async function beginLogin(
  auth: IdentityProviderAuth,
  redirectUri: string,
  scope: string,
): Promise<{ readonly url: string; readonly checks: LoginChecks }> {
  const { origin, path } = endpointAddress(auth, "auth");
  const server = { issuer: origin, authorization_endpoint: origin + path };
  const openid = await loadOpenIdClient();
  const checks = {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    verifier: openid.randomPKCECodeVerifier(),
  };
  const url = openid.buildAuthorizationUrl(configure(openid, server, auth.clientId, openid.None()), {
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
 * The endpoint for openid-client, which requests nothing from the issuer. It only compares an ID token with it.
 *
 * @param authorization the client, if it isn't in the form. `ClientSecretBasic` escapes hyphens and dots too, which servers that decode
 *   nothing refuse.
 */
export function configureGrant(
  openid: OpenIdClient,
  { origin, path }: BaseUrl,
  clientId: string,
  authorization: string | undefined,
  issuer = origin,
): Configuration {
  const server = {
    issuer,
    token_endpoint: origin + path,
    // Each realm has its own. The signature isn't checked, since the endpoint itself issues the token.
    id_token_signing_alg_values_supported: signingAlgorithms,
  };
  return configure(openid, server, clientId, (_server, _client, _body, headers) => {
    if (authorization !== undefined) headers.set("authorization", authorization);
  });
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
  const { azp = config.clientMetadata().client_id, sub } = claims;
  // openid-client asks for azp only if there are several audiences, and accepts an empty sub.
  const claim = azp !== config.clientMetadata().client_id ? "azp" : sub === "" ? "sub" : undefined;
  if (claim === undefined) return claims;
  throw new Error(`wrong ${claim}`, { cause: { claim } });
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
