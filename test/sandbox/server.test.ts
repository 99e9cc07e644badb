import { connect } from "node:net";
import { expect, it } from "vitest";
import { startSandbox } from "../../src/sandbox/index.js";
import { raw } from "./sandbox-fixture.js";

it("serves tokens and operations under its addresses", async () => {
  await using server = await startSandbox({ basePath: "/gw", authPath: "/id" });
  expect(server.baseUrl).toBe(`${server.url}/gw`);
  expect(server.authUrl).toBe(`${server.url}/id`);
  expect(server.clientOptions).toMatchObject({ baseUrl: server.baseUrl, auth: { authUrl: server.authUrl } });
  const { username, password, clientId: client_id } = server.sandbox.credentials;
  const body = new URLSearchParams({ grant_type: "password", username, password, client_id });
  const response = await fetch(`${server.authUrl}/auth/realms/sandbox/protocol/openid-connect/token`, {
    method: "POST",
    body,
  });
  const { access_token } = (await response.json()) as { access_token: string };
  const list = await fetch(`${server.baseUrl}/payments`, { headers: { authorization: `Bearer ${access_token}` } });
  expect([list.status, list.headers.get("content-type"), await list.json()]).toEqual([200, "application/json", []]);
});

it("leaves the path as it was on the wire", async () => {
  await using server = await startSandbox();
  for (const path of ["/a/../payments", "//payments", "/pay%6Dents?x='"]) {
    await raw(server.url, "GET", path);
  }
  const seen = server.sandbox.requests.map(({ path, query, status }) => [path, query, status]);
  expect(seen).toEqual([
    ["/a/../payments", "", 404],
    ["//payments", "", 404],
    ["/pay%6Dents", "x='", 404],
  ]);
});

it("refuses a body that is too large", async () => {
  await using server = await startSandbox({ maxBodyBytes: 10 });
  expect((await raw(server.url, "POST", "/payments", "x".repeat(10))).status).toBe(401);
  expect((await raw(server.url, "POST", "/payments", "x".repeat(100_000))).status).toBe(413);
});

it("responds 500 when a hook throws, and continues to serve", async () => {
  let broken = true;
  const onRequest = () => {
    if (broken) throw new Error("a bug in the test's own hook");
    return undefined;
  };
  await using server = await startSandbox({ onRequest });
  expect((await raw(server.url, "GET", "/payments")).status).toBe(500);
  broken = false;
  expect((await raw(server.url, "GET", "/payments")).status).toBe(401);
});

it.each(["DELETE", "PATCH", "HEAD", "PUT"])("responds 405 to %s, and says what there is", async (method) => {
  await using server = await startSandbox();
  for (const [path, allow] of [
    ["/payments", "POST, GET"],
    [server.sandbox.tokenPath, "POST"],
  ]) {
    const { status, headers } = await raw(server.url, method, path ?? "");
    expect({ status, allow: headers.allow }).toEqual({ status: 405, allow });
  }
  expect((await raw(server.url, method, "/nowhere")).status).toBe(404);
});

it("lets pages of any origin read its responses", async () => {
  await using server = await startSandbox();
  const origin = "http://page.test";
  const asked = { origin, "access-control-request-method": "POST", "access-control-request-headers": "authorization" };
  const preflight = await raw(server.url, "OPTIONS", "/payments", "", asked);
  expect(preflight).toMatchObject({
    status: 204,
    headers: { "access-control-allow-origin": origin, "access-control-allow-headers": "authorization" },
  });
  const { headers } = await raw(server.url, "GET", "/payments", "", { origin });
  expect(headers).toMatchObject({ "access-control-allow-origin": origin, "access-control-expose-headers": "*" });
});

it("closes at once, whatever its connections are doing, and more than once", async () => {
  const server = await startSandbox({ onRequest: () => new Promise(() => {}) });
  const pending = raw(server.url, "GET", "/payments").catch((error: unknown) => error);
  const idle = connect(Number(new URL(server.url).port), "127.0.0.1");
  await new Promise((resolve) => idle.once("connect", resolve));
  while (server.sandbox.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await server.close();
  await server.close();
  expect(await pending).toBeInstanceOf(Error);
  idle.destroy();
});
