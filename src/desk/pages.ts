import { counted } from "../core/describe.js";
import { isSamePerson } from "../flows/core/owner.js";
import { decisionEffects } from "../flows/core/reasons.js";
import { maxWhy } from "../flows/operate.js";
import type { FlowDecision, ResolveAction } from "../flows/outcome.js";
import type { FlowCounts, FlowDetails } from "../flows/status.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { DeskFlow } from "./desk-options.js";
import { decisionsOf, decisionText, instant, moneyText, proposalOf, stepText } from "./history-texts.js";
import { Html, html } from "./html.js";
import { hidden, maskedBody, maskedJson } from "./masked.js";
import { pageStyle } from "./page-style.js";

/** What every page knows. */
export interface PageFacts {
  /** Allows the page's own style. */
  readonly nonce: string;
  /** Absent if nobody is logged in. */
  readonly user?: string;
  /** The page reloads itself soon. */
  readonly isUnderway?: boolean;
}

/** What a user asked for at the desk. */
export interface Task {
  readonly what: "approval" | "decision";
  readonly by: string;
  /** When, in milliseconds since 1970. */
  readonly atMs: number;
}

export function taskText({ what, by, atMs }: Task): string {
  return `the ${what} by ${by} at ${instant(atMs)}`;
}

export function page({ nonce, user, isUnderway }: PageFacts, title: string, content: Html): string {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
${isUnderway === true && html`<meta http-equiv="refresh" content="5">`}<link rel="icon" href="data:,"><style nonce="${nonce}">${new Html(pageStyle)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<header><h1>${title}</h1>${user !== undefined && html`<p class="soft">You are <b>${user}</b>. <a href="?">All held flows</a></p>`}</header>
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
<section aria-labelledby="waiting"><h2 id="waiting">Held flows</h2>
${found.length === 0 && html`<p>No flow is held.</p>`}
<ul class="flows">${found.map((flow) => listItem(flow, nowMs))}</ul>
${isCut && html`<p>There are more. These are the first ${found.length}.</p>`}
${problems.map((problem) => html`<p class="bad">${problem}</p>`)}</section>`;
}

function listItem({ key, intent, createdAtMs, reason, proposal }: Waiting, nowMs: number): Html {
  return html`<li class="flow"><a href="?flow=${encodeURIComponent(key)}"><bdi>${key}</bdi></a>
<dl>${fact("begun", `${age(nowMs - createdAtMs)} ago`)}${fact("amount", `${intent.senderAmount} ${intent.senderCurrency}`)}${fact("to", intent.receiverGatewayId)}
${proposal && fact("proposed", `${proposal.action}, by ${proposal.by}`)}</dl>
<p>${reason}</p></li>`;
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
  /** What this desk is carrying out, and what failed. */
  readonly underway?: Task | undefined;
  readonly undone?: (Task & { readonly why: string }) | undefined;
  readonly nowMs: number;
}

export function flowContent(facts: FlowFacts): Html {
  const { flow, said, isShown, nowMs } = facts;
  const { key, phase, createdAtMs, sinceMs, intent, outcome, owner, reason, claim, history } = flow;
  const decisions = decisionsOf(flow);
  const match = outcome?.status === "held" ? outcome.match : undefined;
  return html`${said !== undefined && html`<p role="status"><b>${said}</b></p>`}
<section aria-labelledby="flow"><h2 id="flow"><bdi>${key}</bdi></h2>
<dl>${fact("phase", phase)}${fact("begun", `${instant(createdAtMs)}, ${age(nowMs - createdAtMs)} ago`)}${fact("since", instant(sinceMs))}
${owner !== undefined && fact("owner", ownerText(owner, flow.leaseUntilMs, nowMs))}${intent && intentFacts(intent, isShown)}
${fact("money", moneyText(phase, flow.senderGatewayTransactionId))}</dl>
${reason !== undefined && html`<p>${reason}</p>`}
${outcome?.status === "paid" && html`<p>Paid: payment ${outcome.payment.id}.${outcome.isSettledBadly && " Its status says error or reverted."}</p>`}
${outcome?.status === "rejected" && html`<p>Rejected by the ${outcome.refusal.by}${outcome.refusal.serviceCode !== undefined && `: ${outcome.refusal.serviceCode}`}.</p>`}
${showForm(facts)}</section>
${undoneText(facts)}
${decisionForms(facts)}
${
  claim &&
  html`<section><h2>The signed request</h2>
<pre>POST ${claim.path}\n${maskedBody(claim.body, isShown)}</pre><p class="soft">signature <code>${claim.signature}</code></p></section>`
}
${match && html`<section><h2>A possible match</h2><p>This listed payment has the flow's sender gateway and transaction id, but another body.</p><pre>${maskedJson(match, isShown)}</pre></section>`}
${decisions.length > 0 && html`<section><h2>Decisions</h2><ul>${decisions.map((one) => html`<li>${decisionText(one)}</li>`)}</ul></section>`}
${history.length > 0 && html`<section><h2>History</h2><ul>${history.map((step) => html`<li>${stepText(step)}</li>`)}</ul></section>`}`;
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
  if (!facts.canShow) return html`<p class="soft">The desk doesn't show names and account numbers.</p>`;
  return form(facts, "show", html`<button class="plain">Show names and account numbers (this is logged)</button>`);
}

function ownerText(owner: string, untilMs = 0, nowMs: number): string {
  return untilMs <= nowMs ? `${owner}, which is gone` : `${owner}, until ${instant(untilMs)} unless it ends sooner`;
}

function undoneText({ undone, flow }: FlowFacts): Html | undefined {
  if (undone === undefined || (flow.outcome !== undefined && !flow.isWaiting)) return undefined;
  return html`<p class="bad" role="alert">Of ${taskText(undone)}: ${undone.why}</p>`;
}

function decisionForms(facts: FlowFacts): Html | undefined {
  const { flow, people, underway } = facts;
  if (underway !== undefined) {
    return html`<section role="status"><p><b>The desk is carrying out ${taskText(underway)}.</b> This can take minutes. The page reloads itself.</p></section>`;
  }
  if (!flow.isWaiting) return undefined;
  const proposal = proposalOf(flow);
  if (proposal !== undefined) return proposalForms(facts, proposal);
  const title = people === 2 ? "Propose what another person must approve" : "Decide";
  return html`<section aria-labelledby="decide"><h2 id="decide">${title}</h2>
<p>An absent record proves nothing. Ask the service's operators first.</p>
${form(
  facts,
  people === 2 ? "propose" : "resolve",
  html`<fieldset><legend>What should happen</legend>${(["found", "release", "resend"] as const).map(
    (action) =>
      html`<label><input type="radio" name="action" value="${action}" required> <b>${action}</b> ${effect(action)}</label>`,
  )}</fieldset>
<label>Why, for example a ticket <input type="text" name="why" required maxlength="${maxWhy}" autocomplete="off"></label>
<label><input type="checkbox" name="withoutProof" value="yes"> Release or resend without proof, even if the list can't be read</label>
<label>For found, if the payment isn't listed: the service's record, as JSON <textarea name="payment" rows="2"></textarea></label>
<button>${people === 2 ? "Propose" : "Decide"}</button>`,
)}</section>`;
}

function proposalForms(facts: FlowFacts, proposal: FlowDecision): Html {
  const { action, withoutProof, payment } = proposal;
  const isOwn = isSamePerson(proposal.by, facts.user);
  return html`<section aria-labelledby="decide"><h2 id="decide">A proposal waits</h2><p>${decisionText(proposal)}</p>
<p><b>${action}</b>${withoutProof && html` <b class="bad">without proof</b>`} ${effect(action)}</p>
${payment !== undefined && html`<p>If this is approved, the flow is settled with this record:</p><pre>${maskedJson(payment, facts.isShown)}</pre>`}
${isOwn ? html`<p>You proposed this. Another person must approve it.</p>` : form(facts, "approve", html`<button>Approve</button>`)}
${form(facts, "refuse", html`<button class="plain">${isOwn ? "Take it back" : "Refuse"}</button>`)}</section>`;
}

function form({ token, flow: { revision } }: FlowFacts, task: string, content: Html): Html {
  return html`<form method="post"><input type="hidden" name="do" value="${task}"><input type="hidden" name="token" value="${token}">
<input type="hidden" name="revision" value="${revision}">${content}</form>`;
}

function effect(action: ResolveAction): string {
  const { needs, does, follows } = decisionEffects[action];
  return `You need: ${needs} First: ${does} Then: ${follows}`;
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
