import { counted } from "../errors/counted.js";
import { mostWhy } from "../flows/check-resolution.js";
import { decisionEffects, describeDecision } from "../flows/decision-effects.js";
import type { FlowCounts } from "../flows/flow-status.js";
import { describeElsewhere } from "../flows/flows-elsewhere.js";
import { isSamePerson, verifyDecisions } from "../flows/state/decision-chain.js";
import type { OperatorDecision, ResolveAction } from "../flows/state/flow-state.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { DeskFlow, FlowDetails, WaitingProposal } from "./desk-options.js";
import { instant, lookText, moneyText, stepText } from "./history-texts.js";
import { Html, html } from "./html.js";
import { hidden, maskedBody, maskedJson } from "./masked.js";
import { pageStyle } from "./page-style.js";

/** What every page knows. */
export interface PageFacts {
  /** Allows the page's own style. */
  readonly nonce: string;
  /** Absent where nobody is logged in. */
  readonly user?: string;
  /** Whether it is worth while to load it again soon. */
  readonly isUnderway?: boolean;
}

/** What somebody asked for at the desk. */
export interface Task {
  readonly what: "approval" | "decision";
  readonly by: string;
  /** When, in milliseconds since 1970. */
  readonly atMs: number;
}

export function taskText({ what, by, atMs }: Task): string {
  return `the ${what} by ${by} of ${instant(atMs)}`;
}

