import { readFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import { ConfigError } from "../../src/core/errors.js";
import { openTransport, parseAppInfo, version, withUserAgent } from "../../src/wire/open-transport.js";
import type { Transport, WireRequest } from "../../src/wire/transport.js";

const app = { name: "school-fees", version: "2.4.1" };
const request: WireRequest = {
  method: "GET",
  origin: "https://service.test",
  path: "/",
  headers: { accept: "*/*" },
  body: undefined,
  maxResponseBytes: 1000,
};
const own = `cross-border-payments/${version}`;
const userAgent = `school-fees/2.4.1 ${own}`;

it("names the program in each request, beside what the request has", async () => {
  const transport = { send: vi.fn(), preload: vi.fn(), close: vi.fn(), acceptEncoding: "gzip" } satisfies Transport;
  const named = withUserAgent(transport, app);
  const deadline = new Deadline({});
  await named.send(request, deadline);
  const headers = { "user-agent": userAgent, accept: "*/*" };
  expect(transport.send).toHaveBeenLastCalledWith({ ...request, headers }, deadline);
  const theirs = { ...request, headers: { "user-agent": "their own" } };
  await named.send(theirs, deadline);
  expect(transport.send).toHaveBeenLastCalledWith(theirs, deadline);
  named.preload?.();
  await named.close();
  expect([transport.preload.mock.calls.length, transport.close.mock.calls.length]).toEqual([1, 1]);
  expect(named.acceptEncoding).toBe("gzip");
});

it("takes a transport that neither preloads nor names codings", () => {
  const named = withUserAgent({ send: vi.fn(), close: vi.fn() }, app);
  named.preload?.();
  expect(named.acceptEncoding).toBeUndefined();
});

it("is named before the package by a transport that was opened with it", async () => {
  const seen: unknown[] = [];
  const fetch = async (_: string, init: { readonly headers?: unknown }) => {
    seen.push(new Headers(init.headers as Record<string, string>).get("user-agent"));
    return new Response("{}");
  };
  const options = { fetch, connections: 1, connectTimeoutMs: 1000 };
  await openTransport({ ...options, appInfo: app }).send(request, new Deadline({}));
  await openTransport(options).send(request, new Deadline({}));
  expect(seen).toEqual([userAgent, own]);
});

it.each([
  [undefined, "appInfo: it must be an object; got undefined"],
  [{ name: "a b", version: "1" }, "appInfo: name must be up to 100 letters, digits and characters such as - and ."],
  [{ name: "a" }, "appInfo: version must be up to 100 letters"],
  [{ ...app, homepage: "x" }, 'appInfo: unknown option "homepage"'],
])("refuses %j", (given, message) => {
  expect(() => parseAppInfo(given)).toThrow(ConfigError);
  const start = message.replace(/unknown option.*/, "unknown option");
  expect(() => parseAppInfo(given)).toThrow(new RegExp(`^${start.replaceAll(".", "\\.")}`));
  expect(() => parseAppInfo(given, "Owner: ")).toThrow(/^Owner: appInfo: /);
  expect(parseAppInfo(app)).toEqual(app);
});

it("exports the version of the package", () => {
  expect(version).toBe(JSON.parse(readFileSync("package.json", "utf8")).version);
});
