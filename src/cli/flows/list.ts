import { type Command, Option } from "commander";
import { instant } from "../../desk/history-texts.js";
import { allPhases } from "../../flows/codec.js";
import type { FlowListItem, FlowPhase, HeldFlow, WaitingSince } from "../../flows/index.js";
import { listFlows } from "../../flows/status.js";
import { action, examples } from "../help.js";
import { columnsOf, formatOf, type ListedRecord, table } from "../lists/formats.js";
import { inPages, ListOutput } from "../lists/list-output.js";
import { Exit, exitCodes, printJson, type Terminal } from "../terminal.js";
import { printableLines } from "../text.js";
import { parseCount } from "../values.js";
import { addJournalOptions, type JournalOptions, openFlows } from "./journal.js";
import { showLines } from "./show.js";

interface ListOptions extends JournalOptions {
  readonly held?: true;
  readonly phase?: FlowPhase;
  readonly after?: string;
  readonly limit?: number;
  readonly counts?: true;
  readonly json?: true;
}

export function addList(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("list")
    .summary("list flows; --held lists what waits for an operator")
    .description(
      "Lists the flows of one service by key: a table at a terminal, one JSON text per line elsewhere. It only reads. Flows that can't be read are named on stderr, and the exit code is 1.",
    )
    .addOption(new Option("--held", "only held flows, with the reason").conflicts(["phase", "after"]))
    .addOption(new Option("--phase <phase>", "only flows in this phase").choices(allPhases))
    .option("--after <key>", "only flows after this key")
    .option("--limit <count>", "stop after so many flows", parseCount)
    .option("--counts", "how many flows are in each phase, and no flow")
    .option("--json", "print one JSON text per line")
    .action(action<ListOptions>((options) => list(options, terminal)));
  examples(
    addJournalOptions(command),
    "flows list --journal payments.db --config gateway.json --held",
    "flows list --journal postgresql://payments@db.internal/bank --config gateway.json --counts",
  );
}

type Listed = FlowListItem | (HeldFlow & WaitingSince);

async function list(options: ListOptions, terminal: Terminal): Promise<void> {
  const { held, phase, after, counts, json, limit = Number.POSITIVE_INFINITY } = options;
  await using flows = await openFlows(options, terminal);
  const { context, operator } = flows;
  const isTable = terminal.width !== undefined && !json;
  if (counts) {
    const found = await operator.counts();
    return isTable ? showLines(Object.entries(found), terminal) : printJson(terminal, found);
  }
  const found: AsyncIterable<Listed> = held ? operator.held() : listFlows(context, { phase, after });
  const output = new ListOutput(isTable ? table(held ? heldColumns : columns, terminal.width) : ndjson, terminal, {
    limit,
  });
  try {
    for await (const page of inPages(found, Math.min(100, limit))) {
      if (!(await output.write(page.map(isTable ? rowOf : (flow) => ({ ...flow }))))) break;
    }
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    for (const { message } of error.errors as Error[])
      terminal.stderr.write(`cross-border: ${printableLines(message)}\n`);
    throw new Exit(exitCodes.checkFailed);
  }
}

const ndjson = formatOf("ndjson", { fields: {}, columns: [] });
const columns = columnsOf("key phase since amount to note");
/** An operator reads the reason first. In a narrow window, other columns are cut. */
const heldColumns = columnsOf("key why=note amount since to").map((one) =>
  one.title === "why" ? { ...one, maxWidth: Number.POSITIVE_INFINITY } : one,
);

function rowOf(flow: Listed): ListedRecord {
  const { key, intent, sinceMs } = flow;
  const amount = intent === undefined ? "" : `${intent.senderAmount} ${intent.senderCurrency}`;
  const phase = "phase" in flow ? flow.phase : flow.status;
  const since = instant(sinceMs).replace(/:\d\d\.\d+Z$/, "Z");
  return { key, amount, to: intent?.receiverGatewayId, phase, since, note: noteOf(flow) };
}

function noteOf(flow: Listed): string {
  if ("status" in flow || flow.phase === "held") return flow.reason ?? "";
  if (flow.isExpired) return "expired";
  return flow.owner === undefined ? "" : `with ${flow.owner}`;
}
