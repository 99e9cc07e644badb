import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import type { Deadline } from "../../src/core/deadline.js";
import { TimeoutError } from "../../src/core/errors.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import {
  broken,
  calls,
  errorOf,
  json,
  ownError,
  paymentRecord,
  type Step,
  scriptedClient,
  unsent,
  useFakeTime,
} from "./scripted-transport.js";

useFakeTime();

/** The record of a payment has every field that is looked at in the others. */
const well = json(paymentRecord());
const never = new Promise<never>(() => {});
const neverToken = {
  tokens: {
    current: (deadline: Deadline) => deadline.race(never),
    renew: (_: string, deadline: Deadline) => deadline.race(never),
  },
};
const neverSigned: Partial<HttpClientOptions> = {
  signer: { sign: () => never, describe: async (path) => ({ path, bodySha256: "", publicKeySha256: "" }) },
};

/** Advances the clock, and returns what the call settles with. */
async function within<T>(ms: number, call: PromiseLike<T>): Promise<T> {
  const settled = Promise.resolve(call);
  settled.catch(() => {});
  await vi.advanceTimersByTimeAsync(ms);
  return settled;
}

interface Phase {
  readonly what: string;
  readonly steps?: readonly Step[];
  readonly overrides?: Partial<HttpClientOptions>;
  readonly call?: keyof typeof calls;
  readonly effect?: "none" | "possible";
  readonly sent: number;
}

const renewsNever = { tokens: { current: () => "token-1", renew: neverToken.tokens.renew } };
const phases: readonly Phase[] = [
  { what: "waits for its token", overrides: neverToken, sent: 0 },
  { what: "waits for a renewed token", steps: [{ status: 401 }], overrides: renewsNever, sent: 1 },
  { what: "waits for its signature", overrides: neverSigned, sent: 0 },
  { what: "is queued", steps: ["queue"], sent: 1 },
  { what: "is queued after a lost response", steps: [broken, "queue"], call: "update", effect: "possible", sent: 2 },
  { what: "waits for the response to a read", steps: ["hang"], call: "read", sent: 1 },
  ...(["update", "create", "signed"] as const).map((call): Phase => {
    return { what: `waits for the response to: ${call}`, steps: ["hang"], call, effect: "possible", sent: 1 };
  }),
];

it.each(phases.flatMap((phase) => (["TimeoutError", "AbortedError"] as const).map((name) => ({ ...phase, name }))))(
  "ends a call that $what: $name",
  async ({ name, steps = [], overrides, call = "signed", effect = "none", sent }) => {
    const { client, transport } = scriptedClient(steps, overrides);
    const abort = new AbortController();
    const running = calls[call](client, { timeoutMs: 5000, signal: abort.signal });
    const settled = vi.fn();
    running.then(settled, settled);
    await vi.advanceTimersByTimeAsync(4999);
    expect(settled).not.toHaveBeenCalled();
    if (name === "AbortedError") abort.abort(new Error("a reason of the caller's own"));
    const error = await within(name === "AbortedError" ? 0 : 1, errorOf(running));
    expect(error).toMatchObject({ effect, attempts: sent });
    expect((effect === "none" ? error : Object(error.cause)).name).toBe(name);
    expect(transport.sent).toHaveLength(sent);
  },
);

describe("the deadline", () => {
  it("is the client's where the call has none", async () => {
    const { client } = scriptedClient(["hang"], { timeoutMs: 700 });
    const running = errorOf(calls.read(client));
    expect(await within(700, running)).toBeInstanceOf(TimeoutError);
  });
});

describe("the caller's signal", () => {
  it("ends the wait between two attempts, and nothing is sent after it", async () => {
    const { client, transport } = scriptedClient([unsent, well], { random: () => 1 });
    const abort = new AbortController();
    const running = calls.signed(client, { signal: abort.signal });
    await vi.advanceTimersByTimeAsync(50);
    abort.abort();
    expect(await within(0, errorOf(running))).toMatchObject({ name: "AbortedError", effect: "none", attempts: 1 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(transport.sent).toHaveLength(1);
  });

  it("sends nothing, and asks for no token and no signature, where it is aborted before", async () => {
    const { client, transport, tokens, signer } = scriptedClient([well]);
    const error = await within(0, errorOf(calls.signed(client, { signal: AbortSignal.abort() })));
    expect(error).toMatchObject({ name: "AbortedError", effect: "none" });
    expect([transport.sent, tokens.current.mock.calls, signer.sign.mock.calls]).toEqual([[], [], []]);
  });

  it.each<[string, readonly Step[]]>([
    ["is tried again", [unsent, unsent, well]],
    ["fails", [json({}, 400)]],
    ["is aborted", ["hang"]],
  ])("is listened to once, and neither after a call that %s nor for one that is refused", async (_, steps) => {
    const { client } = scriptedClient(steps);
    const abort = new AbortController();
    const running = calls.read(client, { signal: abort.signal }).catch(() => {});
    await vi.advanceTimersByTimeAsync(10);
    if (steps[0] === "hang") {
      expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
      abort.abort();
    }
    await running;
    await within(0, errorOf(calls.read(client, { signal: abort.signal, maxRetries: -1 })));
    expect(getEventListeners(abort.signal, "abort")).toEqual([]);
  });
});

describe("Retry-After", () => {
  it.each([
    ["7", 7000],
    [new Date(Date.UTC(2026, 0, 1, 0, 0, 9)).toUTCString(), 9000],
  ])("of %s is waited for in full", async (value, waitMs) => {
    const { client, transport, events } = scriptedClient([ownError(429, { "retry-after": value }), well]);
    const running = calls.signed(client);
    await vi.advanceTimersByTimeAsync(waitMs - 1);
    expect(transport.sent).toHaveLength(1);
    await within(1, running);
    expect(transport.sent).toHaveLength(2);
    expect(transport.sent[1]).toEqual(transport.sent[0]);
    expect(events.retry).toHaveBeenCalledWith({
      operation: "payments.create",
      attempt: 1,
      reason: "429",
      delayMs: waitMs,
    });
  });

  it.each<[string, Step, number]>([
    ["the client's own wait", { status: 503 }, 100],
    ["the service's", ownError(429, { "retry-after": "31" }), 30_000],
  ])("is not waited for beyond the deadline: %s", async (_, step, timeoutMs) => {
    const { client, transport } = scriptedClient([step, well], { random: () => 1 });
    const error = await within(0, errorOf(calls.read(client, { timeoutMs })));
    expect(error).toMatchObject({ code: `http_${Object(step).status}`, effect: "none", attempts: 1 });
    expect(Reflect.get(error, "retryAfterMs")).toBe(timeoutMs === 100 ? undefined : 31_000);
    expect(transport.sent).toHaveLength(1);
  });

  it("never makes the wait shorter than the client's own", async () => {
    const { client, transport } = scriptedClient([{ status: 503, headers: { "retry-after": "0" } }, well], {
      random: () => 1,
    });
    const running = calls.read(client);
    await vi.advanceTimersByTimeAsync(499);
    expect(transport.sent).toHaveLength(1);
    await within(1, running);
  });
});
