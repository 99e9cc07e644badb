import { createHash, randomBytes } from "node:crypto";
import type { Sandbox } from "../../src/sandbox/index.js";
import { askToken, type ReadResponse } from "./sandbox-fixture.js";

export const identityHost = "https://identity.test";
export const redirectUri = "https://bank.test/callback";

/** A login as an application makes it, by hand: the package's own is not to be checked with itself. */
export function loginRequest(sandbox: Sandbox, changes: Readonly<Record<string, string | undefined>> = {}) {
  const verifier = randomBytes(32).toString("base64url");
  const fields: Record<string, string | undefined> = {
    response_type: "code",
    client_id: sandbox.credentials.clientId,
    redirect_uri: redirectUri,
    scope: "openid",
    state: randomBytes(8).toString("hex"),
    nonce: randomBytes(8).toString("hex"),
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    ...changes,
  };
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  const url = `${identityHost}${sandbox.authorizationPath}?${new URLSearchParams(given)}`;
  return { url, verifier, state: fields.state, nonce: fields.nonce };
}

/** Presses the button, and returns where that leads. */
export async function pressButton(sandbox: Sandbox, url: string): Promise<URL> {
  const response = await sandbox.fetch(url, { method: "POST" });
  return new URL(response.headers.get("location") ?? "");
}

export function redeem(
  sandbox: Sandbox,
  code: string,
  verifier: string,
  changes: Readonly<Record<string, string>> = {},
): Promise<ReadResponse> {
  const { clientId } = sandbox.credentials;
  return askToken(sandbox, {
    grant_type: "authorization_code",
    client_id: clientId,
    redirect_uri: redirectUri,
    code,
    code_verifier: verifier,
    ...changes,
  });
}

export async function logIn(sandbox: Sandbox): Promise<ReadResponse["body"]> {
  const { url, verifier } = loginRequest(sandbox);
  const callback = await pressButton(sandbox, url);
  return (await redeem(sandbox, callback.searchParams.get("code") ?? "", verifier)).body;
}
