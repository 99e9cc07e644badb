import type { Command } from "commander";
import { decisionsOf, decisionText, instant, moneyText, proposalOf, stepText } from "../../desk/history-texts.js";
import type { FlowDetails, FlowRefusal } from "../../flows/index.js";
import { action, examples } from "../help.js";
import { print, printJson, styled, type Terminal } from "../terminal.js";
import { printable, rows } from "../text.js";
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
      action<JournalOptions & { readonly json?: true }>(async (options, key = "") => {
        await using opened = await openFlows(options, terminal);
        const flow = await readFlow(opened, key);
        if (options.json) printJson(terminal, flow);
        else showFlow(flow, terminal);
      }),
    );
  examples(addJournalOptions(command), "flows show order-42 --journal payments.db --config gateway.json");
}

type Line = readonly [label: string, text: string | number | undefined];

/** One line per fact; what is undefined is left out. */
export function showLines(lines: readonly Line[], terminal: Terminal): void {
  const pairs = lines.flatMap(([label, text]): [string, string][] =>
    text === undefined ? [] : [[styled(terminal, "bold", label), printable(String(text))]],
  );
  print(terminal, rows(pairs, terminal.width));
}

export function showFlow(flow: FlowDetails, terminal: Terminal): void {
  const { key, phase, revision, sinceMs, createdAtMs, owner, leaseUntilMs, intent, expiresAtMs, prunedAtMs } = flow;
  const { reason, retryAtMs, claim, history, senderGatewayTransactionId } = flow;
  const hasMoney = prunedAtMs === undefined && phase !== "quoted" && phase !== "declined";
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
      ["money", hasMoney ? moneyText(phase, senderGatewayTransactionId) : undefined],
      ["why", reason ?? endReason(flow)],
      ["continues", at(retryAtMs, "at ")],
      ["payment", paymentText(flow)],
      ["request", claim?.signature && `POST ${claim.path}, signature ${claim.signature.slice(0, 16)}…`],
      ...history.map((step): Line => ["step", `at ${stepText(step)}`]),
      ...decisionsOf(flow).map((decision): Line => ["decision", decisionText(decision)]),
      ...proposalLines(flow),
    ],
    terminal,
  );
}

function paymentText({ outcome }: FlowDetails): string | undefined {
  if (outcome?.status === "held" && outcome.match !== undefined)
    return `${outcome.match.id} has the flow's transaction id, but another body`;
  if (outcome?.status !== "paid") return undefined;
  const { id, senderGatewayStatus, receiverGatewayStatus } = outcome.payment;
  return `${id}, sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`;
}

function endReason({ outcome }: FlowDetails): string | undefined {
  if (outcome?.status === "rejected") return refusalText(outcome.refusal);
  return outcome?.status === "declined" ? outcome.reason : undefined;
}

function refusalText({ by, status, serviceCode, serviceMessage, why }: FlowRefusal): string {
  const said = [status, serviceCode, serviceMessage, why].filter((part) => part !== undefined);
  return `refused by the ${by}: ${said.join(" ")}`;
}

/** What another person is asked to approve. Names and accounts of the record aren't for a terminal. */
function proposalLines(flow: FlowDetails): readonly Line[] {
  const proposal = proposalOf(flow);
  if (proposal === undefined) return [];
  const { payment } = proposal;
  const record = payment && [
    `payment ${payment.id}`,
    `transaction ${payment.senderGatewayTransactionId}`,
    `sender ${payment.senderGatewayStatus}`,
    `receiver ${payment.receiverGatewayStatus}: given with the proposal`,
  ];
  return [
    ["proposal", decisionText(proposal)],
    ["record", record?.join(", ")],
  ];
}
