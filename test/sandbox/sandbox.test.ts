import { CrossBorderClient } from "cross-border-payments";
import { http } from "msw";
import { expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { createSandbox, mswHandlers, type SandboxOptions, type SandboxRequest } from "../../src/sandbox/index.js";
import { host, openFixture } from "./sandbox-fixture.js";

it("logs method, path, operation and status of each request, in the order of arrival", async () => {
  const fixture = await openFixture({ now: () => 7_000 });
  await fixture.send("GET", "/payments?_size=2", undefined, { headers: { "x-service-signature-base64": "x" } });
  await fixture.send("GET", "/nowhere");
  const { tokenPath } = fixture.sandbox;
  const atMs = 7_000;
  expect(fixture.sandbox.requests).toEqual([
    { operation: "token", method: "POST", path: tokenPath, query: "", signed: false, atMs, status: 200 },
    { operation: "payments.list", method: "GET", path: "/payments", query: "_size=2", signed: true, atMs, status: 200 },
    { operation: undefined, method: "GET", path: "/nowhere", query: "", signed: false, atMs, status: 404 },
  ]);
});

it("lets a hook respond instead of the service, before anything is done", async () => {
  const onRequest = ({ operation }: SandboxRequest) =>
    operation === "liquidityProviders.create" ? new Response("busy", { status: 503 }) : undefined;
  const fixture = await openFixture({ onRequest });
  const response = await fixture.sandbox.fetch(`${host}/liquidity-providers`, { method: "POST", body: "{}" });
  expect([response.status, await response.text()]).toEqual([503, "busy"]);
  expect(fixture.sandbox.ledger.liquidityProviders).toEqual([]);
  expect(fixture.sandbox.requests.at(-1)?.status).toBe(503);
});

it("lets a hook replace or lose the response after the service did its work", async () => {
  const seen: number[] = [];
  const onResponse = ({ operation }: SandboxRequest, response: Response) => {
    if (operation !== "liquidityProviders.create") return undefined;
    seen.push(response.status);
    return Response.error();
  };
  const fixture = await openFixture({ onResponse });
  await expect(fixture.send("POST", "/liquidity-providers", { firstName: "Ann" })).rejects.toThrow(TypeError);
  expect(seen).toEqual([200]);
  expect(fixture.sandbox.ledger.liquidityProviders).toMatchObject([{ firstName: "Ann" }]);
  expect(fixture.sandbox.requests.at(-1)?.status).toBe(0);
});

it("ends a fetch without a response when its signal does", async () => {
  const sandbox = createSandbox({ onRequest: () => new Promise(() => {}) });
  const controller = new AbortController();
  const pending = sandbox.fetch(`${host}/payments`, { signal: controller.signal });
  controller.abort(new Error("enough"));
  await expect(pending).rejects.toThrow("enough");
  expect(sandbox.requests).toMatchObject([{ operation: "payments.list", status: undefined }]);
});

it.each(["", "/", "/own", "/own/"])("takes an address that ends in %j for the whole one", async (end) => {
  const sandbox = createSandbox({ basePath: "/own", authPath: "/own" });
  const options = sandbox.clientOptions({ baseUrl: `https://a.test${end}`, authUrl: `https://b.test${end}` });
  expect(options).toMatchObject({ baseUrl: "https://a.test/own", auth: { authUrl: "https://b.test/own" } });
  await using client = new CrossBorderClient({ ...options, fetch: sandbox.fetch });
  expect((await client.payments.list()).items).toEqual([]);
});

it.each([
  [{ basePath: "/api" }, "https://a.test/api/api"],
  [{ basePath: "/api" }, "https://a.test/v1/api"],
  [{}, "https://a.test/api"],
  [{}, "a.test"],
  [{}, undefined as never],
])("refuses an address that leads elsewhere: %j, %s", (options, baseUrl) => {
  const sandbox = createSandbox(options);
  const addresses = { baseUrl, authUrl: "https://b.test" };
  expect(() => sandbox.clientOptions(addresses)).toThrow(ConfigError);
  expect(() => mswHandlers(sandbox, { http, ...addresses })).toThrow("baseUrl must");
});

it("knows, renames and forgets accounts", () => {
  const { accounts } = createSandbox();
  accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada" });
  accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada L." });
  expect(accounts.nameOf("alfa", "A-1")).toBe("Ada L.");
  expect(accounts.nameOf("bravo", "A-1")).toBeUndefined();
  expect([accounts.remove("alfa", "A-1"), accounts.remove("alfa", "A-1")]).toEqual([true, false]);
});

const wrongOptions: readonly (readonly [string, SandboxOptions])[] = [
  ["basePath", { basePath: "gw" }],
  ["basePath", { basePath: "https://a.test/gw" }],
  ["authPath", { authPath: "/a?b" }],
  ["maxSize", { maxSize: 0 }],
  ["defaultSize", { defaultSize: 1.5 }],
  ["tokenLifetimeSeconds", { tokenLifetimeSeconds: 0 }],
  ["tokenThrottle: max", { tokenThrottle: { max: -1, windowSeconds: 1 } }],
  ["fee", { fee: "1,50" }],
  ["fee", { fee: "-1" }],
  ["pagingTokens", { pagingTokens: "some" as "all" }],
  ["signedOperations", { signedOperations: ["payments.delete" as "payments.list"] }],
  ["quirks: inclusiveBounds", { quirks: { inclusiveBounds: "all" as "both" } }],
  ["quirks: unknown option", { quirks: { oversize: "refused" } as object }],
  ["throttle: windowSeconds", { quirks: { throttle: { max: 1 } as never } }],
];

it.each(wrongOptions)("refuses a wrong %s: %j", (name, options) => {
  expect(() => createSandbox(options)).toThrow(ConfigError);
  expect(() => createSandbox(options)).toThrow(name);
});
