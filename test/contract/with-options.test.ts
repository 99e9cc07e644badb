import type { CrossBorderClient, Logger } from "cross-border-payments";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { errorOf } from "../support/error-of.js";
import { harnesses } from "./harness.js";

const get = (client: CrossBorderClient) => client.paymentGateways.list({ size: 1 });

describe.each(harnesses)("client.withOptions with $name", ({ open }) => {
  it("shares the token, and has the headers, hooks, and logger that it is given", async () => {
    await using harness = await open();
    const heard: string[] = [];
    const logger: Logger = { debug: () => heard.push("line"), warn() {}, error() {} };
    const client = harness.client({ on: { success: () => heard.push("client") } });
    const derived = client.withOptions({
      headers: { "x-batch": "nightly" },
      on: { success: () => heard.push("derived") },
      logger,
    });
    await get(client);
    await get(derived);
    await derived.withOptions({ timeoutMs: 1000 }).payments.list();
    expect(heard).toEqual(["client", "line", "derived", "line", "derived"]);
    expect(harness.sandbox.tokenRequests).toHaveLength(1);
  });

  it("keeps each option that it is not given, or given as undefined", async () => {
    await using harness = await open();
    const heard: number[] = [];
    const client = harness.client({
      timeoutMs: 1,
      maxRetries: 0,
      on: { failure: ({ attempts }) => heard.push(attempts) },
    });
    await errorOf(get(client.withOptions({ timeoutMs: undefined, on: undefined })));
    expect(heard).toHaveLength(1);
    await get(client.withOptions({ timeoutMs: 10_000 }));
  });

  it("closes only its own calls, and is closed with the client that it comes from", async () => {
    await using harness = await open();
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

  it.each([
    [
      { auth: {} },
      'withOptions: unknown option "auth"; the options are timeoutMs, maxRetries, headers, validation, on',
    ],
    [{ timeout: 1 }, 'withOptions: unknown option "timeout". Did you mean "timeoutMs"?'],
    [{ timeoutMs: 0 }, "withOptions: timeoutMs must be"],
    [{ headers: { authorization: "x" } }, "withOptions: "],
  ])("refuses %j", async (options, message) => {
    await using harness = await open();
    expect(() => harness.client().withOptions(options as never)).toThrow(
      expect.objectContaining({ code: "invalid_config", message: expect.stringContaining(message) }),
    );
  });
});

describe("CROSS_BORDER_LOG", () => {
  it.each([
    ["debug", ["debug"]],
    ["info", []],
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
    const [{ open } = {}] = harnesses;
    if (open === undefined) throw new Error("there is no harness");
    await using harness = await open();
    await get(harness.client({ auth: { accessToken: () => "t" } })).catch(() => {});
    const lines = written.mock.calls.map(([line]) => String(line));
    expect([...new Set(lines.map((line) => /^cross-border-payments (\w+): \w/.exec(line)?.[1]))]).toEqual(expected);
    await get(
      harness.client({ auth: { accessToken: () => "t" }, logger: { debug() {}, warn() {}, error() {} } }),
    ).catch(() => {});
    expect(written).toHaveBeenCalledTimes(lines.length);
  });

  it("refuses any other value", async () => {
    vi.stubEnv("CROSS_BORDER_LOG", "verbose");
    onTestFinished(() => void vi.unstubAllEnvs());
    const [{ open } = {}] = harnesses;
    await using harness = await open?.();
    expect(() => harness?.client()).toThrow(expect.objectContaining({ code: "invalid_config" }));
  });
});
