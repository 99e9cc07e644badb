import type { FlowCounts } from "../flows/status.js";
import { amountOf, type Decimal, divide, plus } from "../money.js";
import type { DeskFlow } from "./desk-options.js";
import { chip, duration, fact, flowLink, type Html, html, phaseNames } from "./page.js";

export type Waiting = ReturnType<DeskFlow["held"]> extends AsyncIterable<infer Item> ? Item : never;

interface WaitingFlows {
  readonly found: readonly Waiting[];
  /** Why flows can't be read. */
  readonly unread: string;
  readonly counts: FlowCounts;
  /** The query of the page's address. */
  readonly query: Readonly<Record<string, string | undefined>>;
  readonly nowMs: number;
}

const maxShown = 100;

const statuses = { decision: "Needs a decision", approval: "Waits for approval" } as const;
type Status = keyof typeof statuses;

export function listContent(facts: WaitingFlows): Html {
  const { found, unread, counts, query } = facts;
  const { q = "", status = "" } = query;
  const sought = q.trim().toLowerCase();
  const matching = found
    .filter((flow) => status === "" || statusOf(flow) === status)
    .filter(({ key, senderGatewayTransactionId: id }) => `${key}\n${id}`.toLowerCase().includes(sought))
    .sort((one, other) => one.createdAtMs - other.createdAtMs);
  return html`<h1>Needs review</h1>
<dl class="tiles">${fact("Payments", String(found.length))}${fact("At risk", totals(found) || "Nothing")}</dl>
<form class="filters" method="get"><label>Key or transaction id <input type="search" name="q" value="${q}" autocomplete="off"></label>
<label>Status <select name="status">${Object.entries({ "": "All", ...statuses }).map(([value, text]) => html`<option value="${value}" ${value === status && "selected"}>${text}</option>`)}</select></label><button class="plain">Apply</button></form>
${unread && html`<p class="note bad">${unread}</p>`}
${matching.length === 0 ? emptyState(found.length, q.trim()) : table(matching.slice(0, maxShown), facts)}
${matching.length > maxShown && html`<p class="soft">These are the oldest ${maxShown} of ${matching.length}.</p>`}
<details><summary>All payments by status</summary><dl>${Object.entries(counts).map(([phase, count]) => count > 0 && fact(phaseNames[phase as keyof FlowCounts] ?? phase, String(count)))}</dl></details>`;
}

function emptyState(all: number, sought: string): Html {
  return html`<div class="empty"><p><b>${all === 0 ? "Nothing needs review." : "No payment that needs review matches."}</b></p>
<p class="soft">A payment appears here if the service's answer was lost and the payment can't be found.</p>
${sought && html`<p>${flowLink(sought, `Look up the key “${sought}” among all payments`)}</p>`}</div>`;
}

function table(shown: readonly Waiting[], facts: WaitingFlows): Html {
  return html`<table><thead><tr><th scope="col">Key</th><th scope="col">Amount</th><th scope="col">Age</th><th scope="col">Reason</th><th scope="col">Status</th></tr></thead>
<tbody>${shown.map((flow) => {
    const { key, intent, createdAtMs, reason, proposal } = flow;
    const status = statusOf(flow);
    return html`<tr><td data-label="Key">${flowLink(key, html`<bdi>${key}</bdi>`)}</td>
<td data-label="Amount" class="amount">${intent.senderAmount} ${intent.senderCurrency}</td><td data-label="Age" class="age">${duration(facts.nowMs - createdAtMs)}</td>
<td data-label="Reason">${reason}</td><td data-label="Status">${chip(status, statuses[status])}${proposal && html`<div class="soft">by ${proposal.by}</div>`}</td></tr>`;
  })}</tbody></table>`;
}

function statusOf({ proposal }: Waiting): Status {
  return proposal === undefined ? "decision" : "approval";
}

/** The sender's money, by currency. */
function totals(found: readonly Waiting[]): string {
  const sums = new Map<string, Decimal>();
  for (const { intent } of found) {
    const amount = amountOf(intent.senderAmount);
    const sum = sums.get(intent.senderCurrency) ?? { units: 0n, scale: 0 };
    if (amount !== undefined) sums.set(intent.senderCurrency, plus(sum, amount));
  }
  const one = { units: 1n, scale: 0 };
  return [...sums].map(([currency, sum]) => `${divide(sum, one, { scale: sum.scale })} ${currency}`).join(" + ");
}
