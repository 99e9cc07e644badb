import { AbortedError, AuthenticationError, type HealthReport, InvalidArgumentError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { openClosedPort } from "../wire/closed-port.js";
import { type Harness, harnesses } from "./harness.js";

/** What the service was asked for, token requests excluded. */
function asked({ sandbox }: Harness) {
  return sandbox.requests
    .filter(({ operation }) => operation !== "token")
    .map(({ method, path, query, signed }) => ({ method, path, query, signed }));
}

function summary({ ok, service, token, error }: HealthReport) {
  return { ok, service, token, code: error?.code };
}

/** The service's own way to say no. */
function refusal(status: number): Response {
  return Response.json({ error: "no", message: "no" }, { status });
}

describe.each(harnesses)("client.check() with $name", ({ open }) => {
  it("reads one record unsigned, after one login, and says that all is well", async () => {
    await using harness = await open();
    const report = await harness.client().check();
    expect(summary(report)).toEqual({ ok: true, service: "responding", token: "accepted", code: undefined });
    expect(report.latencyMs).toBeGreaterThan(0);
    expect(report.durationMs).toBeGreaterThanOrEqual(report.latencyMs ?? Number.NaN);
    expect(asked(harness)).toEqual([{ method: "GET", path: "/payment-gateways", query: "_size=1", signed: false }]);
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("uses the token that is there", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.check();
    await client.check();
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("shows no record, token or password when it is printed", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.paymentGateways.create({ institutionId: "alpha-bank", rsaPublicKeyBase64: "cHVibGlj" });
    const text = JSON.stringify([
      await client.check(),
      await harness.client({ auth: { accessToken: () => "token-of-mine" } }).check(),
    ]);
    expect(text).not.toMatch(/alpha-bank|token-of-mine/);
    expect(text).not.toContain(harness.sandbox.credentials.password);
  });

  it("says that the token was refused, and leaves the next call to renew it", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.check();
    harness.sandbox.revokeTokens();
    const report = await client.check();
    expect(summary(report)).toEqual({ ok: false, service: "responding", token: "refused", code: "http_401" });
    expect(report.error).toBeInstanceOf(AuthenticationError);
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
    expect((await client.check()).ok).toBe(true);
  });

  it("says that a login was refused, and does not ask the service", async () => {
    await using harness = await open();
    if (!("password" in harness.options.auth)) throw new Error("the harness has no password");
    const client = harness.client({ auth: { ...harness.options.auth, password: "wrong" } });
    const report = await client.check();
    expect(summary(report)).toEqual({ ok: false, service: "not_asked", token: "unavailable", code: "login_refused" });
    expect(report.latencyMs).toBeUndefined();
    expect(asked(harness)).toEqual([]);
  });

  it.each([
    ["a 503", () => new Response("away", { status: 503 }), "failing", "http_503"],
    ["a page of a proxy's", () => new Response("<html>", { status: 200 }), "failing", "unexpected_response"],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: "/login" } }), "failing", "http_302"],
    ["a firewall's 403", () => new Response("<html>", { status: 403 }), "failing", "http_403"],
    ["the service's own 404", () => refusal(404), "responding", "http_404"],
    ["the service's own 429", () => refusal(429), "responding", "http_429"],
    ["a broken connection", () => Response.error(), "unreachable", "connection_failed"],
  ] as const)("finds %s, once", async (_, respond, service, code) => {
    await using harness = await open({ onRequest: ({ operation }) => (operation === "token" ? undefined : respond()) });
    expect(summary(await harness.client().check())).toEqual({ ok: false, service, token: "unknown", code });
    expect(asked(harness)).toHaveLength(1);
  });

  it("takes the service's own 403 for a word of one who knows the caller", async () => {
    await using harness = await open({
      onRequest: ({ operation }) => (operation === "token" ? undefined : refusal(403)),
    });
    const report = await harness.client().check();
    expect(summary(report)).toEqual({ ok: true, service: "responding", token: "accepted", code: undefined });
  });

  it("ends in time when no response comes", async () => {
    const silence = new Promise<undefined>(() => {});
    await using harness = await open({ onRequest: ({ operation }) => (operation === "token" ? undefined : silence) });
    const report = await harness.client().check({ timeoutMs: 300 });
    expect(summary(report)).toEqual({ ok: false, service: "unreachable", token: "unknown", code: "timeout" });
  });

  it("ends in time when no token comes", async () => {
    const silence = new Promise<undefined>(() => {});
    await using harness = await open({ onRequest: ({ operation }) => (operation === "token" ? silence : undefined) });
    const report = await harness.client().check({ timeoutMs: 300 });
    expect(summary(report)).toEqual({ ok: false, service: "not_asked", token: "unavailable", code: "timeout" });
  });

  it("throws what the caller did: its signal, a closed client, a wrong option", async () => {
    await using harness = await open();
    const client = harness.client();
    await expect(client.check({ signal: AbortSignal.abort() })).rejects.toBeInstanceOf(AbortedError);
    await expect(client.check({ timeoutMs: -1 })).rejects.toBeInstanceOf(InvalidArgumentError);
    await client.close();
    await expect(client.check()).rejects.toMatchObject({ code: "client_closed" });
    expect(harness.sandbox.requests).toEqual([]);
  });
});

it("says that nobody listens", async () => {
  const [overSockets] = harnesses;
  await using harness = await (overSockets as (typeof harnesses)[number]).open();
  const closed = await openClosedPort();
  const report = await harness.client({ baseUrl: `http://127.0.0.1:${closed.port}` }).check();
  closed.close();
  expect(summary(report)).toEqual({
    ok: false,
    service: "unreachable",
    token: "unknown",
    code: "connection_failed",
  });
});
