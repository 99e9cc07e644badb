import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { RequestOptions } from "../../src/api/request-options.js";
import { ConfigError, InvalidArgumentError, SigningError, TokenError } from "../../src/core/errors.js";
import type { HealthReport } from "../../src/http/health.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { Schemas } from "../../src/http/schema.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import { broken, errorOf, json, ownError, type Step, scriptedClient, unsent } from "./scripted-transport.js";

const { list } = paymentGateways;
const signedList = new Set([list.name]);

function summary({ ok, service, token, error }: HealthReport) {
  return { ok, service, token, code: error?.code };
}

beforeEach(async () => {
  // What is loaded with the first check: the time of these tests is not that of a disk.
  await Promise.all([new Schemas().load(), import("../../src/http/health.js")]);
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
});

afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

describe("a check finds all well", () => {
  const well = { ok: true, service: "responding", token: "accepted" };

  it("where the list comes, and says how long that took with and without the token", async () => {
    await vi.advanceTimersByTimeAsync(1000);
    const current = () => new Promise<string>((resolve) => void setTimeout(resolve, 30, "token-1"));
    const response = { status: 200, headers: {}, text: "[]" };
    const send = () => new Promise<typeof response>((resolve) => void setTimeout(resolve, 40, response));
    const { client } = scriptedClient([], {
      tokens: { current, renew: current },
      transport: { send, close: async () => {} },
    });
    const checking = client.checkHealth(list);
    await vi.advanceTimersByTimeAsync(70);
    expect(await checking).toStrictEqual({ ...well, latencyMs: 40, durationMs: 70 });
  });

  it("where the service itself says that this list may not be read: it knows the caller", async () => {
    const { client } = scriptedClient([ownError(403)]);
    expect(await client.checkHealth(list)).toStrictEqual({ ...well, latencyMs: 0, durationMs: 0 });
  });
});

describe("a check asks", () => {
  it("for one record, and takes it as it comes", async () => {
    const { client, transport, signer } = scriptedClient([json([{ id: 5 }])], { validation: "strict" });
    expect(await client.checkHealth(list)).toMatchObject({ ok: true, service: "responding", token: "accepted" });
    expect(transport.sent.map(({ method, path }) => `${method} ${path}`)).toEqual(["GET /gw/payment-gateways?_size=1"]);
    expect(signer.sign).not.toHaveBeenCalled();
  });

  it("with a signature where the client signs the list", async () => {
    const { client, transport } = scriptedClient([json([])], { signedOperations: signedList });
    expect(await client.checkHealth(list)).toMatchObject({ ok: true });
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toContain("signature of /gw/payment-gateways");
  });

  it("once more where the service fails and it is told to", async () => {
    const { client, transport } = scriptedClient([{ status: 503 }]);
    const checking = client.checkHealth(list, { maxRetries: 1 });
    await vi.runAllTimersAsync();
    expect(await checking).toMatchObject({ ok: false, service: "failing" });
    expect(transport.sent).toHaveLength(2);
  });

  it.each<[string, number, RequestOptions | undefined, number]>([
    ["5 seconds at most", 30_000, undefined, 5000],
    ["no longer than the client's calls", 3000, undefined, 3000],
    ["as long as it is told", 30_000, { timeoutMs: 9000 }, 9000],
  ])("for %s", async (_, timeoutMs, options, endMs) => {
    const { client } = scriptedClient(["hang"], { timeoutMs });
    const settled = vi.fn();
    const checking = client.checkHealth(list, options);
    checking.then(settled, settled);
    await vi.advanceTimersByTimeAsync(endMs - 1);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(await checking).toMatchObject({ service: "unreachable", durationMs: endMs, error: { code: "timeout" } });
  });
});

