import { instant } from "../../desk/history-texts.js";
import { allPhases } from "../../flows/codec.js";
import type { FlowListItem, FlowPhase, HeldFlow, WaitingSince } from "../../flows/index.js";
import { countFlows, heldFlows, listFlows } from "../../flows/status.js";
import { command, type ExitCode, exitCodes, UsageError } from "../command.js";
import { column, type Format, type ListedRecord, ndjson, table } from "../lists/formats.js";
import { parseCount } from "../lists/list-options.js";
import { writeOut } from "../lists/write-out.js";
import { printableLines } from "../printable.js";
import { printJson, type Terminal } from "../terminal.js";
import { journalOptions, type OpenFlows, openFlows } from "./journal.js";
import { showLines } from "./view.js";

export const flowsListCommand = command({
  name: "flows list",
  summary: "Lists the durable flows in a journal.",
  description:
    "By key: a table on a terminal, one JSON text a line elsewhere. --held lists what waits for an operator. It only reads. It lists the flows of one service, and with --gateway-id of this gateway alone. A flow that can't be read hides no other: it is named on stderr, and the exit code is 1.",
  operands: [],
  options: {
    ...journalOptions,
    held: { type: "boolean", help: "only held flows" },
    phase: { type: "string", value: "PHASE", help: `one of ${allPhases.join(", ")}` },
    after: { type: "string", value: "KEY", help: "only flows after this key" },
    limit: { type: "string", value: "COUNT", help: "stop after so many flows" },
    counts: { type: "boolean", help: "how many flows are in each phase, and no flow" },
    json: { type: "boolean", help: "one JSON text a line" },
  },
  examples: [
    "flows list --journal payments.db --config gateway.json --held",
    "flows list --journal postgresql://payments@db.internal/bank --config gateway.json --counts",
  ],
  async run({ values }, terminal) {
    const { held = false, phase, after, counts } = values;
    const limit = parseCount("limit", values.limit) ?? Number.POSITIVE_INFINITY;
    assertPhase(phase);
    if (held && (phase !== undefined || after !== undefined)) {
      throw new UsageError("--held lists all held flows: leave --phase and --after out");
    }
    await using flows = await openFlows(values, terminal);
    if (counts) return await showCounts(flows, values.json === true, terminal);
    const found = held ? heldFlows(flows.context) : listFlows(flows.context, { phase, after });
    const isTable = terminal.width !== undefined && !values.json;
    const format = isTable ? table(columns, terminal.width) : ndjson;
    return await show(found, limit, format, isTable ? rowOf : toRecord, terminal);
  },
});

type Listed = FlowListItem | (HeldFlow & WaitingSince);

async function show(
  flows: AsyncIterable<Listed>,
  limit: number,
  format: Format,
  toShown: (flow: Listed) => ListedRecord,
  terminal: Terminal,
): Promise<ExitCode> {
  let page: ListedRecord[] = [];
  let count = 0;
  const flush = async (): Promise<void> => {
    if (page.length > 0) await writeOut(format.write(page), terminal);
    page = [];
  };
  try {
    for await (const flow of flows) {
      page.push(toShown(flow));
      count += 1;
      if (page.length === pageSize) await flush();
      if (count >= limit) break;
    }
    await flush();
    return exitCodes.done;
  } catch (error) {
    await flush();
    if (!(error instanceof AggregateError)) throw error;
    return reportUnreadable(error.errors, terminal);
  }
}

const pageSize = 100;

function reportUnreadable(errors: readonly Error[], { stderr }: Terminal): ExitCode {
  for (const { message } of errors.slice(0, mostNamed)) stderr.write(`cross-border: ${printableLines(message)}\n`);
  const more = errors.length - mostNamed;
  if (more > 0) stderr.write(`cross-border: and ${more} more can't be read\n`);
  return exitCodes.refuted;
}

const mostNamed = 20;

async function showCounts({ context }: OpenFlows, isJson: boolean, terminal: Terminal): Promise<ExitCode> {
  const counts = await countFlows(context);
  if (isJson || terminal.width === undefined) printJson(terminal, counts);
  else
    showLines(
      Object.entries(counts).map(([phase, count]) => [phase, String(count)]),
      terminal,
    );
  return exitCodes.done;
}

const columns = ["key", "phase", "since", "amount", "to", "note"].map((name) => column(name));

function rowOf(flow: Listed): ListedRecord {
  const { key, intent, sinceMs } = flow;
  const amount = intent === undefined ? "" : `${intent.senderAmount} ${intent.senderCurrency}`;
  const phase = "phase" in flow ? flow.phase : flow.status;
  return { key, amount, to: intent?.receiverGatewayId ?? "", phase, since: instant(sinceMs), note: noteOf(flow) };
}

function noteOf(flow: Listed): string {
  if ("status" in flow || flow.phase === "held") return flow.reason ?? "";
  if (flow.isExpired) return "expired";
  return flow.owner === undefined ? "" : `with ${flow.owner}`;
}

function toRecord(flow: Listed): ListedRecord {
  return { ...flow };
}

function assertPhase(phase: string | undefined): asserts phase is FlowPhase | undefined {
  if (phase === undefined || allPhases.some((known) => known === phase)) return;
  throw new UsageError(`--phase is one of ${allPhases.join(", ")}`);
}
