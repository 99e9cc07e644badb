import type { Sandbox } from "../../src/sandbox/index.js";

/** An access token of a sandbox, for tests that are not about tokens. */
export async function sandboxToken(sandbox: Pick<Sandbox, "credentials" | "fetch" | "tokenPath">): Promise<string> {
  const { clientId, clientSecret, username, password } = sandbox.credentials;
  const fields = { client_id: clientId, client_secret: clientSecret, username, password };
  const body = new URLSearchParams({ grant_type: "password", ...fields });
  const response = await sandbox.fetch(`https://login.test${sandbox.tokenPath}`, { method: "POST", body });
  const { access_token: token }: { access_token?: string } = JSON.parse(await response.text());
  if (token === undefined) throw new Error("the sandbox returned no token");
  return token;
}
