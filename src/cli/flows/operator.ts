import { InvalidArgumentError } from "../../core/errors.js";
import type { DeskFlow } from "../../desk/desk-options.js";
import type { FlowContext } from "../../flows/context.js";
import type { Flow, Resolution } from "../../flows/core/state.js";
import { Driver } from "../../flows/driver.js";
import { FlowCall } from "../../flows/flow-call.js";
import {
  type FlowApproval,
  type FlowResolution,
  readApproval,
  readProposal,
  readResolution,
} from "../../flows/operate.js";
import { type FlowOperation, FlowPausedError, type ResolveAction, toResult } from "../../flows/outcome.js";
import { countFlows, heldFlows, readDetails } from "../../flows/status.js";
import { Exit, exitCodes, interruption, type Terminal } from "../terminal.js";
import { printableLines } from "../text.js";

/** What was stored, and its revision. */
export interface Stored {
  readonly flow: Flow;
  readonly revision: number;
}

/** What the commands and the desk do with flows. */
export interface Operator extends DeskFlow {
  resolve(key: string, action: ResolveAction, resolution: FlowResolution): Promise<Stored>;
  propose(key: string, action: ResolveAction, proposal: FlowResolution): Promise<Stored>;
  approve(key: string, approval: FlowApproval): Promise<Stored>;
  refuse(key: string, refusal: FlowApproval): Promise<Stored>;
}

export function operatorOf(context: FlowContext, terminal: Terminal): Operator {
  const store = (operation: FlowOperation, key: string, resolution: Resolution) =>
    storeDecision(context, operation, key, resolution, terminal);
  return {
    people: context.people,
    held: () => heldFlows(context),
    counts: () => countFlows(context),
    details: (key) => readDetails(context, key),
    async resolve(key, action, given) {
      const { decision, revision } = readResolution("resolve", action, given);
      if (context.people > 1) {
        throw new InvalidArgumentError("resolve: a decision takes two people: use flows propose and flows approve", {
          code: "flow_approval_needed",
        });
      }
      return store("resolve", key, { step: "decide", decision, ...(revision !== undefined && { revision }) });
    },
    propose: async (key, action, given) => store("propose", key, readProposal(action, given)),
    approve: async (key, given) => store("approve", key, readApproval("approve", given)),
    refuse: async (key, given) => store("refuse", key, readApproval("refuse", given)),
  };
}

/** The CLI's own money functions always fail, so the flow stops before money moves. The program that works on it continues. */
async function storeDecision(
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
    throw new Exit(exitCodes.interrupted);
  }
}
