import { expect, it, onTestFinished, vi } from "vitest";
import { createReporter } from "../../src/events/reporter.js";
import type { FlowContext } from "../../src/flows/flow-context.js";
import { GaugeReader } from "../../src/flows/gauges/flow-gauges.js";
import { timedJournal } from "../../src/flows/gauges/timed-journal.js";
import type { BacklogCount, FlowScope } from "../../src/flows/journal.js";
import { MemoryJournal } from "../../src/flows/memory-journal.js";
import { FlowCodec } from "../../src/flows/state/flow-codec.js";

const alpha = { service: "https://service.test", gateway: "alpha" };
const beta = { ...alpha, gateway: "beta" };
const elsewhere = { ...alpha, service: "https://old.test" };
const backlogOf = ({ service, gateway }: FlowScope, phase: string, flows: number, oldestMs = 0): BacklogCount => ({
  ...{ service, gateway, phase, flows, oldestMs },
  unowned: flows - 1,
});

/** What reads the gauges of a journal, by a clock that the test sets. */
function gaugesFixture(context: Partial<FlowContext> = {}) {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const journal = new MemoryJournal();
  const backlog = vi.spyOn(journal, "backlog");
  const client = { signingKeyId: async () => undefined, tokenHold: undefined };
  const codec = new FlowCodec(undefined, 900_000);
  const known = { journal, codec, client, scope: alpha, working: new Set(), ...context };
  return { journal, backlog, gauges: new GaugeReader(known as FlowContext) };
}

it("says what of its own gateway is open, at once, and what is settled, within a minute", async () => {
  const { journal, backlog, gauges } = gaugesFixture();
  const counts = vi.spyOn(journal, "counts").mockResolvedValue({ claimed: 9, paid: 4 });
  backlog.mockResolvedValue([
    ...[backlogOf(alpha, "claimed", 3, 70), backlogOf(alpha, "held", 2, 50), backlogOf(beta, "claimed", 5, 90)],
    ...[backlogOf(elsewhere, "unknown", 6, 80), backlogOf(elsewhere, "held", 7, 80)],
  ]);
  const none = { "funds-requested": 0, claimed: 0, unknown: 0, refused: 0, held: 0 };
  const expected = {
    phases: { ...none, quoted: 0, declined: 0, rejected: 0, paid: 4, claimed: 3, held: 2 },
    oldestMs: { ...none, claimed: 70, held: 50 },
    ...{ unowned: 3, stuck: 0, unreadable: 0, elsewhere: 13 },
  };
  expect((await gauges.read()).stored).toEqual(expected);
  await vi.advanceTimersByTimeAsync(5_000);
  backlog.mockResolvedValue([backlogOf(alpha, "held", 2, 50)]);
  const list = vi.spyOn(journal, "list");
  const now = { phases: { ...expected.phases, claimed: 0 }, oldestMs: { ...none, held: 50 }, elsewhere: 0 };
  expect((await gauges.read()).stored).toEqual({ ...expected, ...now, unowned: 1 });
  expect([backlog.mock.calls.length, counts.mock.calls.length, list.mock.calls.length]).toEqual([2, 1, 0]);
});

it("says what of each gateway is open where it has none", async () => {
  const { backlog, gauges } = gaugesFixture({ scope: { service: alpha.service } });
  backlog.mockResolvedValue([backlogOf(alpha, "claimed", 3), backlogOf(beta, "claimed", 5)]);
  expect((await gauges.read()).stored).toMatchObject({ phases: { claimed: 8 }, elsewhere: 0 });
});

it("adds up what this process has taken over, and says whether it requests tokens", async () => {
  const working = new Set([{ load: { flows: 3, queued: 1 } }, { load: { flows: 2, queued: 2 } }]);
  const idle = { working, circuitBreaker: undefined };
  const { gauges } = gaugesFixture(idle);
  const read = await gauges.read();
  expect(read).toMatchObject({ work: { flows: 5, queued: 3 }, isCircuitOpen: false });
  expect(read).not.toHaveProperty("tokenHold");
  const client = { tokenHold: { untilMs: 1 }, signingKeyId: async () => undefined };
  expect(await gaugesFixture({ client } as never).gauges.read()).toMatchObject({ tokenHold: client.tokenHold });
});

it.each<[string, () => Promise<never>, number, object]>([
  ["hangs", () => new Promise<never>(() => {}), 5_000, { message: "the journal did not respond within 5000 ms" }],
  ["throws no error", () => Promise.reject("away"), 0, { message: "the journal failed", cause: expect.any(Error) }],
  ["fails", () => Promise.reject(new RangeError("a bug")), 0, { name: "RangeError", message: "a bug" }],
])("says why a journal that %s can't be read, and leaves no timer behind", async (_, fail, afterMs, error) => {
  const { backlog, gauges } = gaugesFixture();
  backlog.mockImplementation(fail);
  const reading = gauges.read();
  await vi.advanceTimersByTimeAsync(afterMs);
  expect(await reading).toMatchObject({ error });
  expect(vi.getTimerCount()).toBe(0);
});

it("looks into all flows once more after the journal failed within a scan", async () => {
  const { journal, gauges } = gaugesFixture();
  for (const phase of ["funds-requested", "claimed"]) {
    const lease = { owner: "o", leaseMs: 1_000, nonce: "n" };
    await journal.begin(phase, alpha, { phase, settled: false, data: "?", evidence: "" }, lease);
  }
  const list = vi.spyOn(journal, "list");
  list.mockImplementation(async (query) => {
    if (query.phase === "claimed") throw new Error("away");
    return MemoryJournal.prototype.list.call(journal, query);
  });
  expect((await gauges.read()).error).toMatchObject({ message: "away" });
  list.mockRestore();
  expect((await gauges.read()).stored).toMatchObject({ unreadable: 2 });
});

it("measures how long each operation of a journal takes, where anybody wants to know", async () => {
  const { journal } = gaugesFixture();
  expect(timedJournal(journal, createReporter([]))).toBe(journal);
  vi.spyOn(journal, "read").mockImplementation(async () => void vi.advanceTimersByTime(7));
  vi.advanceTimersByTime(100);
  const told = vi.fn();
  await timedJournal(journal, createReporter([{ journal: told }])).read("k");
  expect(told).toHaveBeenCalledWith({ operation: "read", durationMs: 7 });
});
