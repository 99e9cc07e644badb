import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { Agent } from "undici";
import { expect, it, onTestFinished, vi } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import type { FetchLike } from "../../src/wire/fetch.js";
import { parseAppInfo, type TransportOptions, version, withUserAgent } from "../../src/wire/open-transport.js";
import type { Transport } from "../../src/wire/transport.js";
import { originInTest } from "../support/origin-of.js";
import { get, within } from "./exchange-fixture.js";

const ours = `cross-border-payments/${version}`;
const app = { name: "school-fees", version: "2.4.1" };

/** A server that responds with the user agent of the request, which tells the two kinds of transport apart. */
const startServer = () =>
  originInTest(createServer(({ headers }, response) => response.end(headers["user-agent"] ?? "none")));

async function openOn(platform: "node" | "web" | object, options: Partial<TransportOptions> = {}) {
  vi.resetModules();
  if (platform === "web") vi.doMock("#platform", () => import("../../src/platform/web.js"));
  else if (typeof platform === "object") vi.doMock("#platform", () => platform);
  const { openTransport } = await import("../../src/wire/open-transport.js");
  vi.doUnmock("#platform");
  onTestFinished(() => void vi.resetModules());
  const transport = openTransport({ connections: 1, connectTimeoutMs: 5000, ...options });
  onTestFinished(() => transport.close().catch(() => {}));
  return transport;
}

async function textBy(platform: "node" | "web", options: Partial<TransportOptions> = {}): Promise<string> {
  const transport = await openOn(platform, options);
  return (await transport.send(get(await startServer()), within())).text;
}

it("sends by undici on Node, and names the program before the package", async () => {
  expect(await textBy("node")).toBe(ours);
  expect(await textBy("node", { appInfo: app })).toBe(`school-fees/2.4.1 ${ours}`);
  expect(version).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
});

it("sends by the platform's fetch on the web", async () => {
  expect(await textBy("web")).toBe("node");
});

it.each(["node", "web"] as const)("sends by the caller's fetch or dispatcher on %s", async (platform) => {
  const fetch: FetchLike = async () => new Response("the caller's");
  expect(await textBy(platform, { fetch })).toBe("the caller's");
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.close());
  expect(await textBy(platform, { dispatcher })).toBe(platform === "node" ? ours : "none");
  const { acceptEncoding } = await openOn(platform, { dispatcher });
  expect(acceptEncoding).toBe(platform === "node" ? "gzip, br" : "identity");
});

it.each([
  ["node", { fetch: globalThis.fetch }],
  ["web", {}],
] as const)("sends by what takes the place of the global fetch later, on %s", async (platform, options) => {
  const transport = await openOn(platform, options);
  vi.stubGlobal("fetch", async () => new Response("mocked"));
  onTestFinished(() => void vi.unstubAllGlobals());
  expect(await transport.send(get("http://127.0.0.1:9"), within())).toMatchObject({ text: "mocked" });
});

it("opens undici again with the next request if it could not be loaded, once for all that ask", async () => {
  const origin = await startServer();
  const { openAgent, ...platform } = await import("../../src/platform/node.js");
  const opening = vi.fn(openAgent).mockRejectedValueOnce(new ConfigError("undici can't be loaded"));
  const transport = await openOn({ ...platform, openAgent: opening });
  transport.preload?.();
  const sendTwo = () => Promise.allSettled([1, 2].map(() => transport.send(get(origin), within())));
  expect(await sendTwo()).toMatchObject([{ reason: { effect: "none" } }, { reason: { effect: "none" } }]);
  expect(opening).toHaveBeenCalledTimes(1);
  expect(await sendTwo()).toMatchObject([{ value: { text: ours } }, { value: { text: ours } }]);
  expect(opening).toHaveBeenCalledTimes(2);
});

it("names the program beside what the request has, and passes the rest of a transport on", async () => {
  const transport = { send: vi.fn(), preload: vi.fn(), close: vi.fn(), acceptEncoding: "gzip" } satisfies Transport;
  const named = withUserAgent(transport, app);
  const deadline = within();
  const theirs = { ...get("https://service.test"), headers: { "user-agent": "their own", accept: "*/*" } };
  await named.send(theirs, deadline);
  expect(transport.send).toHaveBeenLastCalledWith(theirs, deadline);
  named.preload?.();
  await named.close();
  expect([transport.preload.mock.calls.length, transport.close.mock.calls.length]).toEqual([1, 1]);
  expect(named.acceptEncoding).toBe("gzip");
});

it.each([
  [undefined, "it must be an object; got undefined"],
  [{ name: "a b", version: "1" }, "name must be up to 100 letters, digits and characters such as - and ."],
  [{ ...app, homepage: "x" }, 'unknown option "homepage"'],
])("takes no %j for a program", (given, message) => {
  expect(() => parseAppInfo(given, "Owner: ")).toThrow(ConfigError);
  expect(() => parseAppInfo(given, "Owner: ")).toThrow(`Owner: appInfo: ${message}`);
  expect(parseAppInfo(app)).toEqual(app);
});
