import { type Command, Option } from "commander";
import { counted } from "../../core/describe.js";
import { decisionsOf, instant, proposalOf } from "../../desk/history-texts.js";
import { allPhases } from "../../flows/codec.js";
import type { FlowDecision, FlowDetails, FlowListItem, FlowPhase, HeldFlow, WaitingSince } from "../../flows/index.js";
import { listFlows } from "../../flows/status.js";
import type { Payment } from "../../resources/payments.js";
import { columnsOf, formatOf, inPages, type ListedRecord, ListOutput, table } from "../lists/output.js";
import { action, examples, parseCount } from "../options.js";
import {
  Exit,
  exitCodes,
  print,
  printable,
  printableLines,
  printJson,
  rows,
  styled,
  type Terminal,
} from "../terminal.js";
import { addJournalOptions, type JournalOptions, openFlows, readFlow } from "./journal.js";

export function addShow(flows: Command, terminal: Terminal): void {
  const command = flows
    .command("show <key>")
    .summary("show one flow, and what is known of its payment")
    .description(
      "Shows phase, money, signed request, reason, decisions, and history of a flow. It only reads the journal. With --json it also prints names and account numbers.",
    )
    .option("--json", "print JSON")
    .action(
      action<JournalOptions & { readonly json?: true }>(terminal, async (options, _, key = "") => {
        await using opened = await openFlows(options, terminal);
        const flow = await readFlow(opened, key);
        if (options.json) printJson(terminal, flow);
        else showFlow(flow, terminal);
      }),
    );
  examples(addJournalOptions(command), "flows show order-42 --journal payments.db --config gateway.json");
}

type Line = readonly [label: string, text: string | number | undefined];

/** One line per fact that is known. */
export function showLines(lines: readonly Line[], terminal: Terminal): void {
  const pairs = lines.flatMap(([label, text]): [string, string][] =>
    text === undefined ? [] : [[styled(terminal, "bold", label), printable(String(text))]],
  );
  print(terminal, rows(pairs, terminal.width));
}

export function showFlow(flow: FlowDetails, terminal: Terminal): void {
  const { key, phase, revision, sinceMs, createdAtMs, owner, leaseUntilMs, intent, expiresAtMs, prunedAtMs } = flow;
  const { reason, retryAtMs, claim, history, senderGatewayTransactionId } = flow;
  const money = `taken${phase === "rejected" ? " and given back" : ""}, transaction ${senderGatewayTransactionId}`;
  const at = (ms: number | undefined, text = "") => (ms === undefined ? undefined : text + instant(ms));
  const from = intent && `${intent.senderAmount} ${intent.senderCurrency}, ${intent.senderGatewayId}`;
  const to = intent && `${intent.receiverAmount} ${intent.receiverCurrency}, ${intent.receiverGatewayId}`;
  showLines(
    [
      ["key", key],
      ["phase", `${phase} since ${instant(sinceMs)}, started ${instant(createdAtMs)}`],
      ["revision", revision],
      ["pruned", at(prunedAtMs, "at ")],
      ["owner", owner && `${owner}, until ${instant(leaseUntilMs)}`],
      ["from", from],
      ["to", to],
      ["intent", intent?.id],
      ["quote", at(expiresAtMs, flow.isExpired ? "expired " : "valid until ")],
      ["money", senderGatewayTransactionId && money],
      ["why", reason ?? endReason(flow)],
      ["continues", at(retryAtMs, "at ")],
      ["payment", paymentText(flow)],
      ["request", claim?.signature && `POST ${claim.path}, signature ${claim.signature.slice(0, 16)}…`],
      ...history.map(({ atMs, phase, why, by }): Line => {
        const reason = why === undefined ? "" : ` (${why})`;
        return ["step", `at ${instant(atMs)}: ${phase}${reason}${by === undefined ? "" : `, by ${by}`}`];
      }),
      ...decisionsOf(flow).map((decision): Line => ["decision", decisionText(decision)]),
      ...proposalLines(flow),
    ],
    terminal,
  );
}

function paymentText({ outcome }: FlowDetails): string | undefined {
  if (outcome?.status === "held" && outcome.match !== undefined)
    return `${outcome.match.id} has the flow's transaction id, but another body`;
  return outcome?.status === "paid" ? statusesOf(outcome.payment) : undefined;
}

function statusesOf({ id, senderGatewayStatus, receiverGatewayStatus }: Partial<Payment>): string {
  return `${id}, sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`;
}

function endReason({ outcome }: FlowDetails): string | undefined {
  if (outcome?.status !== "rejected") return outcome?.status === "declined" ? outcome.reason : undefined;
  const { by, status, serviceCode, serviceMessage, why } = outcome.refusal;
  const said = [status, serviceCode, serviceMessage, why].filter((part) => part !== undefined);
  return `refused by the ${by}: ${said.join(" ")}`;
}

/** A decision or proposal, without the record that was given with it. */
function decisionText({ action, by, why, atMs, withoutProof, approvedBy }: FlowDecision): string {
  const proof = withoutProof ? ", without proof" : "";
  const approval = approvedBy === undefined ? "" : `, approved by ${approvedBy}`;
  return `${instant(atMs)}: ${action}${proof}, by ${by}${approval}: ${why}`;
}

/** The proposal that another person must approve. Names and accounts of the record aren't for a terminal. */
function proposalLines(flow: FlowDetails): readonly Line[] {
  const proposal = proposalOf(flow);
  if (proposal === undefined) return [];
  return [
    ["proposal", decisionText(proposal)],
    ["record", proposal.payment && `payment ${statusesOf(proposal.payment)}: given with the proposal`],
  ];
}

interface ListOptions extends JournalOptions {
  readonly held?: true;
  readonly phase?: FlowPhase;
  readonly after?: string;
  readonly limit?: number;
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
    .option("--json", "print one JSON text per line")
    .action(action(terminal, list));
  examples(
    addJournalOptions(command),
    "flows list --journal payments.db --config gateway.json --held",
    "flows list --journal postgresql://payments@db.internal/bank --config gateway.json --phase paid",
  );
}

type Listed = FlowListItem | (HeldFlow & WaitingSince);

async function list(options: ListOptions, terminal: Terminal): Promise<void> {
  const { held, phase, after, json, limit = Number.POSITIVE_INFINITY } = options;
  await using flows = await openFlows(options, terminal);
  const { context, operator } = flows;
  const isTable = terminal.width !== undefined && !json;
  const found: AsyncIterable<Listed> = held ? operator.held() : listFlows(context, { phase, after });
  const output = new ListOutput(isTable ? table(held ? heldColumns : columns, terminal.width) : ndjson, terminal, {
    limit,
  });
  try {
    for await (const page of inPages(found, Math.min(100, limit))) {
      if (!(await output.write(page.map(isTable ? rowOf : (flow) => ({ ...flow }))))) break;
    }
    const { elsewhere } = await operator.counts();
    if (elsewhere > 0) {
      const others = `${counted(elsewhere, "flow")} of other services or gateways, open or held`;
      terminal.stderr.write(`cross-border: not listed: ${others}. Check baseUrl, gatewayId, and --service.\n`);
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
