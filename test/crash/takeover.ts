import { setTimeout as pause } from "node:timers/promises";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import type { Verdict } from "./laws.js";

export interface TakeoverOptions extends JournalChoice {
  readonly leaseMs: number;
  readonly times: number;
}

export interface Takeovers {
  /** From the death of the owner until another process, which waits for the outcome of the same key, runs the flow. */
  readonly byRunMs: readonly number[];
  /** The same, until a process that recovers four times in a lease runs it. */
  readonly byRecoverMs: readonly number[];
  readonly verdict: Verdict;
}

/** Kills owners while they take the money, and measures the time until another process asks for it. */
export async function measureTakeovers(options: TakeoverOptions): Promise<Takeovers> {
  const { leaseMs, times } = options;
  const calls = new Map<string, ((atMs: number) => void)[]>();
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    fault: () => "none",
    bank: {
      declines: () => false,
      fault: () => "none",
      onCall(kind, key) {
        const listener = kind === "take" ? calls.get(key)?.shift() : undefined;
        listener?.(performance.now());
        // The owner's call gets no response: the owner is killed meanwhile.
        return (calls.get(key)?.length ?? 0) > 0 ? new Promise<void>(() => {}) : undefined;
      },
    },
  });
  const expectCall = (key: string): Promise<number> =>
    new Promise((resolve) => calls.set(key, [...(calls.get(key) ?? []), resolve]));

  const once = async (key: string, by: "run" | "recover"): Promise<number> => {
    const asked = expectCall(key);
    const askedAgain = expectCall(key);
    await using owner = await fixture.newWorker().ready();
    let tellSettled = () => {};
    const settled = new Promise<void>((resolve) => {
      tellSettled = resolve;
    });
    await using heir = await fixture
      .newWorker({}, (report) => {
        if (report.type === "settled") tellSettled();
      })
      .ready();
    owner.send({ type: "do", tasks: [{ key, way: "run" }] });
    await asked;
    heir.send(
      by === "run" ? { type: "do", tasks: [{ key, way: "run" }] } : { type: "keep-recovering", everyMs: leaseMs / 4 },
    );
    // At a random time between two renewals of its lease.
    await pause(leaseMs * (0.5 + Math.random()));
    const killedMs = performance.now();
    owner.signal("SIGKILL");
    const takenMs = (await askedAgain) - killedMs;
    await settled;
    return takenMs;
  };

  const keysOf = (by: string) => Array.from({ length: times }, (_, index) => `${by} ${index}`);
  const byRunMs: number[] = [];
  for (const key of keysOf("run")) byRunMs.push(await once(key, "run"));
  const byRecoverMs: number[] = [];
  for (const key of keysOf("recover")) byRecoverMs.push(await once(key, "recover"));
  return { byRunMs, byRecoverMs, verdict: await fixture.judge([...keysOf("run"), ...keysOf("recover")]) };
}
