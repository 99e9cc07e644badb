import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { callerTokenSource } from "../../src/auth/caller-token-source.js";
import { TokenError } from "../../src/errors/errors.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { errorOf, scriptedClient } from "./scripted-transport.js";

type Tokens = HttpClientOptions["tokens"];

function clientWith(tokens: Partial<Tokens>) {
  return scriptedClient([], { tokens: { current: () => "token", renew: async () => "other", ...tokens } });
}

it("asks the token source for as long as it is told, with the call's own options or the client's", async () => {
  const ensure = vi.fn<NonNullable<Tokens["ensure"]>>(async () => {});
  const { client, transport } = clientWith({ ensure });
  await client.ensureToken(1234, { maxRetries: 7 });
  expect(ensure.mock.lastCall).toEqual([1234, expect.anything(), 7]);
  expect(transport.sent).toEqual([]);
});

it("asks a caller's function once, as any call does, and tells of its failure", async () => {
  const accessToken = vi.fn(() => "token");
  const { client } = clientWith(callerTokenSource({ accessToken }));
  await client.ensureToken(1000);
  expect(accessToken).toHaveBeenCalledTimes(1);
  accessToken.mockImplementation(() => {
    throw new Error("no token today");
  });
  expect(await errorOf(client.ensureToken(1000))).toMatchObject({ code: "token_source_failed", effect: "none" });
});

it("turns the end of the call into its error, and reports failures", async () => {
  const ensure: Tokens["ensure"] = (_, deadline) => deadline.race(new Promise(() => {}));
  const { client, events } = clientWith({ ensure });
  expect(await errorOf(client.ensureToken(1000, { timeoutMs: 5 }))).toMatchObject({ code: "timeout", effect: "none" });
  expect(await errorOf(client.ensureToken(1000, { signal: AbortSignal.timeout(5) }))).toMatchObject({
    code: "aborted",
  });
  expect(events.failure.mock.calls.map(([event]) => [event.operation, event.code])).toEqual([
    ["accessToken", "timeout"],
    ["accessToken", "aborted"],
  ]);
});

it("throws the token source's own error as it is", async () => {
  const refused = new TokenError("the login was refused", { code: "login_refused" });
  const { client } = clientWith({ ensure: () => Promise.reject(refused) });
  expect(await errorOf(client.ensureToken(1000))).toBe(refused);
});

it("refuses options that a call would refuse, and a closed client", async () => {
  const { client } = clientWith({});
  expect(await errorOf(client.ensureToken(1000, { timeoutMs: 0 }))).toMatchObject({ code: "invalid_argument" });
  await client.close();
  expect(await errorOf(client.ensureToken(1000))).toMatchObject({ code: "client_closed" });
});

it("tells its base URL without a slash at its end", () => {
  const { client } = scriptedClient([], { origin: "https://service.example", basePath: "/base" });
  expect(client.baseUrl).toBe("https://service.example/base");
});

describe("by the clock, a token that is ensured", () => {
  const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

  beforeEach(async () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    await vi.advanceTimersByTimeAsync(60_000);
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["is had", () => wait(70)],
    ["is not had", () => wait(70).then(() => Promise.reject(new RangeError("no token")))],
  ])("leaves no timer behind when it %s", async (_, ensure) => {
    const running = Promise.allSettled([clientWith({ ensure }).client.ensureToken(1000)]);
    await vi.advanceTimersByTimeAsync(70);
    await running;
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["with the status of the identity server", { status: 401 }],
    ["without a status where there was none", {}],
  ])("is reported where it fails, %s", async (_, told) => {
    const refused = new TokenError("the login was refused", { code: "login_refused", ...told });
    const { client, events } = clientWith({ ensure: () => wait(70).then(() => Promise.reject(refused)) });
    const failing = errorOf(client.ensureToken(1000));
    await vi.advanceTimersByTimeAsync(70);
    await failing;
    const failed = { code: "login_refused", effect: "none", attempts: 0, durationMs: 70 };
    expect(events.failure.mock.calls).toStrictEqual([[{ operation: "accessToken", ...failed, ...told }]]);
  });
});
