/**
 * Every fault of the matrix, met by the requests of a flow over real sockets:
 *
 *     npx tsx test/faults/flow-matrix.ts
 */
import { pathToFileURL } from "node:url";
import { playAll } from "./calls.js";
import { type Mode, openFixture } from "./cell.js";
import { type Fault, faults } from "./faults.js";
import { type FlowCell, playFlow, points } from "./flow-cell.js";
import { LoopLag } from "./loop-lag.js";

export interface FlowMatrixResult {
  readonly violations: readonly string[];
  readonly faults: number;
  readonly flows: number;
  /** Flows by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
}

/** A flow ends its calls itself, so that the faults of calls that are ended are none of its own. */
const met = faults.filter(({ phase, abortAfterMs }) => phase === undefined && abortAfterMs === undefined);

/** @param isWhole each fault at each kind of request, always and once; otherwise at one: every second of them at the payment. */
export async function runFlowMatrix(isWhole: boolean): Promise<FlowMatrixResult> {
  const cells = met.flatMap((fault, index) => cellsOf(fault, index, isWhole));
  const lag = new LoopLag();
  const fixture = await openFixture(lag);
  try {
    const played = await playAll(cells, async ({ fault, point, mode }, isAlone) => {
      const { violations, isMet, ...rest } = await playFlow(fixture, { fault, point, mode, isAlone });
      const missing = [
        ...(isMet ? [] : ["no request met the fault"]),
        ...(rest.status || rest.isWaiting ? [] : ["no outcome"]),
      ];
      const name = `${fault.name} (${mode}), ${point}`;
      if (!isAlone && violations.length === 0 && missing.length > 0) throw new Error(`${name}: ${missing.join(", ")}`);
      return { ...rest, violations: [...violations, ...missing].map((text) => `${name}: ${text}`) };
    });
    const ends: Record<string, number> = {};
    for (const { status = "waiting" } of played) ends[status] = (ends[status] ?? 0) + 1;
    return { violations: played.flatMap((flow) => flow.violations), faults: met.length, flows: cells.length, ends };
  } finally {
    lag.stop();
    await fixture.close();
  }
}

function cellsOf(fault: Fault, index: number, isWhole: boolean): readonly FlowCell[] {
  const modes: readonly Mode[] = fault.always === true ? ["always"] : ["always", "once"];
  const all = points.flatMap((point) => modes.map((mode) => ({ fault, point, mode })));
  if (isWhole) return all;
  const few = all.filter(({ point }) => (point === "payment") === (index % 2 === 0));
  return [few[index % few.length]].filter((cell) => cell !== undefined);
}

async function main(): Promise<number> {
  const { violations, faults, flows, ends } = await runFlowMatrix(true);
  for (const text of violations) console.log(text);
  const shown = Object.entries(ends).map(([end, count]) => `${end} ${count}`);
  console.log(`${flows} flows, ${faults} faults: ${shown.join(", ")}; laws broken ${violations.length}`);
  return violations.length > 0 ? 1 : 0;
}

// Broken sockets may be left, that nobody waits for.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.exit(await main());
