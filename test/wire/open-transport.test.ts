import { createServer } from "node:http";
import { expect, it, onTestFinished, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import { ConfigError } from "../../src/core/errors.js";
import type { FetchLike } from "../../src/wire/fetch.js";
import { type TransportOptions, version } from "../../src/wire/open-transport.js";
import type { WireRequest } from "../../src/wire/transport.js";
import { originInTest } from "../support/origin-of.js";

const ours = `cross-border-payments/${version}`;

/** A server that responds with the user agent of the request, which tells the two kinds of transport apart. */
const startServer = () =>
  originInTest(createServer(({ headers }, response) => response.end(headers["user-agent"] ?? "none")));

async function textBy(platform: "node" | "web", options: Partial<TransportOptions> = {}): Promise<string> {
  const origin = await startServer();
  const transport = await openOn(platform, options);
  return (await transport.send(requestTo(origin), deadline())).text;
}

function requestTo(origin: string): WireRequest {
  return { method: "GET", origin, path: "/", headers: {}, body: undefined, maxResponseBytes: 1000 };
}

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

function deadline(): Deadline {
  const deadline = new Deadline({ timeoutMs: 5000 });
  onTestFinished(() => deadline.finish());
  return deadline;
}

it("sends by undici on Node", async () => {
  expect(await textBy("node")).toBe(ours);
});

it("sends by the platform's fetch on the web, and by what takes its place later", async () => {
  expect(await textBy("web")).toBe("node");
  const fetch = vi.spyOn(globalThis, "fetch").mockResolvedValue(new Response("mocked"));
  onTestFinished(() => fetch.mockRestore());
  expect(await textBy("web")).toBe("mocked");
});

it.each(["node", "web"] as const)("sends by the caller's fetch on %s", async (platform) => {
  const fetch: FetchLike = async () => new Response("the caller's");
  expect(await textBy(platform, { fetch })).toBe("the caller's");
});

it.each(["node", "web"] as const)("sends by the caller's dispatcher on %s", async (platform) => {
  const { Agent } = await import("undici");
  const dispatcher = new Agent();
  onTestFinished(() => dispatcher.close());
  expect(await textBy(platform, { dispatcher })).toBe(platform === "node" ? ours : "none");
  const { acceptEncoding } = await openOn(platform, { dispatcher });
  expect(acceptEncoding === "identity").toBe(platform === "web");
});

it.each(["node", "web"] as const)(
  "sends by what takes the place of the global fetch later, on %s",
  async (platform) => {
    const transport = await openOn(platform, { fetch: globalThis.fetch });
    vi.stubGlobal("fetch", async () => new Response("mocked"));
    onTestFinished(() => void vi.unstubAllGlobals());
    expect(await transport.send(requestTo("http://127.0.0.1:9"), deadline())).toMatchObject({ text: "mocked" });
  },
);

it("opens undici again with the next request where it could not be loaded, once for all that ask", async () => {
  const origin = await startServer();
  const { openAgent, ...platform } = await import("../../src/platform/node.js");
  const opening = vi.fn(openAgent).mockRejectedValueOnce(new ConfigError("undici can't be loaded"));
  const transport = await openOn({ ...platform, openAgent: opening });
  transport.preload?.();
  expect(opening).toHaveBeenCalledTimes(1);
  const first = await Promise.allSettled([1, 2].map(() => transport.send(requestTo(origin), deadline())));
  expect(first).toMatchObject([{ reason: { effect: "none" } }, { reason: { effect: "none" } }]);
  expect(opening).toHaveBeenCalledTimes(1);
  const second = await Promise.all([1, 2].map(() => transport.send(requestTo(origin), deadline())));
  expect(second).toMatchObject([{ text: ours }, { text: ours }]);
  expect(opening).toHaveBeenCalledTimes(2);
});
