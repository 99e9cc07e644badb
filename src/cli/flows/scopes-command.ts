import type { ScopeCounts } from "../../flows/index.js";
import { command, exitCodes } from "../command.js";
import { column, type ListedRecord, ndjson, table } from "../lists/formats.js";
import { writeOut } from "../lists/write-out.js";
import { journalOptions, openFlows } from "./journal.js";

export const flowsScopesCommand = command({
  name: "flows scopes",
  summary: "Lists the base URLs and gateways whose flows a journal has.",
  description:
    "How many flows of each are open, held, paid, and there in all; what is left of pruned flows counts as paid alone. Those of the service's address are marked. Open and held flows under an address that is the service's no longer are recovered by nobody: flows move brings them along. It only reads, and reads the whole journal.",
  operands: [],
  options: { ...journalOptions, json: { type: "boolean", help: "one JSON text a line" } },
  examples: ["flows scopes --journal payments.db --config gateway.json"],
  async run({ values }, terminal) {
    await using flows = await openFlows(values, terminal);
    const { service, gateway } = flows.context.scope;
    const found = (await flows.journal.scopes()).filter((scope) => (gateway ?? scope.gateway) === scope.gateway);
    const scopes = found.sort(byName).map((scope) => ({ ...scope, isOwn: scope.service === service }));
    const isTable = terminal.width !== undefined && !values.json;
    const format = isTable ? table(columns, terminal.width) : ndjson;
    const shown = scopes.map((scope) => (isTable ? { ...scope, isOwn: scope.isOwn ? "here" : "" } : scope));
    await writeOut(format.write(shown), terminal);
    return exitCodes.done;
  },
});

const columns = [
  ...["service", "gateway", "open", "held", "paid", "flows"].map((name) => column(name)),
  { title: "", cell: (record: ListedRecord) => record.isOwn },
];

function byName(one: ScopeCounts, other: ScopeCounts): number {
  const [first, second] = [one, other].map(({ service, gateway }) => `${service} ${gateway}`);
  return String(first) < String(second) ? -1 : 1;
}
