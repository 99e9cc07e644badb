import { isSamePerson } from "../flows/core/owner.js";
import { maxWhy } from "../flows/operate.js";
import type { Claim, FlowDecision, ResolveAction } from "../flows/outcome.js";
import type { FlowDetails, HistoryStep } from "../flows/status.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { decisionsOf, instant, proposalOf } from "./history-texts.js";
import { hidden, maskedJson } from "./masked.js";
import { chip, duration, fact, flowLink, type Html, html, phaseNames, time } from "./page.js";

/** Facts for the pages of one flow. */
export interface FlowFacts {
  readonly flow: FlowDetails;
  readonly user: string;
  readonly people: 1 | 2;
  readonly token: string;
  /** Whether names and account numbers are shown, and whether they can be. */
  readonly isShown: boolean;
  readonly canShow: boolean;
  /** The result of the last form. */
  readonly said?: string | undefined;
  /** Whether a decision is being carried out. */
  readonly isUnderway: boolean;
  readonly nowMs: number;
}

export function flowContent(facts: FlowFacts): Html {
  const { flow, said, isShown, nowMs } = facts;
  const { key, phase, createdAtMs, intent, outcome, reason, claim, history } = flow;
  const decisions = decisionsOf(flow);
  const match = outcome?.status === "held" ? outcome.match : undefined;
  const nextMs = outcome === undefined || flow.isWaiting ? nowMs : undefined;
  return html`<p><a href="?">Back to the queue</a></p>
<h1><bdi>${key}</bdi> ${chip(phase, phaseNames[phase])}</h1>
${said && html`<p class="note good" role="status">${said}</p>`}
<p class="reason">${reason ?? outcomeText(flow)}</p>
${paymentFacts(facts, { do: "show" }, fact("Started", html`${time(createdAtMs)} (${duration(nowMs - createdAtMs)} ago)`))}
${match && html`<section><h2>A possible match</h2><p>This listed payment has the same gateway and transaction, but differs otherwise. Compare it before you decide.</p><pre>${maskedJson(match, isShown)}</pre></section>`}
${decisionForms(facts)}
${claim && evidence(flow, claim)}
<section><h2>Timeline</h2><ol class="timeline">${history.map((step, index) => timelineStep(step, history[index + 1]?.atMs ?? nextMs))}</ol></section>
${decisions.length > 0 && html`<section><h2>Decisions</h2>${decisions.map((one) => html`<p>${decisionText(one, intent)}</p>`)}</section>`}
${claim && html`<details><summary>The signed request</summary><p>POST ${claim.path}</p><pre>${maskedJson(JSON.parse(claim.body), isShown)}</pre></details>`}`;
}

function outcomeText({ phase, outcome }: FlowDetails): string {
  if (outcome?.status === "paid") {
    return `Paid as ${outcome.payment.id}.${outcome.isSettledBadly ? " Its status says error or reverted." : ""}`;
  }
  if (outcome?.status !== "rejected") return `${phaseNames[phase]}.`;
  const { by, serviceCode } = outcome.refusal;
  const money = outcome.senderGatewayTransactionId ? "The sender's money was given back." : "No money was taken.";
  return `Rejected by the ${by}${serviceCode ? ` (${serviceCode})` : ""}. ${money}`;
}

/** Facts that a clerk can check. */
function paymentFacts(facts: FlowFacts, shows: Fields, more: Html | undefined): Html {
  const { flow, isShown, canShow } = facts;
  const { intent, senderGatewayTransactionId } = flow;
  const person = (name: string, account: string) => (isShown ? `${name}, account ${account}` : hidden);
  return html`<section><dl>${
    intent &&
    html`${fact("Amount", amountText(intent))}${fact("Sender", `${person(intent.senderName, intent.senderAccount)} at ${intent.senderGatewayId}`)}
${fact("Receiver", `${person(intent.receiverName, intent.receiverAccount)} at ${intent.receiverGatewayId}`)}${fact("Receiver gets", `${intent.receiverAmount} ${intent.receiverCurrency}`)}`
  }${fact("Transaction", senderGatewayTransactionId)}${more}${intent && fact("Memo", intent.memo)}</dl>${intent && !isShown && canShow && form(facts, shows, html`<button class="plain">Show names and account numbers (this is noted)</button>`)}
${!canShow && html`<p class="soft">The console doesn't show names and account numbers.</p>`}</section>`;
}

function amountText(intent: PaymentIntent | undefined): string {
  return intent === undefined ? "the money" : `${intent.senderAmount} ${intent.senderCurrency}`;
}

/** The service's support asks for this. */
function evidence({ senderGatewayTransactionId: id, intent, history }: FlowDetails, { path, signature }: Claim): Html {
  const sent = history.map(({ phase, atMs }, index) =>
    phase === "claimed" ? `Sent between: ${instant(atMs)} and ${instant(history[index + 1]?.atMs)}\n` : "",
  );
  return html`<section><h2>Evidence for the service's support</h2><pre id="evidence">POST ${path}
Transaction id: ${id}
Payment intent: ${intent?.id}
${sent}Signature: ${signature}</pre>
<button class="plain" type="button" data-copy="evidence" hidden>Copy evidence</button></section>`;
}

