import { AuthenticationError, type CrossBorderClient, type HealthReport, type Logger } from "cross-border-payments";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { errorOf } from "../support/error-of.js";
import { grantsIn, harnesses } from "./harness.js";

const get = (client: CrossBorderClient) => client.paymentGateways.list({ size: 1 });

function summary({ ok, service, token, error }: HealthReport) {
  return { ok, service, token, code: error?.code };
}

describe.each(harnesses)("$name", ({ open }) => {
  it("checks a client by one unsigned read, after one login", async () => {
    const harness = await open();
    const report = await harness.client().check();
    expect(summary(report)).toEqual({ ok: true, service: "responding", token: "accepted", code: undefined });
    expect(report.durationMs).toBeGreaterThanOrEqual(report.latencyMs ?? Number.NaN);
    expect(harness.requests.map(({ name, query, isSigned }) => ({ name, query, isSigned }))).toEqual([
      { name: "token", query: "", isSigned: false },
      { name: "paymentGateways.list", query: "_size=1", isSigned: false },
    ]);
  });

  it("says that the token was refused, and leaves the next call to renew it", async () => {
    const harness = await open();
    const client = harness.client();
    await client.check();
    harness.revokeTokens();
    const report = await client.check();
    expect(summary(report)).toEqual({ ok: false, service: "responding", token: "refused", code: "http_401" });
    expect(report.error).toBeInstanceOf(AuthenticationError);
    expect(grantsIn(harness)).toHaveLength(1);
    expect((await client.check()).ok).toBe(true);
  });
});

const [{ open } = expect.unreachable()] = harnesses;

describe("client.withOptions", () => {
  it("shares the token, and has the headers, hooks, and logger that it is given", async () => {
    const harness = await open();
    const heard: string[] = [];
    const logger: Logger = { debug: () => heard.push("line"), warn() {}, error() {} };
    const client = harness.client({ on: { success: () => heard.push("client") } });
    const headers = { "x-batch": "nightly" };
    const derived = client.withOptions({ headers, on: { success: () => heard.push("derived") }, logger });
    await get(client);
    await get(derived);
    await derived.withOptions({ timeoutMs: 1000 }).payments.list();
    expect(heard).toEqual(["client", "line", "derived", "line", "derived"]);
    const calls = harness.requests.filter(({ name }) => name !== "token");
    expect(calls.map((request) => request.headers.get("x-batch"))).toEqual([null, "nightly", "nightly"]);
    expect(grantsIn(harness)).toHaveLength(1);
  });

  it("keeps each option that it is not given, or given as undefined", async () => {
    let isSilent = false;
    const harness = await open({
      onRequest: ({ name }) => (isSilent && name !== "token" ? new Promise(() => {}) : undefined),
    });
    const failure = vi.fn();
    const client = harness.client({ timeoutMs: 50, maxRetries: 0, on: { failure } });
    await get(client.withOptions({ timeoutMs: 10_000 }));
    isSilent = true;
    const derived = client.withOptions({ timeoutMs: undefined, on: undefined });
    expect(await errorOf(get(derived))).toMatchObject({ code: "timeout" });
    expect(failure).toHaveBeenCalledTimes(1);
  });

  it("closes only its own calls, and is closed with the client that it comes from", async () => {
    const harness = await open();
    const client = harness.client();
    const [one, other] = [client.withOptions({ maxRetries: 0 }), client.withOptions({ maxRetries: 0 })];
    await one.close();
    expect(await errorOf(get(one))).toMatchObject({ code: "client_closed" });
    await get(client);
    const underWay = get(other).then(({ items }) => items);
    await client.close();
    expect(await underWay).toEqual([]);
    expect(await errorOf(get(other))).toMatchObject({ code: "client_closed" });
  });

  it.each([[{ auth: {} }], [{ timeout: 1 }], [{ timeoutMs: 0 }], [{ headers: { authorization: "x" } }]])(
    "refuses %j",
    async (options) => {
      const client = (await open()).client();
      const refusal = { code: "invalid_config", message: expect.stringMatching(/^withOptions: /) };
      expect(() => client.withOptions(options as never)).toThrow(expect.objectContaining(refusal));
    },
  );
});

describe("CROSS_BORDER_LOG", () => {
  it.each([
    ["debug", ["debug"]],
    ["warn", []],
    ["off", []],
    ["", []],
  ])("of %j decides which lines of a call go to stderr", async (level, expected) => {
    vi.stubEnv("CROSS_BORDER_LOG", level);
    const written = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => {
      vi.unstubAllEnvs();
      written.mockRestore();
    });
    const harness = await open();
    await get(harness.client());
    const lines = written.mock.calls.map(([line]) => String(line));
    expect([...new Set(lines.map((line) => /^cross-border-payments (\w+): \w/.exec(line)?.[1]))]).toEqual(expected);
    await get(harness.client({ logger: { debug() {}, warn() {}, error() {} } }));
    expect(written).toHaveBeenCalledTimes(lines.length);
  });

  it("refuses any other value", async () => {
    vi.stubEnv("CROSS_BORDER_LOG", "verbose");
    onTestFinished(() => void vi.unstubAllEnvs());
    const harness = await open();
    expect(() => harness.client()).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });
});
