import { http } from "msw";
import { setupServer } from "msw/node";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { operations } from "../../src/resources/catalogue.js";
import { createSandbox, mswHandlers } from "../../src/sandbox/index.js";

const baseUrl = "https://service.test:8443/gw/v1";
const authUrl = "https://identity.test";
const sandbox = createSandbox({
  basePath: "/gw/v1",
  onRequest: ({ operation }) => (operation === "paymentIntents.create" ? Response.error() : undefined),
});
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
  const rows = [...operations.values()].filter(({ name }) => name !== "paymentIntents.create");
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

it("breaks a fetch off where a hook says so", async () => {
  await expect(fetch(`${baseUrl}/payment-intents`, { method: "POST", body: "{}" })).rejects.toThrow(TypeError);
});

it("takes the address with the base path or without it, and no other", () => {
  const paths = (address: string) => {
    const seen: string[] = [];
    const note = (path: string) => seen.push(path);
    mswHandlers(sandbox, { http: { get: note, post: note, put: note }, baseUrl: address, authUrl });
    return seen;
  };
  expect(paths("https://service.test:8443")).toEqual(paths(baseUrl));
  expect(paths(baseUrl)).toContain(`${baseUrl}/payments`);
  expect(() => paths("https://service.test/gw")).toThrow(ConfigError);
});
