import { createSandbox } from "cross-border-payments/sandbox";
import { expect, it } from "vitest";

it("remembers the newest requests and sessions, however long it runs", async () => {
  const sandbox = createSandbox({ refreshTokenLifetimeSeconds: 1e9, tokenLifetimeSeconds: 1e9 });
  const { clientId, username, password } = sandbox.credentials;
  const ask = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: clientId, ...fields });
    const response = await sandbox.fetch(`https://id.test${sandbox.tokenPath}`, { method: "POST", body });
    return { status: response.status, tokens: (await response.json()) as { readonly refresh_token: string } };
  };
  const logIn = () => ask({ grant_type: "password", client_secret: "", username, password });
  const refresh = ({ tokens }: Awaited<ReturnType<typeof logIn>>) =>
    ask({ grant_type: "refresh_token", refresh_token: tokens.refresh_token });
  const first = await logIn();
  const second = await logIn();
  for (let login = 3; login <= 10_001; login++) await logIn();
  expect((await refresh(first)).status).toBe(400);
  expect((await refresh(second)).status).toBe(200);
  await sandbox.fetch("https://service.test/payments");
  expect([sandbox.requests.length, sandbox.tokenRequests.length]).toEqual([10_000, 10_000]);
  expect(sandbox.requests.at(-1)?.path).toBe("/payments");
  expect(sandbox.tokenRequests.at(-1)?.grantType).toBe("refresh_token");
});
