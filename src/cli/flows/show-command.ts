import { InvalidArgumentError } from "../../core/errors.js";
import { type FlowDetails, readDetails } from "../../flows/status.js";
import { command, exitCodes } from "../command.js";
import { printJson } from "../terminal.js";
import { journalOptions, type OpenFlows, openFlows } from "./journal.js";
import { showFlow } from "./view.js";

export const flowsShowCommand = command({
  name: "flows show",
  summary: "Shows one durable flow, and what is known of its payment.",
  description:
    "Phase, money, the signed request, why it waits or is held, decisions of operators, and its history. It only reads the journal. With --json also names and account numbers.",
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

/** @throws {InvalidArgumentError} if there is no such flow. */
export async function readFlow({ context }: OpenFlows, key: string): Promise<FlowDetails> {
  const flow = await readDetails(context, key);
  if (flow === undefined) throw new InvalidArgumentError(`there is no flow of key ${JSON.stringify(key)}`);
  return flow;
}
