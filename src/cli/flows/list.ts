import { type Command, Option } from "commander";
import { instant } from "../../desk/history-texts.js";
import { allPhases } from "../../flows/codec.js";
import type { FlowListItem, FlowPhase, HeldFlow, WaitingSince } from "../../flows/index.js";
import { countFlows, heldFlows, listFlows } from "../../flows/status.js";
import { action, examples } from "../help.js";
import { columnsOf, formatOf, type ListedRecord, table } from "../lists/formats.js";
import { writeOut } from "../lists/list-output.js";
import { Exit, exitCodes, print, printJson, type Terminal } from "../terminal.js";
import { printableLines, rows } from "../text.js";
import { parseCount } from "../values.js";
import { addJournalOptions, type JournalOptions, openFlows } from "./journal.js";

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
  const { held, phase, after, counts, json } = options;
  await using flows = await openFlows(options, terminal);
  const { context } = flows;
  if (counts) return showCounts(await countFlows(context), json === true, terminal);
  const found: AsyncIterable<Listed> = held ? heldFlows(context) : listFlows(context, { phase, after });
  const isTable = terminal.width !== undefined && !json;
  const format = isTable ? table(held ? heldColumns : columns, terminal.width) : formatOf("ndjson", everything);
  const toRecord = isTable ? rowOf : (flow: Listed): ListedRecord => ({ ...flow });
  let page: ListedRecord[] = [];
  const flush = async (): Promise<void> => {
    await writeOut(page.length === 0 ? "" : format.write(page), terminal);
    page = [];
  };
  let left = options.limit ?? Number.POSITIVE_INFINITY;
  try {
    for await (const flow of found) {
      page.push(toRecord(flow));
      left -= 1;
      if (page.length === 100) await flush();
      if (left === 0) break;
    }
    await flush();
  } catch (error) {
    await flush();
    if (!(error instanceof AggregateError)) throw error;
    for (const { message } of error.errors as Error[])
      terminal.stderr.write(`cross-border: ${printableLines(message)}\n`);
    throw new Exit(exitCodes.checkFailed);
  }
}

function showCounts(counts: object, isJson: boolean, terminal: Terminal): void {
  const pairs = Object.entries(counts).map(([phase, count]): [string, string] => [phase, String(count)]);
  if (isJson || terminal.width === undefined) printJson(terminal, counts);
  else print(terminal, rows(pairs, terminal.width));
}

const everything = { fields: {}, columns: [], chosen: undefined, width: undefined, withCredentials: false };
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
