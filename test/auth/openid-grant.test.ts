import { inspect } from "node:util";
import { expect, it } from "vitest";
import type { LoginCallback } from "../../src/auth/openid-grant.js";
import { TokenEndpoint } from "../../src/auth/token-endpoint.js";
import { FakeTokenEndpoint, granted, type Reply, responded } from "./fake-token-endpoint.js";
import { secrets } from "./manager-fixture.js";

const auth = {
  authUrl: "https://id.example/base",
  realm: "cross border",
  clientId: "front&end",
  clientSecret: secrets.clientSecret,
};
const issuer = "https://id.example/base/auth/realms/cross%20border";
const redirectUri = "https://app.example/after-login";
const code = `code-${crypto.randomUUID()}`;
const checks = {
  state: `state-${crypto.randomUUID()}`,
  nonce: `nonce-${crypto.randomUUID()}`,
  verifier: `verifier-${crypto.randomUUID()}`,
};

const nowSeconds = () => Math.floor(Date.now() / 1000);

type Changes = Readonly<Record<string, unknown>>;

/** Of this login, unless told otherwise. `undefined` leaves a claim out. */
function idToken(claims: Changes = {}, header: Changes = {}): string {
  const at = nowSeconds();
  const own = { iss: issuer, aud: auth.clientId, sub: "user-7", nonce: checks.nonce, iat: at, exp: at + 300 };
  const parts = [
    { alg: "RS256", ...header },
    { ...own, ...claims },
  ].map((part) => JSON.stringify(part));
  return [...parts, "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
}

async function redeem(reply: Reply) {
  const fake = new FakeTokenEndpoint(reply);
  const endpoint = new TokenEndpoint({ auth, transport: fake });
  const url = new URL(`${redirectUri}?${new URLSearchParams({ code, state: checks.state, iss: issuer })}`);
  const callback: LoginCallback = { ...checks, issuer, url };
  return { result: await endpoint.redeem(callback), fake };
}

it("exchanges the code of a callback for the tokens and the claims of its user", async () => {
  const { result, fake } = await redeem(granted("t", { id_token: idToken({ email: "user@app.example" }) }));
  expect(result).toMatchObject({
    granted: {
      accessToken: "t",
      refreshToken: "refresh-of-t",
      lifetimeMs: 300_000,
      claims: { sub: "user-7", iss: issuer, email: "user@app.example" },
    },
  });
  expect(fake.forms).toEqual([
    {
      grant_type: "authorization_code",
      code,
      redirect_uri: redirectUri,
      code_verifier: checks.verifier,
      client_id: auth.clientId,
      client_secret: auth.clientSecret,
    },
  ]);
});

it.each([
  ["of another login", idToken({ nonce: "another" }), "nonce"],
  ["of another client", idToken({ aud: "another" }), "aud"],
  ["of another client among several", idToken({ aud: [auth.clientId, "another"], azp: "another" }), "azp"],
  ["of another issuer", idToken({ iss: "https://another.example" }), "iss"],
  ["of an hour ago", idToken({ iat: nowSeconds() - 3900, exp: nowSeconds() - 3600 }), "exp"],
  ["of the next hour", idToken({ nbf: nowSeconds() + 3600 }), "nbf"],
  ["of no login", idToken({ nonce: undefined }), "ID_TOKEN"],
  ["that anybody could have written", idToken({}, { alg: "none" }), "ID_TOKEN"],
  ["that is signed with a secret", idToken({}, { alg: "HS256" }), "ID_TOKEN"],
  ["that is none", "canary.canary", "ID_TOKEN"],
  ["that is missing", undefined, "ID_TOKEN"],
])("refuses tokens with an ID token %s, and says which claim is wrong", async (_, id_token, reason) => {
  const { result } = await redeem(granted("canary-access", { id_token }));
  expect(result).toEqual({ failure: { class: "unverified", reason } });
  expect(inspect(result, { showHidden: true, depth: 9 })).not.toMatch(/canary|eyJ/);
});

it("shows no part of a login that a refusal repeats", async () => {
  const { state, nonce, verifier } = checks;
  const said = [code, state, nonce, verifier, auth.clientSecret].join(" ");
  const { result } = await redeem(responded(400, { error: "invalid_grant", error_description: `Not valid: ${said}` }));
  expect(result).toEqual({
    failure: {
      class: "refused",
      status: 400,
      serviceCode: "invalid_grant",
      serviceMessage: `Not valid: ${Array(5).fill("[redacted]").join(" ")}`,
    },
  });
});
