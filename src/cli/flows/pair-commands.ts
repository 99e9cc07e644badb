import { InvalidArgumentError } from "../../core/errors.js";
import { decisionText, proposalOf } from "../../desk/history-texts.js";
import { readApproval, readProposal } from "../../flows/operate.js";
import type { FlowDecision } from "../../flows/outcome.js";
import type { FlowDetails } from "../../flows/status.js";
import { command, exitCodes, UsageError } from "../command.js";
import { openClient } from "../open-client.js";
import { type Settings, settingOptions } from "../settings.js";
import { print, printJson, type Terminal } from "../terminal.js";
import { decide, type Stored } from "./decide.js";
import { journalOptions, openFlows } from "./journal.js";
import {
  assertAction,
  assertHeld,
  decisionOptions,
  neededToDecide,
  resolutionOf,
  revisionOf,
  showDecided,
  showPlan,
} from "./resolve-command.js";
import { readFlow } from "./show-command.js";
import { showLines } from "./view.js";

const { by, revision, yes } = decisionOptions;
const json = { type: "boolean", help: "as JSON" } as const;

/** What the commands need that send nothing. */
const offline = { needed: ["gatewayId"] as const };

export const flowsProposeCommand = command({
  name: "flows propose",
  summary: "Proposes a decision about a held flow, for another person to approve.",
  description:
    "ACTION is found, release, or resend, as with flows resolve. The proposal is stored in place of an earlier one, and nothing else happens. Without --yes it prints what the decision would do, and stores nothing.",
  operands: ["KEY", "ACTION"],
  options: { ...decisionOptions, ...journalOptions, json },
  examples: [
    "flows propose order-42 release --by olga --why ticket-4711 --journal payments.db --config gateway.json --yes",
  ],
  async run({ values, operands: [key = "", action = ""] }, terminal) {
    assertAction(action);
    const given = await resolutionOf(action, values, terminal);
    await using flows = await openFlows(values, terminal, offline);
    const flow = await readFlow(flows, key);
    const proposal = readProposal(action, { ...given, revision: given.revision ?? flow.revision });
    assertHeld(flow);
    if (!values.yes) {
      showPlan(flow, action, values.json === true, terminal);
      return exitCodes.done;
    }
    const stored = await decide(flows.context, "propose", key, proposal, terminal);
    showProposed(key, proposal.decision, stored, values.json === true, terminal);
    return exitCodes.done;
  },
});

export const flowsApproveCommand = command({
  name: "flows approve",
  summary: "Approves what another person proposed about a flow, and stores it as decided.",
  description:
    "As flows resolve does, it searches for the payment, stores the decision, and moves no money: the program that works on these flows (flow.work) does that. The person who proposed it can't approve it. Without --yes it prints the proposal and its revision, and changes nothing. With --yes it needs that revision, so that nothing else is approved than was seen.",
  operands: ["KEY"],
  options: { by, revision, yes, ...journalOptions, ...settingOptions, json },
  examples: ["flows approve order-42 --by petra --revision 6 --journal payments.db --config gateway.json --yes"],
  async run({ values, operands: [key = ""] }, terminal) {
    const seen = revisionOf(values.revision);
    if (values.yes && seen === undefined) {
      throw new UsageError("--yes needs --revision NUMBER: the one that flows approve prints without --yes");
    }
    const connection = values.yes
      ? { connect: (settings: Settings) => openClient(settings, terminal), needed: neededToDecide }
      : offline;
    await using flows = await openFlows(values, terminal, connection);
    const flow = await readFlow(flows, key);
    const approval = readApproval("approve", { by: values.by, revision: seen ?? flow.revision });
    const { action } = proposed(flow);
    if (!values.yes) {
      showPlan(flow, action, values.json === true, terminal);
      return exitCodes.done;
    }
    const stored = await decide(flows.context, "approve", key, approval, terminal);
    showDecided(key, action, stored, values.json === true, terminal);
    return exitCodes.done;
  },
});

export const flowsRefuseCommand = command({
  name: "flows refuse",
  summary: "Refuses what was proposed about a flow, or takes it back.",
  description: "The flow stays held, and something else can be proposed.",
  operands: ["KEY"],
  options: { by, revision, ...journalOptions, json },
  examples: ["flows refuse order-42 --by petra --journal payments.db --config gateway.json"],
  async run({ values, operands: [key = ""] }, terminal) {
    const seen = revisionOf(values.revision);
    await using flows = await openFlows(values, terminal, offline);
    const flow = await readFlow(flows, key);
    const refusal = readApproval("refuse", { by: values.by, revision: seen ?? flow.revision });
    const { action } = proposed(flow);
    const stored = await decide(flows.context, "refuse", key, refusal, terminal);
    if (values.json) printJson(terminal, { key, step: "refused", action, by: values.by, revision: stored.revision });
    else
      showLines(
        [
          ["key", key],
          ["refused", `${action}, by ${values.by}`],
        ],
        terminal,
      );
    return exitCodes.done;
  },
});

/** @throws {InvalidArgumentError} `flow_not_proposed` */
function proposed(flow: FlowDetails): FlowDecision {
  const proposal = proposalOf(flow);
  if (proposal !== undefined) return proposal;
  throw new InvalidArgumentError(`nothing is proposed for the flow of key ${JSON.stringify(flow.key)}`, {
    code: "flow_not_proposed",
    effect: "possible",
  });
}

function showProposed(
  key: string,
  decision: FlowDecision,
  { revision }: Stored,
  isJson: boolean,
  terminal: Terminal,
): void {
  const { payment: _, ...shown } = decision;
  if (isJson) {
    printJson(terminal, { key, step: "proposed", ...shown, revision });
    return;
  }
  showLines(
    [
      ["key", key],
      ["proposed", decisionText(decision)],
      ["revision", String(revision)],
    ],
    terminal,
  );
  print(terminal, "", "Another person approves it by flows approve, or refuses it by flows refuse.");
}
