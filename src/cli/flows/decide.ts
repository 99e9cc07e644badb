import { InvalidArgumentError } from "../../core/errors.js";
import type { FlowContext } from "../../flows/context.js";
import type { Flow, Resolution } from "../../flows/core/state.js";
import { Driver } from "../../flows/driver.js";
import { FlowCall } from "../../flows/flow-call.js";
import { FlowPausedError } from "../../flows/outcome.js";
import { type FlowOperation, toResult } from "../../flows/reports.js";
import { Interrupted } from "../ask-secret.js";
import { interruption } from "../interruption.js";
import { printableLines } from "../printable.js";
import type { Terminal } from "../terminal.js";

/** What was stored, and its revision. */
export interface Stored {
  readonly flow: Flow;
  readonly revision: number;
}

/**
 * Stores what an operator decided. The command's own money functions always fail, so the flow stops before money moves, and the
 * program that works on it continues.
 */
export async function decide(
  context: FlowContext,
  operation: FlowOperation,
  key: string,
  resolution: Resolution,
  { stderr }: Terminal,
): Promise<Stored> {
  using stop = interruption();
  try {
    const call = new FlowCall({ stop: stop.signal, patienceMs: 0 });
    const driven = await new Driver(context, key, call).run({ kind: "resolve", ...resolution });
    const { result, flow, revision } = driven;
    const isLeft = "paused" in result && (flow?.phase === "refused" || flow?.phase === "funds-requested");
    if (!isLeft) toResult(operation, key, driven);
    if (flow === undefined) throw new Error(`${operation} stored nothing`);
    return { flow, revision };
  } catch (error) {
    if (!stop.signal.aborted || !(error instanceof FlowPausedError)) throw error;
    stderr.write(`cross-border: ${printableLines(error.message)}\n`);
    throw new Interrupted();
  }
}

/** @throws {InvalidArgumentError} `flow_approval_needed` */
export function assertDecidesAlone({ people }: FlowContext): void {
  if (people === 1) return;
  throw new InvalidArgumentError("resolve: a decision takes two people: use flows propose and flows approve", {
    code: "flow_approval_needed",
  });
}