export function page({ nonce, user, isUnderway }: PageFacts, title: string, content: Html): string {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
${isUnderway === true && html`<meta http-equiv="refresh" content="5">`}<link rel="icon" href="data:,"><style nonce="${nonce}">${new Html(pageStyle)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><h1>${title}</h1>${user !== undefined && html`<p class="soft">You are <b>${user}</b>. <a href="?">All that waits</a></p>`}</header>
<main id="main" tabindex="-1">${content}</main></body></html>
`;
  return text;
}

export type Waiting = DeskFlow["held"] extends () => AsyncIterable<infer Item> ? Item : never;

interface WaitingFlows {
  readonly found: readonly Waiting[];
  /** Whether there are more, which are not shown. */
  readonly isCut: boolean;
  /** Of flows that can't be read. */
  readonly problems: readonly string[];
  readonly counts: FlowCounts;
  readonly nowMs: number;
}

export function listContent({ found, isCut, problems, counts, nowMs }: WaitingFlows): Html {
  const phases = Object.entries(counts).filter(([, count]) => count > 0);
  return html`<section><h2>Flows by phase</h2><dl>${phases.map(([phase, count]) => fact(phase, String(count)))}</dl></section>
<section aria-labelledby="waiting"><h2 id="waiting">What waits for you</h2>
${found.length === 0 && html`<p>Nothing is held or stuck.</p>`}
<ul class="flows">${found.map((flow) => listItem(flow, nowMs))}</ul>
${isCut && html`<p>There are more: the first ${found.length} are shown.</p>`}
${problems.map((problem) => html`<p class="bad">${problem}</p>`)}</section>`;
}

function listItem(flow: Waiting, nowMs: number): Html {
  if (flow.status === "elsewhere") return html`<li class="flow">${describeElsewhere(flow)}</li>`;
  const { key, intent, createdAtMs, status } = flow;
  const last = flow.decisions.at(-1);
  return html`<li class="flow"><a href="?flow=${encodeURIComponent(key)}"><bdi>${key}</bdi></a>
<dl>${fact("is", status === "stuck" ? `stuck, ${flow.phase}` : status)}${fact("begun", `${age(nowMs - createdAtMs)} ago`)}
${intent && html`${fact("amount", `${intent.senderAmount} ${intent.senderCurrency}`)}${fact("to", intent.receiverGatewayId)}`}
${last?.step === "proposed" && fact("proposed", `${last.action}, by ${last.by}`)}</dl>
<p>${status === "stuck" ? `${flow.failures.code}: ${flow.failures.message}` : flow.reason}</p></li>`;
}

/** What the page of one flow is made of. */
export interface FlowFacts {
  readonly flow: FlowDetails;
  readonly user: string;
  readonly people: 1 | 2;
  readonly token: string;
  /** Whether names and account numbers are shown, and whether they can be. */
  readonly isShown: boolean;
  readonly canShow: boolean;
  /** What was just done. */
  readonly said?: string | undefined;
  /** What this desk is carrying out, and what it could not. */
  readonly underway?: Task | undefined;
  readonly undone?: (Task & { readonly why: string }) | undefined;
  readonly nowMs: number;
}

export function flowContent(facts: FlowFacts): Html {
  const { flow, said, isShown, nowMs } = facts;
  const { key, phase, createdAtMs, sinceMs, intent, failures, outcome, owner } = flow;
  const { claims = [], looks = [], decisions = [], history } = flow;
  const payment = outcome?.status === "paid" ? outcome.payment : undefined;
  const { problem } = verifyDecisions({ key, decisions, payment }, { people: facts.people });
  return html`${said !== undefined && html`<p role="status"><b>${said}</b></p>`}
<section aria-labelledby="flow"><h2 id="flow"><bdi>${key}</bdi></h2>
<dl>${fact("phase", phase)}${fact("begun", `${instant(createdAtMs)}, ${age(nowMs - createdAtMs)} ago`)}${fact("since", instant(sinceMs))}
${owner !== undefined && fact("with", ownerText(owner, flow.leaseUntilMs, nowMs))}${intent && intentFacts(intent, isShown)}
${fact("money", moneyText(phase, flow.senderGatewayTransactionId))}</dl>
${outcome?.status === "held" && html`<p>${outcome.reason}</p>`}
${failures && html`<p class="bad">${failures.code}, ${counted(failures.count, "time")} since ${instant(failures.sinceMs)}: ${failures.message}</p>`}
${outcome?.status === "paid" && html`<p>Paid: payment ${outcome.payment.id}.</p>`}
${outcome?.status === "rejected" && html`<p>Rejected: ${outcome.refusal.code}, by the ${outcome.refusal.by}.</p>`}
${showForm(facts)}</section>
${undoneText(facts)}
${decisionForms(facts)}
${
  claims.length > 0 &&
  html`<section><h2>Requests that may have been sent</h2>${claims.map(
    ({
      path,
      body,
      signature,
      claimedAtMs,
      sendByMs,
    }) => html`<dl>${fact("made", instant(claimedAtMs))}${fact("not sent after", instant(sendByMs))}</dl>
<pre>POST ${path}\n${maskedBody(body, isShown)}</pre><p class="soft">signature <code>${signature}</code></p>`,
  )}</section>`
}
${
  looks.length > 0 &&
  html`<section><h2>Looks at the list of payments</h2><ul>${looks.map((look) => html`<li>${lookText(look)}</li>`)}</ul>
${flow.lookalike && html`<p>A payment that only looks like this flow's. Whose is it?</p><pre>${maskedJson(flow.lookalike, isShown)}</pre>`}</section>`
}
${decisions.length > 0 && html`<section><h2>Decisions</h2>${problem !== undefined && html`<p class="bad">Not as it should be: ${problem}.</p>`}<ul>${decisions.map((one) => html`<li>${decisionText(one)}</li>`)}</ul></section>`}
${
  history &&
  html`<section><h2>Steps</h2>${history.dropped > 0 && html`<p class="soft">${counted(history.dropped, "older step")} not kept</p>`}
<ul>${history.steps.map((step) => html`<li>${stepText(step)}</li>`)}</ul></section>`
}`;
}

function intentFacts(intent: PaymentIntent, isShown: boolean): Html {
  const { senderAmount, senderCurrency, senderGatewayId, receiverAmount, receiverCurrency, receiverGatewayId } = intent;
  const person = (name: string, account: string) => (isShown ? `${name}, account ${account}` : hidden);
  return html`${fact("from", `${senderAmount} ${senderCurrency}, ${senderGatewayId}`)}${fact("sender", person(intent.senderName, intent.senderAccount))}
${fact("to", `${receiverAmount} ${receiverCurrency}, ${receiverGatewayId}`)}${fact("receiver", person(intent.receiverName, intent.receiverAccount))}
${fact("memo", intent.memo)}${fact("intent", intent.id)}`;
}

function showForm(facts: FlowFacts): Html | undefined {
  if (facts.isShown || facts.flow.intent === undefined) return undefined;
  if (!facts.canShow) return html`<p class="soft">Names and account numbers are not shown here.</p>`;
  return form(
    facts,
    "show",
    html`<button class="plain">Show names and account numbers (it is noted that you saw them)</button>`,
  );
}

function ownerText(owner: string, untilMs = 0, nowMs: number): string {
  if (untilMs <= nowMs) return `${owner}, which is gone`;
  return `${owner}, which runs it or carries out a decision: until ${instant(untilMs)} nothing else is decided, unless it ends before`;
}

function undoneText({ undone, flow: { outcome } }: FlowFacts): Html | undefined {
  if (undone === undefined || (outcome !== undefined && outcome.status !== "held")) return undefined;
  return html`<p class="bad" role="alert">Of ${taskText(undone)}: ${undone.why}</p>`;
}

function decisionForms(facts: FlowFacts): Html | undefined {
  const { flow, user, people, underway } = facts;
  const { proposal } = flow;
  if (underway !== undefined) {
    return html`<section role="status"><p><b>Being carried out: ${taskText(underway)}.</b> It can take minutes: this page loads itself again.</p></section>`;
  }
  if (!flow.isWaiting) return undefined;
  if (flow.senderGatewayTransactionId === undefined) {
    return html`<section><p>No money is known to have been taken. Its program tries again by itself: there is nothing to decide.</p></section>`;
  }
  if (proposal !== undefined && !proposal.isOutdated)
    return proposalForms(facts, proposal, isSamePerson(proposal.by, user));
  const title = people === 2 ? "Propose what another person approves" : "Decide";
  return html`<section aria-labelledby="decide"><h2 id="decide">${title}</h2>
${proposal && html`<p>${decisionText(proposal)}. The flow has moved on since, so that it can't be approved any more.</p>`}
<p>That the payment is not listed proves nothing. Ask the service's operators first.</p>
${form(
  facts,
  people === 2 ? "propose" : "resolve",
  html`<fieldset><legend>What is to happen</legend>${(["found", "release", "resend"] as const).map(
    (action) =>
      html`<label><input type="radio" name="action" value="${action}" required> <b>${action}</b> ${effect(action)}</label>`,
  )}</fieldset>
<label>On what grounds, such as a ticket <input type="text" name="why" required maxlength="${mostWhy}" autocomplete="off"></label>
<label><input type="checkbox" name="withoutProof" value="yes"> release or resend although not every payment can be seen</label>
<label>For found, where the payment is not listed: the service's record, as JSON <textarea name="payment" rows="2"></textarea></label>
<button>${people === 2 ? "Propose" : "Decide"}</button>`,
)}</section>`;
}

function proposalForms(facts: FlowFacts, proposal: WaitingProposal, isOwn: boolean): Html {
  const { action, withoutProof, payment } = proposal;
  return html`<section aria-labelledby="decide"><h2 id="decide">A proposal waits</h2><p>${decisionText(proposal)}</p>
<p><b>${action}</b>${withoutProof && html` <b class="bad">without proof</b>`} ${effect(action)}</p>
${payment !== undefined && html`<p>The record that was given with it, as which the flow is settled:</p><pre>${maskedJson(payment, facts.isShown)}</pre>`}
${isOwn ? html`<p>You proposed this: another person approves it.</p>` : form(facts, "approve", html`<button>Approve</button>`)}
${form(
  facts,
  "refuse",
  html`<label>Why not <input type="text" name="why" required maxlength="${mostWhy}" autocomplete="off"></label><button class="plain">${isOwn ? "Take it back" : "Refuse"}</button>`,
)}</section>`;
}

function form({ token, flow: { seen, proposal } }: FlowFacts, task: string, content: Html): Html {
  return html`<form method="post"><input type="hidden" name="do" value="${task}"><input type="hidden" name="token" value="${token}">
<input type="hidden" name="seen" value="${seen}"><input type="hidden" name="proposal" value="${proposal?.hash}">${content}</form>`;
}

function effect(action: ResolveAction): string {
  const { evidence, does, follows } = decisionEffects[action];
  return `needs ${evidence}. Then ${does}. What follows: ${follows}.`;
}

function decisionText(decision: OperatorDecision): string {
  const [what, why] = describeDecision(decision);
  return `${instant(decision.atMs)}: ${what} ${decision.step ?? "decided"} by ${decision.by}: ${why}`;
}

function fact(name: string, value: string): Html {
  return html`<div><dt>${name}</dt><dd><bdi>${value}</bdi></dd></div>`;
}

function age(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  if (minutes < 120) return counted(minutes, "minute");
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? counted(hours, "hour") : counted(Math.floor(hours / 24), "day");
}
