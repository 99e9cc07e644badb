import { describe, expect, it, vi } from "vitest";
import type { RequestOptions } from "../../src/api/request-options.js";
import { TokenError } from "../../src/core/errors.js";
import type { HealthReport, HttpClientOptions } from "../../src/http/http-client.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import {
  errorOf,
  failing,
  json,
  ownError,
  type Step,
  scriptedClient,
  unsent,
  useFakeTime,
} from "./scripted-transport.js";

const { list } = paymentGateways;
const signedOperations = new Set([list.name]);

function summary({ ok, service, token, error }: HealthReport) {
  return { ok, service, token, code: error?.code };
}

useFakeTime();

const well = { ok: true, service: "responding", token: "accepted" };

it("says how long a list took with and without the token", async () => {
  await vi.advanceTimersByTimeAsync(1000);
  const current = () => new Promise<string>((resolve) => void setTimeout(resolve, 30, "token-1"));
  const response = { status: 200, headers: {}, text: "[]" };
  const send = () => new Promise<typeof response>((resolve) => void setTimeout(resolve, 40, response));
  const transport = { send, close: async () => {} };
  const { client } = scriptedClient([], { tokens: { current, renew: current }, transport });
  const checking = client.checkHealth(list);
  await vi.advanceTimersByTimeAsync(70);
  expect(await checking).toStrictEqual({ ...well, latencyMs: 40, durationMs: 70 });
});

it("takes the service's own 403 for knowing the caller", async () => {
  const { client } = scriptedClient([ownError(403)]);
  expect(await client.checkHealth(list)).toStrictEqual({ ...well, latencyMs: 0, durationMs: 0 });
});

describe("a check asks", () => {
  it.each([
    [new Set<string>(), undefined],
    [signedOperations, "signature of /gw/payment-gateways "],
  ])("for one record, and takes it as it comes, signed: %j", async (signedOperations, signature) => {
    const options = { validation: "strict", signedOperations } as const;
    const { client, transport, events } = scriptedClient([json([{ id: 5 }])], options);
    expect(await client.checkHealth(list)).toMatchObject(well);
    expect(events.response).toHaveBeenCalledOnce();
    expect(transport.sent).toMatchObject([{ method: "GET", path: "/gw/payment-gateways?_size=1" }]);
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe(signature);
  });

  it.each<[string, number, RequestOptions | undefined, number]>([
    ["5 seconds at most", 30_000, undefined, 5000],
    ["no longer than the client's calls", 3000, undefined, 3000],
    ["as long as it is told", 30_000, { timeoutMs: 9000 }, 9000],
  ])("for %s", async (_, timeoutMs, options, endMs) => {
    const { client } = scriptedClient(["hang"], { timeoutMs });
    const checking = client.checkHealth(list, options);
    await vi.advanceTimersByTimeAsync(endMs);
    expect(await checking).toMatchObject({ service: "unreachable", durationMs: endMs, error: { code: "timeout" } });
  });
});

describe("a check finds of service and token", () => {
  const never = new Promise<never>(() => {});
  const refused = failing.tokens.current;
  const tokensOf = (current: HttpClientOptions["tokens"]["current"]) => ({ tokens: { current, renew: refused } });

  it.each<[string, Step, HealthReport["service"], HealthReport["token"], string, Partial<HttpClientOptions>?]>([
    ["a 401", ownError(401), "responding", "refused", "http_401"],
    ["the service's own 429", ownError(429), "responding", "unknown", "http_429"],
    ["a firewall's 403", { status: 403, text: "<html>" }, "failing", "unknown", "http_403"],
    ["a 503", { status: 503 }, "failing", "unknown", "http_503"],
    ["a page", { text: "<html>" }, "failing", "unknown", "unexpected_response"],
    ["a refused connection", unsent, "unreachable", "unknown", "connection_failed"],
    ["a refused login", {}, "not_asked", "unavailable", "login_refused", tokensOf(refused)],
    ["no token", {}, "not_asked", "unavailable", "timeout", tokensOf((deadline) => deadline.race(never))],
    ["no signature", {}, "not_asked", "unknown", "signing_failed", { signedOperations, signer: failing.signer }],
    ["no library", {}, "not_asked", "unknown", "invalid_config", { schemas: failing.schemas }],
  ])("after %s", async (_, step, service, token, code, overrides) => {
    const { client, transport } = scriptedClient([step], overrides);
    const checking = client.checkHealth(list, { timeoutMs: 300 });
    await vi.advanceTimersByTimeAsync(300);
    const report = await checking;
    expect(summary(report)).toEqual({ ok: false, service, token, code });
    expect(report.latencyMs).toBe(service === "responding" || service === "failing" ? 0 : undefined);
    expect(transport.sent).toHaveLength(service === "not_asked" ? 0 : 1);
  });

  it("a refused token where no other could be had", async () => {
    const { client, tokens } = scriptedClient([ownError(401)]);
    tokens.renew.mockRejectedValue(new TokenError("no token", { code: "token_rejected" }));
    const report = await client.checkHealth(list, { maxRetries: 1 });
    expect(summary(report)).toEqual({ ok: false, service: "responding", token: "refused", code: "token_rejected" });
  });
});

describe("a check throws", () => {
  it("that it can't sign the list", async () => {
    const { client } = scriptedClient([], { signedOperations, signer: undefined });
    expect(await errorOf(client.checkHealth(list))).toMatchObject({ code: "invalid_config", effect: "none" });
  });

  it.each([
    ["the caller's own signal", { signal: AbortSignal.abort() }, "AbortedError"],
    ["an option of a single read", { query: {} }, "InvalidArgumentError"],
  ])("%s", async (_, options, name) => {
    const { client, transport } = scriptedClient([json([])]);
    expect(await errorOf(client.checkHealth(list, options as RequestOptions))).toMatchObject({ name });
    expect(transport.sent).toEqual([]);
  });
});
