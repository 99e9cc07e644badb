import { InvalidArgumentError } from "../../errors/errors.js";
import { type FlowDetails, flowDetails } from "../../flows/flow-details.js";
import { verifyDecisions, withoutRecord } from "../../flows/state/decision-chain.js";
import { command, exitCodes } from "../command.js";
import { print, printJson, styled } from "../terminal.js";
import { journalOptions, type OpenFlows, openFlows } from "./journal.js";
import { showFlow } from "./view.js";

export const flowsShowCommand = command({
  name: "flows show",
  summary: "Shows one durable flow, and what is known of its payment.",
  description:
    "Phase, money, requests that may have been sent, looks for the payment, failures, the steps that it has taken, decisions of operators and whether their chain is whole. It only reads the journal. With --json also what is personal: names and accounts.",
  operands: ["KEY"],
  options: { ...journalOptions, json: { type: "boolean", help: "as JSON" } },
  examples: ["flows show order-42 --journal payments.db --config gateway.json"],
  async run({ values, operands: [key = ""] }, terminal) {
    await using flows = await openFlows(values, terminal);
    const flow = await readFlow(flows, key);
    const { decisions, report } = verifiedDecisions(flows, flow);
    const chain = decisions.length === 0 ? undefined : report;
    if (values.json) printJson(terminal, { ...flow, ...(chain && { decisionsVerified: chain }) });
    else {
      showFlow(flow, terminal);
      if (chain?.problem !== undefined) print(terminal, styled(terminal, "red", `changed: ${chain.problem}`));
    }
    if (chain?.isIntact === false) return exitCodes.refuted;
    return exitCodes.done;
  },
});

/** The decisions about a flow without what is personal, and whether they were made by as many people as the settings say. */
export function verifiedDecisions({ context }: OpenFlows, { key, outcome, ...flow }: FlowDetails) {
  const decisions = (flow.decisions ?? flow.evidence?.decisions ?? []).map(withoutRecord);
  const payment = outcome?.status === "paid" ? outcome.payment : undefined;
  return { decisions, report: verifyDecisions({ key, decisions, payment }, { people: context.people }) };
}

/** @throws {InvalidArgumentError} where there is no such flow. */
export async function readFlow({ context, journal }: OpenFlows, key: string): Promise<FlowDetails> {
  const entry = await journal.read(key);
  if (entry === undefined) throw new InvalidArgumentError(`there is no flow of key ${JSON.stringify(key)}`);
  return flowDetails(context, entry);
}
