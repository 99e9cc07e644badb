import { expect, it } from "vitest";
import { Choices } from "../../src/simulation/choices.js";
import { drawProfile, type Profile } from "../../src/simulation/profile.js";
import { SimulatedProcess } from "../../src/simulation/simulated-process.js";
import { World } from "../../src/simulation/world.js";
import { clock, sleep } from "../../src/timing/clock.js";

const calm = drawProfile(Choices.replay([]), { flows: 1, processes: 1, hasFalseFacts: false });

/** @param faults the choices: which event meets what. */
function worldWith(changes: Partial<Profile>, faults: readonly number[]): World {
  return new World(Choices.replay(faults), { ...calm, ...changes }, true);
}

it("lets hours pass in no time, in the order of the events, on both clocks of a process", async () => {
  const world = worldWith({}, []);
  const process = new SimulatedProcess("one");
  process.wallOffsetMs = 500;
  const seen: number[] = [];
  world.plan(0, "start", process, () => {
    const startMs = clock.monotonicMs();
    void sleep(3_600_000).then(() => seen.push(clock.monotonicMs() - startMs, clock.wallMs() - world.nowMs));
    void sleep(5).then(() => seen.push(5));
  });
  await world.run(() => false, 100);
  expect(seen).toEqual([5, 3_600_000, 500]);
});

it("delivers to a paused process later, and to a killed one never", async () => {
  // Drawn in this order: killed? If not: paused? for how long (the kind, then quarters of a lease)?
  const world = worldWith({ kills: 100, pauses: 100 }, [0, 999, 0, 3, 0, 0, 999]);
  const process = new SimulatedProcess("one");
  const killed: string[] = [];
  world.onKilled = ({ name }) => killed.push(name);
  const seen: string[] = [];
  const startMs = world.nowMs;
  world.plan(1, "first", process, () => seen.push(`first after ${world.nowMs - startMs}`));
  world.plan(2, "second", process, () => seen.push("second"));
  world.plan(3, "of the world", undefined, () => seen.push("of the world"));
  await world.run(() => false, 100);
  expect(seen).toEqual(["of the world", `first after ${1 + calm.leaseMs}`]);
  expect(killed).toEqual(["one"]);
});

it("stops the monotonic clock of a suspended process, and its timers with it", async () => {
  const world = worldWith({ suspends: 100 }, [0, 999, 0, 3]);
  const process = new SimulatedProcess("one");
  const seen: number[] = [];
  const startMs = world.nowMs;
  world.plan(0, "start", process, () => {
    const beganMs = clock.monotonicMs();
    void sleep(100).then(() => seen.push(world.nowMs - startMs, clock.monotonicMs() - beganMs));
  });
  world.plan(50, "suspended here", process, () => {});
  await world.run(() => false, 100);
  expect(seen).toEqual([100 + calm.leaseMs, 100]);
});

it.each([
  [undefined, "stored", 1],
  ["before", "failed", 0],
  ["after", "failed", 1],
] as const)("does a call whose fault is %s: %s", async (fault, outcome, times) => {
  const world = worldWith({}, []);
  const process = new SimulatedProcess("one");
  let done = 0;
  let came = "";
  world.plan(0, "start", process, () => {
    const execute = () => {
      done += 1;
      return "stored";
    };
    void world
      .remote(process, { label: "a write", fault, isSlow: false, execute, toError: () => new Error("failed") })
      .then(
        (value) => {
          came = value;
        },
        (error: Error) => {
          came = error.message;
        },
      );
  });
  await world.run(() => false, 100);
  expect([came, done]).toEqual([outcome, times]);
});

it("waits for what a user's own function does for real", async () => {
  const world = worldWith({}, []);
  const process = new SimulatedProcess("one");
  const seen: string[] = [];
  world.plan(0, "start", process, () => {
    const execute = async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      seen.push("done for real");
      return "taken";
    };
    void world.remote(process, {
      label: "takeFunds",
      fault: undefined,
      isSlow: false,
      execute,
      toError: () => new Error(),
      isReal: true,
    });
  });
  world.plan(5, "later", undefined, () => seen.push("later"));
  await world.run(() => false, 100);
  expect(seen).toEqual(["done for real", "later"]);
});
