import { expect, it } from "vitest";
import { createSandbox } from "../../src/sandbox/index.js";
import { remember, rememberAs } from "../../src/sandbox/refusal.js";
import { host, login, refresh } from "./sandbox-fixture.js";

function call(sandbox: ReturnType<typeof createSandbox>, token: string) {
  return sandbox.fetch(`${host}/payments`, { headers: { authorization: `Bearer ${token}` } });
}

it.each([
  ["a wrong password", { password: "wrong" }, 401, "invalid_grant"],
  ["a wrong user", { username: "wrong" }, 401, "invalid_grant"],
  ["a wrong client", { client_id: "wrong" }, 401, "invalid_client"],
  ["a wrong client secret", { client_secret: "wrong" }, 401, "unauthorized_client"],
  ["another grant", { grant_type: "client_credentials" }, 400, "unsupported_grant_type"],
])("refuses %s", async (_, fields, status, error) => {
  const response = await login(createSandbox({ credentials: { clientSecret: "s3cret" } }), fields);
  expect(response.status).toBe(status);
  expect(response.body).toEqual({ error, error_description: expect.any(String) });
});

it.each([false, true])("gives a new refresh token and ends the old one only with rotation: %s", async (rotates) => {
  const sandbox = createSandbox({ rotateRefreshTokens: rotates });
  const first = (await login(sandbox)).body;
  const { refresh_token: next = first.refresh_token } = (await refresh(sandbox, first.refresh_token)).body;
  expect(next !== first.refresh_token).toBe(rotates);
  expect((await refresh(sandbox, first.refresh_token)).status).toBe(rotates ? 400 : 200);
  expect((await refresh(sandbox, next)).status).toBe(200);
});

it("ends access tokens and refresh tokens when their lifetimes are over", async () => {
  let nowMs = 1_000_000;
  const sandbox = createSandbox({ now: () => nowMs, tokenLifetimeSeconds: 10, refreshTokenLifetimeSeconds: 20 });
  const { body } = await login(sandbox);
  nowMs += 9_999;
  expect((await call(sandbox, body.access_token)).status).toBe(200);
  nowMs += 1;
  expect((await call(sandbox, body.access_token)).status).toBe(401);
  expect((await refresh(sandbox, body.refresh_token)).status).toBe(200);
  nowMs += 10_000;
  expect((await refresh(sandbox, body.refresh_token)).status).toBe(400);
});

it("revokes access tokens alone, or refresh tokens too", async () => {
  const sandbox = createSandbox();
  const { body } = await login(sandbox);
  sandbox.revokeTokens();
  expect((await call(sandbox, body.access_token)).status).toBe(401);
  expect((await refresh(sandbox, body.refresh_token)).status).toBe(200);
  sandbox.revokeTokens("all");
  expect((await refresh(sandbox, body.refresh_token)).status).toBe(400);
});

it("throttles more requests than the window allows, and says for how long", async () => {
  let nowMs = 0;
  const sandbox = createSandbox({ now: () => nowMs, tokenThrottle: { max: 2, windowSeconds: 30 } });
  const { body } = await login(sandbox);
  nowMs += 500;
  await refresh(sandbox, body.refresh_token);
  const throttled = await login(sandbox);
  expect(throttled.status).toBe(429);
  expect(throttled.headers.get("retry-after")).toBe("30");
  nowMs = 30_000;
  expect((await login(sandbox)).status).toBe(200);
  expect((await login(sandbox)).status).toBe(429);
});

it("logs grant, time and field names of token requests, and no secret", async () => {
  const sandbox = createSandbox({ now: () => 42_000 });
  const { body } = await login(sandbox);
  await refresh(sandbox, body.refresh_token);
  expect(sandbox.tokenRequests).toEqual([
    {
      grantType: "password",
      atMs: 42_000,
      fields: ["grant_type", "client_id", "client_secret", "username", "password"],
    },
    { grantType: "refresh_token", atMs: 42_000, fields: ["grant_type", "client_id", "refresh_token"] },
  ]);
  const logs = JSON.stringify([sandbox.tokenRequests, sandbox.requests]);
  for (const secret of [sandbox.credentials.password, body.refresh_token, body.access_token]) {
    expect(logs).not.toContain(secret);
  }
});

it("remembers the newest 10,000 of what it was asked, and of what it issued", () => {
  const asked: number[] = [];
  const issued = new Map<string, number>();
  for (let count = 1; count <= 10_001; count++) {
    remember(asked, count);
    rememberAs(issued, String(count), count);
  }
  expect([asked[0], asked.length, issued.size, issued.has("1")]).toEqual([2, 10_000, 10_000, false]);
});
