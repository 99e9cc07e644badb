import { instant } from "../../desk/history-texts.js";
import { InvalidArgumentError } from "../../errors/errors.js";
import { checkResolution } from "../../flows/check-resolution.js";
import {
  approveFlow,
  assertName,
  checkApproval,
  checkRefusal,
  proposeFlow,
  refuseFlow,
  type StoredDecision,
} from "../../flows/decide-in-pairs.js";
import type { FlowDetails, WaitingProposal } from "../../flows/flow-details.js";
import { andLeave } from "../../flows/resolve-flow.js";
import { command, exitCodes } from "../command.js";
import { openClient } from "../open-client.js";
import { type Settings, settingOptions } from "../settings.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { journalOptions, openFlows } from "./journal.js";
import {
  asOperator,
  assertAction,
  assertResolvable,
  decisionOptions,
  neededToDecide,
  readResolution,
  showDecided,
  showPlan,
} from "./resolve-command.js";
import { readFlow } from "./show-command.js";
import { showLines } from "./view.js";

const { by, why, yes } = decisionOptions;
const { isRequired: _, ...whyIfGiven } = why;
const json = { type: "boolean", help: "as JSON" } as const;
const proposal = {
  type: "string",
  value: "HASH",
  help: "the proposal that is meant, as flows show has it; any that waits unless given",
} as const;

/** What the commands need that send nothing. */
const offline = { needed: ["gatewayId"] as const };

export const flowsProposeCommand = command({
  name: "flows propose",
  summary: "Proposes a decision about a held or stuck flow, for another person to approve.",
  description:
    "ACTION is found, release or resend, as with flows resolve. What is proposed is stored, with what was to be seen of the flow, and nothing else happens. Without --yes it says what the decision would do, and stores nothing.",
  operands: ["KEY", "ACTION"],
  options: { ...decisionOptions, ...journalOptions, json },
  examples: [
    "flows propose order-42 release --by olga --why ticket-4711 --journal payments.db --config gateway.json --yes",
  ],
  async run({ values, operands: [key = "", action = ""] }, terminal) {
    assertAction(action);
    const checked = checkResolution(action, await readResolution(action, values, terminal), "propose");
    assertName("propose", values.by);
    await using flows = await openFlows(values, terminal, offline);
    const flow = await readFlow(flows, key);
    assertResolvable(flow);
    if (!values.yes) {
      showPlan(flow, action, values.json === true, terminal);
      return exitCodes.done;
    }
    const stored = await asOperator(flows.context, flow, "found", terminal, (context, call) =>
      proposeFlow(context, key, { ...checked, seen: checked.seen ?? flow.seen }, call),
    );
    showStored(stored, values.json === true, terminal);
    return exitCodes.done;
  },
});

export const flowsApproveCommand = command({
  name: "flows approve",
  summary: "Approves what another person proposed about a flow, and stores it as decided.",
  description:
    "As flows resolve does, it looks for the payment once more, stores the decision and moves no money: the program that works on these flows (flow.work) does what follows. Who proposed it can't approve it, and nobody can once the flow has moved on. Without --yes it shows the proposal and changes nothing.",
  operands: ["KEY"],
  options: { by, why: whyIfGiven, proposal, yes, ...journalOptions, ...settingOptions, json },
  examples: ["flows approve order-42 --by petra --journal payments.db --config gateway.json --yes"],
  async run({ values, operands: [key = ""] }, terminal) {
    const approval = checkApproval({ by: values.by, why: values.why, proposal: values.proposal });
    const connection = values.yes
      ? { connect: (settings: Settings) => openClient(settings, terminal), needed: neededToDecide }
      : offline;
    await using flows = await openFlows(values, terminal, connection);
    const flow = await readFlow(flows, key);
    const { action, hash } = proposalOf(flow);
    if (!values.yes) {
      showPlan(flow, action, values.json === true, terminal);
      return exitCodes.done;
    }
    const decided = await asOperator(flows.context, flow, action, terminal, (context, call) =>
      approveFlow(context, key, { proposal: hash, ...approval }, call, andLeave),
    );
    showDecided(key, action, decided, values.json === true, terminal);
    return exitCodes.done;
  },
});

export const flowsRefuseCommand = command({
  name: "flows refuse",
  summary: "Refuses what was proposed about a flow, or takes it back.",
  description: "The flow stays as it is, and something else can be proposed. Both are kept.",
  operands: ["KEY"],
  options: { by, why, proposal, ...journalOptions, json },
  examples: ["flows refuse order-42 --by petra --why ticket-4712 --journal payments.db --config gateway.json"],
  async run({ values, operands: [key = ""] }, terminal) {
    const refusal = checkRefusal({ by: values.by, why: values.why, proposal: values.proposal });
    await using flows = await openFlows(values, terminal, offline);
    const flow = await readFlow(flows, key);
    proposalOf(flow);
    const stored = await asOperator(flows.context, flow, "found", terminal, (context, call) =>
      refuseFlow(context, key, refusal, call),
    );
    showStored(stored, values.json === true, terminal);
    return exitCodes.done;
  },
});

/** @throws {InvalidArgumentError} `flow_not_proposed` */
function proposalOf({ key, proposal }: FlowDetails): WaitingProposal {
  if (proposal !== undefined) return proposal;
  throw new InvalidArgumentError(`nothing is proposed for the flow of key ${JSON.stringify(key)}`, {
    code: "flow_not_proposed",
    effect: "possible",
  });
}

function showStored(stored: StoredDecision, isJson: boolean, terminal: Terminal): void {
  const { payment, ...shown } = stored;
  if (isJson) {
    printJson(terminal, shown);
    return;
  }
  const { key, step = "decided", action, by, atMs, hash } = stored;
  showLines(
    [
      ["key", key],
      [step, `${action}, by ${by} at ${instant(atMs)}`],
      ["hash", hash],
    ],
    terminal,
  );
  if (step === "proposed")
    print(terminal, "", "Another person approves it by flows approve, or refuses it by flows refuse.");
}
