import { AuthenticationError, type HealthReport } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
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

  it("shows no record, token or password when it is printed", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.paymentGateways.create({
      institutionId: "alpha-bank",
      rsaPublicKeyBase64: signingKeysOf("gateway").publicKeyBase64,
    });
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

  it("throws where the client is closed", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.close();
    await expect(client.check()).rejects.toMatchObject({ code: "client_closed" });
  });
});
