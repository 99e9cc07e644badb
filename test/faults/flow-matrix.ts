/**
 * Every fault of the matrix, met by the requests of a flow over real sockets:
 *
 *     npx tsx test/faults/flow-matrix.ts
 *
 * `--record` keeps what was found for `npm run proof`.
 */
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { record, whatIsProved } from "../../tools/release/recorded.js";
import { describeForeign, type MarkCounts, reportMarks, sumOfMarks } from "../simulation/mark-report.js";
import { playAll } from "./calls.js";
import { type Mode, openFixture } from "./cell.js";
import { type Fault, faults } from "./faults.js";
import { type FlowCell, playFlow } from "./flow-cell.js";
import { points } from "./flow-happenings.js";
import { LoopLag } from "./loop-lag.js";

export interface FlowMatrixResult {
  readonly violations: readonly string[];
  readonly faults: number;
  readonly flows: number;
  /** Flows by how they ended. */
  readonly ends: Readonly<Record<string, number>>;
  readonly marks: MarkCounts;
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
      const missing = [...(isMet ? [] : ["no request met the fault"]), ...(rest.status ? [] : ["no outcome"])];
      const name = `${fault.name} (${mode}), ${point}`;
      if (!isAlone && violations.length === 0 && missing.length > 0) throw new Error(`${name}: ${missing.join(", ")}`);
      return { ...rest, violations: [...violations, ...missing].map((text) => `${name}: ${text}`) };
    });
    const marks = sumOfMarks(played.map((flow) => flow.marks));
    const ends = sumOfMarks(played.map(({ status = "no outcome" }) => ({ [status]: 1 })));
    const violations = [...played.flatMap((flow) => flow.violations), ...describeForeign(reportMarks(marks))];
    return { violations, faults: met.length, flows: cells.length, ends, marks };
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
  const { values } = parseArgs({ options: { record: { type: "boolean", default: false } } });
  // As they are now.
  const sources = whatIsProved();
  const { violations, faults, flows, ends, marks } = await runFlowMatrix(true);
  const { reached } = reportMarks(marks);
  for (const text of violations) console.log(text);
  const shown = Object.entries(ends).map(([end, count]) => `${end} ${count}`);
  console.log(
    `${flows} flows, ${faults} faults: ${shown.join(", ")}; marks ${reached}; laws broken ${violations.length}`,
  );
  if (violations.length > 0) return 1;
  if (!values.record) return 0;
  record({
    name: "Flows that meet each fault of the matrix",
    statement:
      "No payment was made twice, no money taken and forgotten, or given back for a payment; no error that said none was untrue; each flow came to its end.",
    bound:
      "one flow for each fault of connections, bytes, bodies and statuses, at each kind of request of a flow, once and until it is over; over sockets and a journal in memory.",
    figures: { faults, flows, ...ends, "marks that were reached": reached },
    command: "npx tsx test/faults/flow-matrix.ts",
    ...sources,
    way: "fault matrix",
    marks,
  });
  return 0;
}

// Broken sockets may be left, that nobody waits for.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  process.exit(await main());
