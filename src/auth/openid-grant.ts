import type { Configuration } from "openid-client";
import { loadOpenIdClient, type OpenIdClient } from "../core/libraries.js";
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
  const openid = await loadOpenIdClient();
  const checks = {
    state: openid.randomState(),
    nonce: openid.randomNonce(),
    verifier: openid.randomPKCECodeVerifier(),
  };
  const url = openid.buildAuthorizationUrl(configure(openid, auth), {
    redirect_uri: redirectUri,
    scope,
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await openid.calculatePKCECodeChallenge(checks.verifier),
    code_challenge_method: "S256",
  });
  return { url: url.href, checks };
}

/** The identity provider for openid-client, which requests nothing from the issuer. It only compares an ID token with it. */
export function configure(
  { Configuration, allowInsecureRequests }: OpenIdClient,
  auth: IdentityProviderAuth,
  issuer?: string,
): Configuration {
  const { origin, path } = endpointAddress(auth, "token");
  const server = {
    issuer: issuer ?? origin,
    authorization_endpoint: origin + endpointAddress(auth, "auth").path,
    token_endpoint: origin + path,
    // Each realm has its own. The signature isn't checked, since the endpoint itself issues the token.
    id_token_signing_alg_values_supported: signingAlgorithms,
  };
  // The client is in the form or in the header already.
  const config = new Configuration(server, auth.clientId, undefined, () => {});
  // The request has a deadline of its own.
  config.timeout = 0;
  if (origin.startsWith("http:")) allowInsecureRequests(config);
  return config;
}

/** @throws an error of openid-client. It carries tokens and passwords, and must not get out. */
export async function redeem(
  { authorizationCodeGrant }: OpenIdClient,
  config: Configuration,
  { url, state, nonce, verifier }: LoginCallback,
  form: Readonly<Record<string, string>>,
): Promise<UserClaims | undefined> {
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
  return (await authorizationCodeGrant(config, url, checks, form)).claims();
}

const signingAlgorithms = "RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split(" ");
