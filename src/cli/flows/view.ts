import { instant, lookText, moneyText, stepText } from "../../desk/history-texts.js";
import { counted } from "../../errors/counted.js";
import { describeDecision } from "../../flows/decision-effects.js";
import type { FlowDetails, WaitingProposal } from "../../flows/flow-details.js";
import type { Claim, FlowFailures, FlowHistory, OperatorDecision } from "../../flows/index.js";
import type { PaymentIntent } from "../../resources/payment-intents.js";
import { wrappedData } from "../layout.js";
import { printable } from "../printable.js";
import { print, styled, type Terminal } from "../terminal.js";

type Line = readonly [label: string, text: string];

/** Shows a flow to the person who has to decide about it: one line a fact, wrapped on a narrow terminal. */
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
  const { key, phase, sinceMs, createdAtMs, owner, leaseUntilMs, intent, expiresAtMs, failures, prunedAtMs } = flow;
  return [
    ["key", key],
    ["phase", `${phase} since ${instant(sinceMs)}, begun ${instant(createdAtMs)}`],
    ...(prunedAtMs === undefined ? [] : [["pruned", `at ${instant(prunedAtMs)}`] as const]),
    ...(flow.evidence === undefined ? [] : [["evidence", JSON.stringify(flow.evidence)] as const]),
    ...(owner === undefined ? [] : [["owner", `${owner}, until ${instant(leaseUntilMs)}`] as const]),
    ...(intent === undefined ? [] : intentLines(intent)),
    ...(expiresAtMs === undefined
      ? []
      : [["quote", `${flow.isExpired ? "expired" : "holds until"} ${instant(expiresAtMs)}`] as const]),
    ...moneyLines(flow),
    ...outcomeLines(flow),
    ...(failures === undefined ? [] : [["failures", failuresText(failures)] as const]),
    ...(flow.claims ?? []).map((claim): Line => ["request", claimText(claim)]),
    ...(flow.looks ?? []).map((look): Line => ["look", `at ${lookText(look)}`]),
    ...(flow.lookalike === undefined
      ? []
      : [
          [
            "lookalike",
            `payment ${flow.lookalike.id} has this flow's transaction id or content: whose is it?`,
          ] as const,
        ]),
    ...historyLines(flow.history),
    ...(flow.decisions ?? []).map((decision): Line => [decision.step ?? "decision", decisionText(decision)]),
    ...proposalLines(flow.proposal),
    ...(flow.proposal?.isOutdated
      ? [["note", "the flow has moved on since that was proposed: it can't be approved any more"] as const]
      : []),
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
      const { reason, response } = outcome;
      const { status, serviceCode, requestId } = response ?? {};
      const parts = [status, serviceCode, requestId].filter((part) => part !== undefined);
      return [["why", reason], ...(parts.length === 0 ? [] : [["response", parts.join(", ")] as const])];
    }
    case "paid": {
      const { id, senderGatewayStatus, receiverGatewayStatus } = outcome.payment;
      return [["payment", `${id}, sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`]];
    }
    case "rejected":
      return [["why", `${outcome.refusal.code}, by the ${outcome.refusal.by}: ${outcome.refusal.message}`]];
    case "declined":
      return outcome.reason === undefined ? [] : [["why", outcome.reason]];
    default:
      return [];
  }
}

/** Which one waits, and what the flow would be settled with. The record's names and accounts are not for a terminal. */
function proposalLines(proposal: WaitingProposal | undefined): readonly Line[] {
  if (proposal === undefined) return [];
  const { payment, hash } = proposal;
  const named: Line = ["proposal", hash];
  if (payment === undefined || typeof payment === "string") return [named];
  const { id, senderGatewayStatus, receiverGatewayStatus, senderGatewayTransactionId } = payment;
  const statuses = `sender ${senderGatewayStatus}, receiver ${receiverGatewayStatus}`;
  const record = `payment ${id}, transaction ${senderGatewayTransactionId}, ${statuses}: given with the proposal`;
  return [named, ["record", record]];
}

function failuresText(failures: FlowFailures): string {
  const { count, sinceMs, atMs } = failures;
  return `${count} since ${instant(sinceMs)}, the last at ${instant(atMs)}: ${failureText(failures)}`;
}

export function failureText({ code, errorCode, message }: FlowFailures): string {
  return `${[code, errorCode].filter(Boolean).join(", ")}: ${message}`;
}

function claimText({ claimedAtMs, sendByMs, signature, isRefused, isAbsent }: Claim): string {
  const since = isRefused ? "; refused" : isAbsent ? "; proved absent" : "";
  return `made at ${instant(claimedAtMs)}, not sent after ${instant(sendByMs)}, signature ${signature.slice(0, 16)}…${since}`;
}

function historyLines({ steps, dropped }: FlowHistory = { steps: [], dropped: 0 }): readonly Line[] {
  const older: readonly Line[] = dropped === 0 ? [] : [["step", `${counted(dropped, "older step")} not kept`]];
  return [...older, ...steps.map((step): Line => ["step", `at ${stepText(step)}`])];
}

function decisionText(decision: OperatorDecision): string {
  const [what, why] = describeDecision(decision);
  return `${what} by ${decision.by} at ${instant(decision.atMs)}: ${why}`;
}