describe("a check that got a response", () => {
  const notFound = { error: "no", message: "no" };
  it.each<[string, Step, Pick<HealthReport, "service" | "token">, string]>([
    ["a 401", ownError(401), { service: "responding", token: "refused" }, "http_401"],
    ["a 401 of somebody else", { status: 401 }, { service: "responding", token: "refused" }, "http_401"],
    ["the service's own 404", json(notFound, 404), { service: "responding", token: "unknown" }, "http_404"],
    ["the service's own 429", ownError(429), { service: "responding", token: "unknown" }, "http_429"],
    ["a firewall's 403", { status: 403, text: "<html>" }, { service: "failing", token: "unknown" }, "http_403"],
    ["a 503", { status: 503 }, { service: "failing", token: "unknown" }, "http_503"],
    ["a redirect", { status: 302 }, { service: "failing", token: "unknown" }, "http_302"],
    ["a page", { text: "<html>" }, { service: "failing", token: "unknown" }, "unexpected_response"],
  ])("says of %s whose it is, and why it is not well", async (_, step, finding, code) => {
    const { client, transport } = scriptedClient([step]);
    const report = await client.checkHealth(list);
    expect(summary(report)).toEqual({ ok: false, ...finding, code });
    expect(report.latencyMs).toBe(0);
    expect(transport.sent).toHaveLength(1);
  });

  it("says that the token was refused where no other could be had", async () => {
    const { client, tokens } = scriptedClient([ownError(401)]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    const report = await client.checkHealth(list, { maxRetries: 1 });
    expect(summary(report)).toEqual({ ok: false, service: "responding", token: "refused", code: "token_rejected" });
  });
});

describe("a check that got no response", () => {
  it.each<[string, Step, string]>([
    ["nobody listens", unsent, "connection_failed"],
    ["the connection breaks", broken, "connection_failed"],
    ["the service keeps silent", "hang", "timeout"],
  ])("calls the service unreachable where %s", async (_, step, code) => {
    const { client } = scriptedClient([step]);
    const checking = client.checkHealth(list, { timeoutMs: 300 });
    await vi.advanceTimersByTimeAsync(300);
    const report = await checking;
    expect(summary(report)).toEqual({ ok: false, service: "unreachable", token: "unknown", code });
    expect(report).not.toHaveProperty("latencyMs");
  });

  const never = new Promise<never>(() => {});
  const refused = () => Promise.reject(new TokenError("no token", { code: "login_refused" }));
  it.each<[string, HttpClientOptions["tokens"]["current"], string]>([
    ["was refused", refused, "login_refused"],
    ["did not come", (deadline) => deadline.race(never), "timeout"],
  ])("did not ask the service where the token %s", async (_, current, code) => {
    const { client, transport } = scriptedClient([json([])], { tokens: { current, renew: refused } });
    const checking = client.checkHealth(list, { timeoutMs: 300 });
    await vi.advanceTimersByTimeAsync(300);
    expect(summary(await checking)).toEqual({ ok: false, service: "not_asked", token: "unavailable", code });
    expect(transport.sent).toEqual([]);
  });

  const noSignature = () => Promise.reject(new SigningError("the signer failed"));
  it.each<[string, HttpClientOptions["signer"], string]>([
    ["can't be made", { sign: noSignature, describe: noSignature }, "signing_failed"],
    ["needs a key that the client has not", undefined, "invalid_config"],
  ])("says nothing of the token where the list is signed and its signature %s", async (_, signer, code) => {
    const { client, transport } = scriptedClient([json([])], { signer, signedOperations: signedList });
    const report = await client.checkHealth(list);
    expect(summary(report)).toEqual({ ok: false, service: "not_asked", token: "unknown", code });
    expect(transport.sent).toEqual([]);
  });
});

it("says nothing of service or token where a file of the package can't be loaded, and has the error", async () => {
  const schemas = new Schemas();
  const missing = new ConfigError("what reads records can't be loaded");
  vi.spyOn(schemas, "load").mockRejectedValue(missing);
  const { client, transport } = scriptedClient([json([])], { schemas });
  const report = await client.checkHealth(list);
  expect(summary(report)).toEqual({ ok: false, service: "not_asked", token: "unknown", code: "invalid_config" });
  expect(report.error).toBe(missing);
  expect(transport.sent).toEqual([]);
});

describe("a check throws what says nothing of service or token", () => {
  it("the caller's own signal", async () => {
    const { client } = scriptedClient(["hang"]);
    const abort = new AbortController();
    const checking = errorOf(client.checkHealth(list, { signal: abort.signal }));
    await vi.advanceTimersByTimeAsync(10);
    abort.abort();
    expect(await checking).toMatchObject({ name: "AbortedError", code: "aborted" });
  });

  it.each([
    ["a wrong option", { timeoutMs: -1 }],
    ["an option of a single read", { query: {} }],
  ])("%s", async (_, options) => {
    const { client, transport } = scriptedClient([json([])]);
    expect(await errorOf(client.checkHealth(list, options as RequestOptions))).toBeInstanceOf(InvalidArgumentError);
    expect(transport.sent).toEqual([]);
  });
});

it("ends before a client that is closed meanwhile", async () => {
  const { client, transport } = scriptedClient([json([])]);
  const checking = client.checkHealth(list);
  await client.close();
  expect(transport.sent).toHaveLength(1);
  expect(await checking).toMatchObject({ ok: true });
});
