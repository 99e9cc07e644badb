import { InvalidArgumentError } from "../../errors/errors.js";
import { command, exitCodes } from "../command.js";
import { printJson } from "../terminal.js";
import { type FlowDetails, flowDetails } from "./details.js";
import { journalOptions, type OpenFlows, openFlows } from "./journal.js";
import { showFlow } from "./view.js";

export const flowsShowCommand = command({
  name: "flows show",
  summary: "Shows one durable flow, and what is known of its payment.",
  description:
    "Phase, money, requests that may have been sent, looks for the payment, failures, decisions of operators. It only reads the journal. With --json also what is personal: names and accounts.",
  operands: ["KEY"],
  options: { ...journalOptions, json: { type: "boolean", help: "as JSON" } },
  examples: ["flows show order-42 --journal payments.db --config gateway.json"],
  async run({ values, operands: [key = ""] }, terminal) {
    await using flows = await openFlows(values, terminal);
    const flow = await readFlow(flows, key);
    if (values.json) printJson(terminal, flow);
    else showFlow(flow, terminal);
    return exitCodes.done;
  },
});

/** @throws {InvalidArgumentError} where there is no such flow. */
export async function readFlow({ context, journal, cipher }: OpenFlows, key: string): Promise<FlowDetails> {
  const entry = await journal.read(key);
  if (entry === undefined) throw new InvalidArgumentError(`there is no flow of key ${JSON.stringify(key)}`);
  return flowDetails(context, entry, cipher);
}
