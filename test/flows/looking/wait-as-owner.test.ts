import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { FlowContext, OwnedFlow } from "../../../src/flows/flow-context.js";
import {
  afterLook,
  hastyLooks,
  type LookWait,
  longestLeaseMs,
  reliedOnLagMs,
  waitAsOwner,
  wholeWaitLeftMs,
  wholeWaitMs,
} from "../../../src/flows/looking/wait-as-owner.js";
import type { AskedWait, Claim, Waits } from "../../../src/flows/state/flow-state.js";
import { errorOf } from "../results.js";

const leaseMs = 60_000;
const context = { leaseMs, readBackDelayMs: 1000, service: {} } as FlowContext;
const long = { aloneMs: 1e9, togetherMs: 1e9, betweenMs: 0 };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1e6);
});

interface Waiting extends Partial<LookWait> {
  /** For how long the owner has had the flow, and since when its claim is refused. */
  readonly hadMs: number;
  readonly refusedMsAgo?: number;
  readonly waits?: Waits;
  /** What the wait ends with after 30 ms. */
  readonly stop?: Error;
  readonly askedWait?: AskedWait;
}

function wait({ hadMs, refusedMsAgo, waits, stop, askedWait, ...more }: Waiting) {
  const paused: number[] = [];
  const nowMs = performance.now();
  const owned = {
    lease: { ownedSinceMs: nowMs - hadMs, journalNowMs: () => 0 },
    ...(refusedMsAgo !== undefined && { refusedAtMs: nowMs - refusedMsAgo }),
    call: {
      pause: async (ms: number) => {
        paused.push(ms);
        vi.advanceTimersByTime(stop === undefined ? ms : 30);
        if (stop !== undefined) throw stop;
      },
    },
  } as unknown as OwnedFlow;
  const state = { name: "the flow", claims: [], ...(waits && { waits }) };
  return { paused, waited: waitAsOwner(context, owned, state, { ...long, ...more }, askedWait) };
}

describe("a look is due", () => {
  it.each<[string, boolean, Waiting]>([
    ["a proof, once its owner has had the flow alone for long enough", true, { aloneMs: 1000, hadMs: 1000 }],
    [
      "no proof, once all owners together have waited for long enough",
      false,
      { togetherMs: 7, waits: { ms: 7, looks: 0 }, hadMs: 0 },
    ],
    ["a proof, where both is so", true, { aloneMs: 5, togetherMs: 7, waits: { ms: 7, looks: 0 }, hadMs: 5 }],
    ["no proof, where it proves nothing in any case", false, { aloneMs: undefined, togetherMs: 0, hadMs: 1e6 }],
    [
      "a proof, once enough was waited since the last one",
      true,
      { aloneMs: 0, betweenMs: 7, waits: { ms: 7, looks: 0 }, hadMs: 0 },
    ],
  ])("as %s", async (_, isProof, waiting) => {
    const { paused, waited } = wait(waiting);
    expect(await waited).toEqual({ isDue: true, isProof });
    expect(paused).toEqual([]);
  });
});

describe("a part of the wait", () => {
  it.each<[string, number, Waiting]>([
    ["is short at first", 50, { hadMs: 0 }],
    ["doubles the time that its owner has had the flow", 300, { hadMs: 300 }],
    ["counts from when the newest claim was refused", 200, { hadMs: 300, refusedMsAgo: 200 }],
    ["counts from when the owner got the flow, where that was later", 200, { hadMs: 200, refusedMsAgo: 300 }],
    ["is at most a third of a lease", 20_000, { hadMs: 50_000 }],
    ["ends when the look proves something", 1, { aloneMs: 1000, hadMs: 999 }],
    [
      "ends when enough was waited since the last look",
      10,
      { aloneMs: 0, betweenMs: 17, waits: { ms: 7, looks: 0 }, hadMs: 300 },
    ],
    ["ends when the look is due in any case", 3, { togetherMs: 10, waits: { ms: 7, looks: 0 }, hadMs: 300 }],
  ])("%s: %d ms", async (_, ms, waiting) => {
    const { paused, waited } = wait(waiting);
    const state = { name: "the flow", claims: [], waits: { ms: (waiting.waits?.ms ?? 0) + ms, looks: 0 } };
    expect(await waited).toEqual({ isDue: false, state });
    expect(paused).toEqual([ms]);
  });

  it("is stored also where it was ended early, with what ended it", async () => {
    const stop = new Error("the process ends");
    const { waited } = wait({ hadMs: 300, waits: { ms: 7, looks: 2 }, stop });
    expect(await waited).toEqual({
      ...{ isDue: false, error: stop },
      state: { name: "the flow", claims: [], waits: { ms: 37, looks: 2 } },
    });
  });

  it("is none where the service asks for more than anybody waits", async () => {
    const { waited, paused } = wait({ hadMs: 300, askedWait: { sinceMs: 0, forMs: leaseMs + 1 } });
    expect(await errorOf(waited)).toMatchObject({ code: "flow_throttled" });
    expect(paused).toEqual([]);
  });

  it("comes after what the service asked for", async () => {
    const { waited, paused } = wait({ hadMs: 0, askedWait: { sinceMs: 0, forMs: 500 } });
    expect(await waited).toMatchObject({ isDue: false, state: { waits: { ms: 1000 } } });
    expect(paused).toEqual([500, 500]);
  });
});

it("counts the looks that no owner had waited for alone, and begins to wait anew after each look", () => {
  const waits = { ms: 5, looks: 2 };
  expect(afterLook({ waits, claims: [] }, true)).toEqual({ ms: 0, looks: 2 });
  expect(afterLook({ waits, claims: [] }, false)).toEqual({ ms: 0, looks: 3 });
  expect(afterLook({ claims: [] }, false)).toEqual({ ms: 0, looks: 1 });
  expect([hastyLooks({ waits, claims: [] }), hastyLooks({ claims: [] })]).toEqual([2, 0]);
});

it("relies on the longest lease of any owner, and on the list to lag for no longer than it is said to", () => {
  const claims = [500, 90_000, 70_000].map((ms) => ({ claimedAtMs: 1000, sendByMs: 1000 + ms })) as unknown as Claim[];
  const [none, all, first] = [{ claims: [] }, { claims }, { claims: claims.slice(0, 1) }];
  expect([none, all, first].map((state) => longestLeaseMs(context, state))).toEqual([leaseMs, 90_000, leaseMs]);
  expect([10, 80_000].map((ms) => longestLeaseMs(context, { ...first, leaseMs: ms }))).toEqual([leaseMs, 80_000]);
  const lagging = (listedWithinMs: number) => ({ ...context, service: { listedWithinMs } });
  const lags = [context, lagging(5), lagging(3000)];
  expect(lags.map(reliedOnLagMs)).toEqual([1000, 1000, 3000]);
  expect(lags.map((one) => wholeWaitMs(one, all))).toEqual([91_000, 91_000, 93_000]);
  const lease = { ownedSinceMs: performance.now() - 400 } as never;
  expect(wholeWaitLeftMs(context, lease, all)).toBe(90_600);
});
