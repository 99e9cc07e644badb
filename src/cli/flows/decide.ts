import type { Command } from "commander";
import { InvalidArgumentError } from "../../core/errors.js";
import { decisionText, proposalOf } from "../../desk/history-texts.js";
import type { FlowContext } from "../../flows/context.js";
import { decisionEffects } from "../../flows/core/reasons.js";
import type { Flow, Resolution } from "../../flows/core/state.js";
import { Driver } from "../../flows/driver.js";
import { FlowCall } from "../../flows/flow-call.js";
import { type FlowResolution, readApproval, readProposal, readResolution } from "../../flows/operate.js";
import {
  type FlowDecision,
  type FlowOperation,
  FlowPausedError,
  type ResolveAction,
  toResult,
} from "../../flows/outcome.js";
import type { FlowDetails } from "../../flows/status.js";
import type { Payment } from "../../resources/payments.js";
import { parseObject } from "../../wire/response.js";
import { readText } from "../files.js";
import { action, examples } from "../help.js";
import { Exit, exitCodes, interruption, print, printJson, type Terminal, UsageError } from "../terminal.js";
import { printableLines } from "../text.js";
import { parseCount } from "../values.js";
import {
  addJournalOptions,
  type JournalOptions,
  neededToDecide,
  type OpenFlows,
  openFlows,
  readFlow,
} from "./journal.js";
import { showFlow, showLines } from "./show.js";

interface DecisionOptions extends JournalOptions {
  readonly by: string;
  readonly why: string;
  readonly payment?: string;
  readonly withoutProof?: true;
  readonly revision?: number;
  readonly yes?: true;
  readonly json?: true;
}

/** What was stored, and its revision. */
interface Stored {
  readonly flow: Flow;
  readonly revision: number;
}

export function addDecisions(flows: Command, terminal: Terminal): void {
  const where = "--journal payments.db --config gateway.json";
  const example = `--by olga --why ticket-4711 ${where}`;
  const resolve = flows
    .command("resolve <key> <action>")
    .summary("store what an operator decided about a held flow")
    .description(
      "ACTION is found (the payment was made), release (it was not and won't be: the money is given back), or resend (it was not: it is sent again). Without --yes it prints what would happen and what you must know for certain. It never moves money: after release and resend, the program that works on these flows (flow.work) does that.",
    )
    .action(action<DecisionOptions>((...given) => decideAlone(terminal, ...given)));
  addGrounds(resolve);
  examples(resolve, `flows resolve order-42 found ${example}`, `flows resolve order-42 release ${example} --yes`);
  const propose = flows
    .command("propose <key> <action>")
    .summary("propose a decision, for another person to approve")
    .description(
      "ACTION is found, release, or resend, as with flows resolve. The proposal replaces an earlier one. Without --yes it prints what the decision would do, and stores nothing.",
    )
    .action(action<DecisionOptions>((...given) => proposeDecision(terminal, ...given)));
  addGrounds(propose);
  examples(propose, `flows propose order-42 release ${example} --yes`);
  const approve = flows
    .command("approve <key>")
    .summary("approve what another person proposed")
    .description(
      "As flows resolve does, it searches for the payment, stores the decision, and moves no money. The person who proposed it can't approve it. Without --yes it prints the proposal and its revision. With --yes it needs that revision, so that you approve what you saw.",
    )
    .option("--yes", "do it")
    .action(action<DecisionOptions>((...given) => approveProposal(terminal, ...given)));
  addWho(approve);
  examples(approve, `flows approve order-42 --by petra --revision 6 ${where} --yes`);
  const refuse = flows
    .command("refuse <key>")
    .summary("refuse a proposal, or take it back")
    .description("The flow stays held, and something else can be proposed.")
    .action(action<DecisionOptions>((...given) => refuseProposal(terminal, ...given)));
  addWho(refuse);
  examples(refuse, `flows refuse order-42 --by petra ${where}`);
}

function addWho(command: Command): void {
  command
    .requiredOption("--by <name>", "who decides; stored")
    .option("--revision <number>", "of the flow that you saw; if it has changed, nothing is stored", parseCount)
    .option("--json", "print JSON");
  addJournalOptions(command);
}

function addGrounds(command: Command): void {
  addWho(command);
  command
    .requiredOption("--why <text>", "why; stored")
    .option("--payment <file>", "for found: the service's record, as JSON; - for stdin")
    .option("--without-proof", "for release and resend: even if the list can't be read, or shows a possible match")
    .option("--yes", "do it");
}

async function decideAlone(terminal: Terminal, options: DecisionOptions, key = "", word = ""): Promise<void> {
  const what = readAction(word);
  const { decision, revision } = readResolution("resolve", what, await resolutionOf(what, options, terminal));
  await using flows = await openFlows(options, terminal, options.yes ? neededToDecide : ["gatewayId"]);
  const flow = await readHeld(flows, key);
  assertDecidesAlone(flows.context);
  if (!options.yes) return showPlan(flow, what, options, terminal);
  const resolution = { step: "decide", decision, ...(revision !== undefined && { revision }) } as const;
  showDecided(key, what, await decide(flows.context, "resolve", key, resolution, terminal), options, terminal);
}