function timelineStep({ atMs, phase, by = "" }: HistoryStep, untilMs: number | undefined): Html {
  // A process is named by a long random id.
  const name = by.length > 24 ? `process ${by.slice(0, 8)}` : by;
  return html`<li><b>${phaseNames[phase]}</b> <span class="soft">${time(atMs)}${untilMs && `, for ${duration(untilMs - atMs)}`}${name && `, by ${name}`}</span></li>`;
}

function decisionText(decision: FlowDecision, intent: PaymentIntent | undefined): Html {
  const { action, by, why, atMs, withoutProof, approvedBy } = decision;
  return html`<b>${titleOf(action, intent)}</b>${withoutProof && html` <b class="warn">without proof</b>`} by ${by}${approvedBy && `, approved by ${approvedBy}`}, ${time(atMs)}. Ticket: ${why}`;
}

function decisionForms(facts: FlowFacts): Html | undefined {
  const { flow, people, isUnderway } = facts;
  if (isUnderway) {
    return html`<section role="status"><p><b>A decision is being carried out.</b> This can take minutes. The page reloads itself.</p></section>`;
  }
  if (!flow.isWaiting) return undefined;
  const proposal = proposalOf(flow);
  if (proposal !== undefined) return proposalForms(facts, proposal);
  const cards = actions.map((action) => {
    const { happens } = actionTexts[action];
    return html`<button class="card ${action}" name="action" value="${action}"><b>${titleOf(action, flow.intent)}</b><span>${happens}</span></button>`;
  });
  return html`<section><h2>${people === 2 ? "Propose what another person must approve" : "Decide"}</h2>
${form(facts, { do: "review" }, html`<label>Ticket or reason <input type="text" name="why" required maxlength="${maxWhy}" autocomplete="off"></label><div class="cards">${cards}</div>`)}
<p class="soft">You confirm on the next page.</p></section>`;
}

function proposalForms(facts: FlowFacts, proposal: FlowDecision): Html {
  const { intent } = facts.flow;
  const { action, payment } = proposal;
  const { happens, needs } = actionTexts[action];
  const isOwn = isSamePerson(proposal.by, facts.user);
  return html`<section><h2>Waits for approval</h2><p>${decisionText(proposal, intent)}</p><p>${happens}</p>
${payment !== undefined && html`<p>If this is approved, the payment ends with this record:</p><pre>${maskedJson(payment, facts.isShown)}</pre>`}
${
  isOwn
    ? html`<p><b>You proposed this. Another person must approve it.</b></p>`
    : html`<p class="note"><b>Before you approve:</b> ${needs}</p>${form(facts, { do: "approve" }, html`<button class="${action}">Approve: ${lowered(titleOf(action, intent))}</button>`)}`
}
${form(facts, { do: "refuse" }, html`<button class="plain">${isOwn ? "Take it back" : "Refuse"}</button>`)}</section>`;
}

function lowered(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

type Fields = Readonly<Record<string, string>>;

function form({ token, flow: { revision } }: FlowFacts, fields: Fields, content: Html): Html {
  const hiddenFields = Object.entries({ ...fields, token, revision: String(revision) });
  return html`<form method="post">${hiddenFields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}${content}</form>`;
}

/** The effect of an action in one sentence, and what a clerk must know before. */
const actionTexts = {
  found: {
    title: "Mark as paid",
    happens: "The payment counts as made, and the bank keeps the sender's money.",
    needs: "The service lists the payment, or its support gave you the record of it.",
  },
  release: {
    title: "Refund AMOUNT to the sender",
    happens: "The bank gives the money back to the sender, and nothing is sent to the service.",
    needs:
      "The service's support has confirmed that the payment was not made and won't be. That it isn't listed proves nothing.",
  },
  resend: {
    title: "Send again",
    happens: "The same signed payment is sent to the service a second time.",
    needs:
      "The service's support has confirmed that the payment was not made and that the first request won't make it. Otherwise the receiver can be paid twice.",
  },
} as const;

function titleOf(action: ResolveAction, intent: PaymentIntent | undefined): string {
  return actionTexts[action].title.replace("AMOUNT", amountText(intent));
}

export const actions: readonly ResolveAction[] = ["found", "release", "resend"];

/** Repeats what is about to happen, before it does. */
export function confirmContent(facts: FlowFacts, action: ResolveAction, why: string): Html {
  const { flow, people } = facts;
  const { happens, needs } = actionTexts[action];
  const title = titleOf(action, flow.intent);
  return html`<p>${flowLink(flow.key, "Back to the payment")}</p>
<h1>${title}?</h1><p>${happens}</p><p class="note"><b>Before you confirm:</b> ${needs}</p>
${paymentFacts(facts, { do: "review", show: "yes", action, why }, html`${fact("Payment", flow.key)}${fact("Ticket", why)}`)}
${form(
  facts,
  { do: people === 2 ? "propose" : "resolve", action, why },
  html`${
    action === "found"
      ? html`<details><summary>If the service doesn't list the payment</summary><label>The service's record of the payment, as JSON <textarea name="payment" rows="4"></textarea></label></details>`
      : html`<details><summary>If the search can't prove that the payment is absent</summary><label class="check"><input type="checkbox" name="withoutProof" value="yes"> Decide without proof. I have the support's confirmation in writing.</label></details>`
  }<button class="${action}">${people === 2 ? `Propose: ${lowered(title)}` : title}</button>
${people === 2 && html`<p class="soft">Another person must approve it before anything happens.</p>`}`,
)}`;
}
