import { describe, expect, it, onTestFinished, vi } from "vitest";
import { nextDelayMs } from "../../src/core/retry.js";
import { RetryBudget } from "../../src/http/context.js";
import { Schemas } from "../../src/http/schema.js";
import { calls, errorOf, json, paymentRecord, type Step, scriptedClient } from "./scripted-transport.js";

const well = json(paymentRecord());

it("begins to load its libraries when it is made, once, and sends nothing", async () => {
  const preload = vi.fn();
  const tokens = { current: () => "token-1", renew: async () => "token-2", preload };
  const { client, transport } = scriptedClient([well], { tokens });
  expect(transport.sent).toEqual([]);
  await calls.read(client);
  client.derive({ timeoutMs: 1000, maxRetries: 0, headers: {}, validation: "off", reporter: client.reporter });
  expect(preload).toHaveBeenCalledOnce();
});

it("needs a source of tokens that is told of nothing", async () => {
  const tokens = { current: () => "token-1", renew: async () => "token-2" };
  const { client } = scriptedClient([{ status: 401 }], { tokens });
  expect(await errorOf(calls.read(client, { maxRetries: 0 }))).toMatchObject({ code: "http_401", attempts: 1 });
});

it("waits with closing until the last call under way has ended", async () => {
  const schemas = new Schemas();
  await schemas.load();
  const waiting: ((token: string) => void)[] = [];
  const wait = () => new Promise<string>((resolve) => waiting.push(resolve));
  const { client, transport } = scriptedClient([well], { schemas, tokens: { current: wait, renew: wait } });
  const running = [calls.read(client), calls.read(client)];
  await new Promise(setImmediate);
  const closed = vi.fn();
  const closing = client.close().then(closed);
  for (const one of running) {
    await new Promise(setImmediate);
    expect([closed.mock.calls, transport.closed]).toEqual([[], 0]);
    waiting.shift()?.("token-1");
    await one;
  }
  await closing;
  await client.close();
  expect(transport.closed).toBe(1);
});

describe("the retry budget", () => {
  it.each<[string, Step]>([
    ["of failures", { status: 503 }],
    ["of a proxy that answers 200", json({ status: "maintenance" })],
  ])("ends the retries of all calls in a long outage %s", async (_, step) => {
    const { client, transport } = scriptedClient([step], { budget: new RetryBudget() });
    for (let index = 0; index < 3000; index++) await errorOf(calls.read(client));
    expect(transport.sent.length).toBeLessThanOrEqual(3300);
    expect(transport.sent.length).toBeGreaterThan(3000);
  });

  it("has one retry again after five successes, and after a second, and never more than at first", async () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const budget = new RetryBudget(1);
    const { client } = scriptedClient([well], { budget });
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    for (let success = 0; success < 4; success++) await calls.read(client);
    expect(budget.take()).toBe(false);
    await calls.read(client);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    vi.advanceTimersByTime(1001);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
    for (let success = 0; success < 50; success++) budget.giveBack();
    vi.advanceTimersByTime(10_000);
    expect([budget.take(), budget.take()]).toEqual([true, false]);
  });

  it("never refuses a caller that makes one call after the other, however long the outage", () => {
    vi.useFakeTimers({ toFake: ["performance"] });
    onTestFinished(() => void vi.useRealTimers());
    const budget = new RetryBudget();
    for (let call = 0; call < 1000; call++) {
      for (let retry = 0; retry < 4; retry++) {
        vi.advanceTimersByTime(nextDelayMs(retry, () => 0.5));
        expect(budget.take()).toBe(true);
      }
    }
  });
});