async function proposeDecision(terminal: Terminal, options: DecisionOptions, key = "", word = ""): Promise<void> {
  const what = readAction(word);
  const given = await resolutionOf(what, options, terminal);
  await using flows = await openFlows(options, terminal, ["gatewayId"]);
  const flow = await readHeld(flows, key);
  const proposal = readProposal(what, { ...given, revision: given.revision ?? flow.revision });
  if (!options.yes) return showPlan(flow, what, options, terminal);
  const { revision } = await decide(flows.context, "propose", key, proposal, terminal);
  const { payment: _, ...shown } = proposal.decision;
  if (options.json) return printJson(terminal, { key, step: "proposed", ...shown, revision });
  showLines(Object.entries({ key, proposed: decisionText(proposal.decision), revision: String(revision) }), terminal);
  print(terminal, "", "Another person approves it with flows approve, or refuses it with flows refuse.");
}

async function approveProposal(terminal: Terminal, options: DecisionOptions, key = ""): Promise<void> {
  const { by, revision, yes } = options;
  if (yes && revision === undefined) {
    throw new UsageError("--yes needs --revision <number>: the one that flows approve prints without --yes");
  }
  await using flows = await openFlows(options, terminal, yes ? neededToDecide : ["gatewayId"]);
  const flow = await readFlow(flows, key);
  const { action: what } = proposed(flow);
  const approval = readApproval("approve", { by, revision: revision ?? flow.revision });
  if (!yes) return showPlan(flow, what, options, terminal);
  showDecided(key, what, await decide(flows.context, "approve", key, approval, terminal), options, terminal);
}

async function refuseProposal(terminal: Terminal, options: DecisionOptions, key = ""): Promise<void> {
  const { by, json } = options;
  await using flows = await openFlows(options, terminal, ["gatewayId"]);
  const flow = await readFlow(flows, key);
  const { action: what } = proposed(flow);
  const refusal = readApproval("refuse", { by, revision: options.revision ?? flow.revision });
  const { revision } = await decide(flows.context, "refuse", key, refusal, terminal);
  if (json) return printJson(terminal, { key, step: "refused", action: what, by, revision });
  showLines(Object.entries({ key, refused: `${what}, by ${by}` }), terminal);
}

/** @throws {InvalidArgumentError} `flow_not_proposed` */
function proposed(flow: FlowDetails): FlowDecision {
  const proposal = proposalOf(flow);
  if (proposal !== undefined) return proposal;
  throw new InvalidArgumentError(`nothing is proposed for the flow with the key ${JSON.stringify(flow.key)}`, {
    code: "flow_not_proposed",
    effect: "possible",
  });
}

/**
 * Stores what an operator decided. The CLI's own money functions always fail, so the flow stops before money moves, and the
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
    throw new Exit(exitCodes.interrupted);
  }
}

/** @throws {InvalidArgumentError} `flow_approval_needed` */
export function assertDecidesAlone({ people }: FlowContext): void {
  if (people === 1) return;
  throw new InvalidArgumentError("resolve: a decision takes two people: use flows propose and flows approve", {
    code: "flow_approval_needed",
  });
}

/** @throws {InvalidArgumentError} `flow_not_held` */
async function readHeld(flows: OpenFlows, key: string): Promise<FlowDetails> {
  const flow = await readFlow(flows, key);
  if (flow.isWaiting) return flow;
  const message = `the flow with the key ${JSON.stringify(key)} is ${flow.phase}. Only held flows can be resolved`;
  throw new InvalidArgumentError(message, { code: "flow_not_held", effect: "possible" });
}

function readAction(action: string): ResolveAction {
  const actions = Object.keys(decisionEffects);
  if (!actions.includes(action))
    throw new UsageError(`ACTION is one of ${actions.join(", ")}, not ${JSON.stringify(action)}`);
  return action as ResolveAction;
}

async function resolutionOf(
  action: ResolveAction,
  { by, why, revision, payment: file, withoutProof }: DecisionOptions,
  terminal: Terminal,
): Promise<FlowResolution> {
  if (file === undefined) return { by, why, revision, withoutProof };
  if (action !== "found") throw new UsageError("--payment is for found only");
  const payment = parseObject(await readText(file, terminal));
  if (payment === undefined) throw new InvalidArgumentError(`${file} is not a payment's record in JSON`);
  return { by, why, revision, withoutProof, payment: payment as unknown as Payment };
}

function showPlan(flow: FlowDetails, action: ResolveAction, { json }: DecisionOptions, terminal: Terminal): void {
  const { needs, does, follows } = decisionEffects[action];
  if (json) printJson(terminal, { key: flow.key, action, isDecided: false, needs, does, follows, flow });
  else {
    showFlow(flow, terminal);
    print(terminal, "");
    showLines([...Object.entries({ action, needs, does }), ["then", follows]], terminal);
    print(terminal, "", "Nothing was changed. Run it with --yes to decide.");
  }
}

function showDecided(
  key: string,
  action: ResolveAction,
  { flow }: Stored,
  { json }: DecisionOptions,
  terminal: Terminal,
): void {
  const { phase } = flow;
  const { follows } = decisionEffects[action];
  const paymentId = flow.phase === "paid" ? flow.payment.id : undefined;
  if (json) printJson(terminal, { key, action, isDecided: true, phase, paymentId, follows });
  else showLines([...Object.entries({ key, phase, payment: paymentId }), ["then", follows]], terminal);
}
