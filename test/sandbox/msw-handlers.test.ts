import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import { operations } from "../../src/resources/catalogue.js";
import { createSandbox, mswHandlers } from "../../src/sandbox/index.js";

const baseUrl = "https://service.test:8443/gw/v1";
const authUrl = "https://identity.test";
const sandbox = createSandbox({ basePath: "/gw/v1" });
const handlers = mswHandlers(sandbox, { http, baseUrl, authUrl });
const server = setupServer(...handlers);

beforeEach(() => server.listen({ onUnhandledRequest: "error" }));
afterEach(() => server.close());

it("serves tokens and every operation over global fetch", async () => {
  const { username, password, clientId: client_id } = sandbox.credentials;
  const body = new URLSearchParams({ grant_type: "password", username, password, client_id });
  const response = await fetch(authUrl + sandbox.tokenPath, { method: "POST", body });
  const { access_token } = (await response.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${access_token}`, "content-type": "application/json" };
  const before = sandbox.requests.length;
  const rows = [...operations.values()];
  for (const { method, path } of rows) {
    const init = method === "GET" ? { method, headers } : { method, headers, body: "{}" };
    const response = await fetch(baseUrl + path.text.replace(/\{\w+\}/g, "a%2Fb"), init);
    expect([200, 400]).toContain(response.status);
  }
  expect(sandbox.requests.slice(before).map(({ operation }) => operation)).toEqual(rows.map(({ name }) => name));
});

it("serves logins", async () => {
  expect(handlers).toHaveLength(operations.size + 2);
  expect((await fetch(authUrl + sandbox.certsPath)).status).toBe(200);
  expect((await fetch(authUrl + sandbox.authorizationPath, { method: "POST" })).status).toBe(400);
});
