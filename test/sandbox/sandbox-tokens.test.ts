import { expect, it } from "vitest";
import { createSandbox } from "../../src/sandbox/index.js";
import { host, login, refresh } from "./sandbox-fixture.js";

function call(sandbox: ReturnType<typeof createSandbox>, token: string) {
  return sandbox.fetch(`${host}/payments`, { headers: { authorization: `Bearer ${token}` } });
}

it("responds to a login with the five described fields", async () => {
  const sandbox = createSandbox({ tokenLifetimeSeconds: 60 });
  const { status, body } = await login(sandbox);
  expect(status).toBe(200);
  expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "id_token", "refresh_token", "token_type"]);
  expect(body).toMatchObject({ token_type: "Bearer", expires_in: 60 });
  expect((await call(sandbox, body.access_token)).status).toBe(200);
});

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

it.each([false, true])("responds to a refresh as described, with rotation: %s", async (rotateRefreshTokens) => {
  const sandbox = createSandbox({ rotateRefreshTokens });
  const first = (await login(sandbox)).body;
  const { status, body } = await refresh(sandbox, first.refresh_token);
  expect(status).toBe(200);
  const { access_token, refresh_token = first.refresh_token, ...others } = body;
  expect(Object.keys(others).sort()).toEqual(["expires_in", "scope", "token_type"]);
  expect(access_token).not.toBe(first.access_token);
  expect(refresh_token === first.refresh_token).toBe(!rotateRefreshTokens);
  expect((await refresh(sandbox, first.refresh_token)).status).toBe(rotateRefreshTokens ? 400 : 200);
  expect((await refresh(sandbox, refresh_token)).status).toBe(200);
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

it("remembers the newest 10,000 logins and requests", async () => {
  const sandbox = createSandbox({ refreshTokenLifetimeSeconds: 1e9, tokenLifetimeSeconds: 1e9 });
  const first = (await login(sandbox)).body;
  const second = (await login(sandbox)).body;
  for (let count = 3; count <= 10_001; count++) await login(sandbox);
  expect((await refresh(sandbox, first.refresh_token)).status).toBe(400);
  expect((await refresh(sandbox, second.refresh_token)).status).toBe(200);
  expect([sandbox.requests.length, sandbox.tokenRequests.length]).toEqual([10_000, 10_000]);
  expect(sandbox.tokenRequests.at(-1)?.grantType).toBe("refresh_token");
});
