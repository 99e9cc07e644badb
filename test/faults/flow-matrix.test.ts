import { afterAll, beforeAll, expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { playAll, playLimitMs } from "./calls.js";
import { type Fixture, type Mode, openFixture } from "./cell.js";
import { type Fault, faults } from "./faults.js";
import { type FlowCell, playFlow, points } from "./flow-cell.js";
import { LoopLag } from "./loop-lag.js";

const lag = new LoopLag();
let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture(lag);
});
afterAll(async () => {
  lag.stop();
  await fixture.close();
});

/** A flow ends its calls itself, so that the faults of calls that are ended are none of its own. */
const met = faults.filter(({ phase, abortAfterMs }) => phase === undefined && abortAfterMs === undefined);

it(
  "pays once at most, and ends each flow truly, whatever fault a request of it meets",
  async () => {
    const ends = new Set<string | undefined>();
    const violations = await playAll(met.flatMap(cellsOf), async (cell, isAlone) => {
      const { violations, isMet, status, isWaiting } = await playFlow(fixture, { ...cell, isAlone });
      const missing = [...(isMet ? [] : ["no request met the fault"]), ...(status || isWaiting ? [] : ["no outcome"])];
      const name = `${cell.fault.name} (${cell.mode}), ${cell.point}`;
      if (!isAlone && violations.length === 0 && missing.length > 0) throw new Error(`${name}: ${missing.join(", ")}`);
      ends.add(status);
      return [...violations, ...missing].map((text) => `${name}: ${text}`);
    });
    expect(violations.flat()).toEqual([]);
    // Flows that all end in one way prove little.
    expect([...ends]).toEqual(expect.arrayContaining(["held", "paid", "rejected"]));
  },
  playLimitMs,
);

/** `CBP_THOROUGH=1`: each fault at each kind of request, always and once; otherwise at one: every second of them at the payment. */
function cellsOf(fault: Fault, index: number): readonly FlowCell[] {
  const modes: readonly Mode[] = fault.always === true ? ["always"] : ["always", "once"];
  const all = points.flatMap((point) => modes.map((mode) => ({ fault, point, mode })));
  if (isThorough) return all;
  const few = all.filter(({ point }) => (point === "payment") === (index % 2 === 0));
  return [few[index % few.length]].filter((cell) => cell !== undefined);
}
