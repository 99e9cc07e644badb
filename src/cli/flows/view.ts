import { decisionsOf, decisionText, instant, moneyText, proposalOf, stepText } from "../../desk/history-texts.js";
import type { FlowDecision, FlowDetails, FlowRefusal } from "../../flows/index.js";
import type { PaymentIntent } from "../../resources/payment-intents.js";
import { wrappedData } from "../layout.js";
import { printable } from "../printable.js";
import { print, styled, type Terminal } from "../terminal.js";

type Line = readonly [label: string, text: string];

/** Shows a flow to the operator who must decide about it: one line a fact, wrapped on a narrow terminal. */
export function showFlow(flow: FlowDetails, terminal: Terminal): void {
  showLines(linesOf(flow), terminal);
}

export function showLines(lines: readonly Line[], terminal: Terminal): void {
  const indent = Math.max(...lines.map(([label]) => label.length)) + 2;
  const room = terminal.width === undefined ? undefined : Math.max(20, terminal.width - indent);
  for (const [label, text] of lines) {
    const [first = "", ...rest] = wrappedData(printable(text), room);
    const shownLabel = styled(terminal, "bold", label) + " ".repeat(indent - label.length);
    print(terminal, shownLabel + first, ...rest.map((line) => " ".repeat(indent) + line));
  }
}

function linesOf(flow: FlowDetails): readonly Line[] {
  const { key, phase, revision, sinceMs, createdAtMs, owner, leaseUntilMs, intent, expiresAtMs, prunedAtMs } = flow;
  const { reason, retryAtMs, claim, history } = flow;
  return [
    ["key", key],
    ["phase", `${phase} since ${instant(sinceMs)}, begun ${instant(createdAtMs)}`],
    ["revision", String(revision)],
    ...(prunedAtMs === undefined ? [] : [["pruned", `at ${instant(prunedAtMs)}`] as const]),
    ...(owner === undefined ? [] : [["owner", `${owner}, until ${instant(leaseUntilMs)}`] as const]),
    ...(intent === undefined ? [] : intentLines(intent)),
    ...(expiresAtMs === undefined
      ? []
      : [["quote", `${flow.isExpired ? "expired" : "valid until"} ${instant(expiresAtMs)}`] as const]),
    ...moneyLines(flow),
    ...(reason === undefined ? [] : [["why", reason] as const]),
    ...(retryAtMs === undefined ? [] : [["continues", `at ${instant(retryAtMs)}`] as const]),
    ...outcomeLines(flow),
    ...(claim === undefined || claim.signature === ""
      ? []
      : [["request", `POST ${claim.path}, signature ${claim.signature.slice(0, 16)}…`] as const]),
    ...history.map((step): Line => ["step", `at ${stepText(step)}`]),
    ...decisionsOf(flow).map((decision): Line => ["decision", decisionText(decision)]),
    ...proposalLines(proposalOf(flow)),
  ];
}

function intentLines(intent: PaymentIntent): readonly Line[] {
  const { senderAmount, senderCurrency, senderGatewayId, receiverAmount, receiverCurrency, receiverGatewayId } = intent;
  return [
    ["from", `${senderAmount} ${senderCurrency}, ${senderGatewayId}`],
    ["to", `${receiverAmount} ${receiverCurrency}, ${receiverGatewayId}`],
    ["intent", intent.id],
  ];
}

function moneyLines({ phase, prunedAtMs, senderGatewayTransactionId: id }: FlowDetails): readonly Line[] {
  if (prunedAtMs !== undefined || phase === "quoted" || phase === "declined") return [];
  return [["money", moneyText(phase, id)]];
}

function outcomeLines({ outcome }: FlowDetails): readonly Line[] {
  switch (outcome?.status) {
    case "held": {
      const { match } = outcome;
      if (match === undefined) return [];
      return [["match", `payment ${match.id} has the flow's transaction id, but another body`]];
    }
    case "paid": {
      const { id, senderGatewayStatus, receiverGatewayStatus } = outcome.payment;
      return [["payment", `${id}, sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`]];
    }
    case "rejected":
      return [["why", refusalText(outcome.refusal)]];
    case "declined":
      return outcome.reason === undefined ? [] : [["why", outcome.reason]];
    default:
      return [];
  }
}

function refusalText({ by, status, serviceCode, serviceMessage, why }: FlowRefusal): string {
  const said = [status, serviceCode, serviceMessage, why].filter((part) => part !== undefined);
  return `refused by the ${by}: ${said.join(" ")}`;
}

/** What the flow would be settled with. The record's names and accounts are not for a terminal. */
function proposalLines(proposal: FlowDecision | undefined): readonly Line[] {
  if (proposal === undefined) return [];
  const { payment } = proposal;
  const proposed: Line = ["proposal", decisionText(proposal)];
  if (payment === undefined) return [proposed];
  const { id, senderGatewayStatus, receiverGatewayStatus, senderGatewayTransactionId } = payment;
  const statuses = `sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`;
  const record = `payment ${id}, transaction ${senderGatewayTransactionId}, ${statuses}: given with the proposal`;
  return [proposed, ["record", record]];
}
