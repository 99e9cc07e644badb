import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CircuitBreaker } from "../../src/flows/context.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "flow_circuit_open", effect: "none" });
    return false;
  }
}

/** `lost` and `answered` are responses, `pays` and `waits` whether a payment is let through, and a number is time. */
type Event = "lost" | "answered" | "pays" | "waits" | "begins" | "can't begin" | number;

const lost = (times: number) => Array<Event>(times).fill("lost");
const pauses = [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000];

it.each<[string, readonly Event[], ConstructorParameters<typeof CircuitBreaker>[0]?]>([
  ["opens after five payments in a row without a definite response", [...lost(4), "pays", "lost", "waits"]],
  ["stays closed while a definite response comes now and then", [...lost(4), "answered", ...lost(4), "pays"]],
  ["lets one payment through after the pause", [...lost(5), 29_999, "waits", 1, "pays", "waits"]],
  ["closes after a definite response", [...lost(5), 30_000, "pays", "answered", "pays", "pays", ...lost(4), "pays"]],
  [
    "lets flows begin after the pause, of which one is the probe",
    [...lost(5), "can't begin", 30_000, "begins", "begins", "pays", "can't begin", "waits"],
  ],
  [
    "pauses twice as long after each probe that fails, up to 10 min",
    [...lost(5), ...pauses.flatMap((ms): Event[] => [ms - 1, "waits", 1, "pays", "lost"])],
  ],
  ["doesn't count what was under way when it opened", [...lost(64), 30_000, "pays"]],
  [
    "lets another payment through if the first was never sent",
    [...lost(5), 30_000, "pays", 29_999, "waits", 1, "pays"],
  ],
  ["opens and pauses as it is told", [...lost(2), "waits", 100, "pays"], { opensAfter: 2, pauseMs: 100 }],
])("%s", (_, events, options) => {
  const breaker = new CircuitBreaker(options);
  for (const [index, event] of events.entries()) {
    const step = `step ${index}`;
    if (typeof event === "number") vi.advanceTimersByTime(event);
    else if (event === "lost" || event === "answered") breaker.note(event === "lost");
    else if (event === "pays" || event === "waits") {
      expect(
        passes(() => breaker.assertClosed()),
        step,
      ).toBe(event === "pays");
    } else {
      expect(
        passes(() => breaker.assertMayBegin()),
        step,
      ).toBe(event === "begins");
    }
  }
});

it("says for how long nothing is tried", () => {
  const breaker = new CircuitBreaker();
  for (const _ of lost(5)) breaker.note(true);
  vi.advanceTimersByTime(18_500);
  expect(() => breaker.assertClosed()).toThrow(/last 5 payments .* in 12 s/);
});
