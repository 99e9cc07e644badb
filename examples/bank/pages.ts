import { exchangeRate, type PaymentIntent } from "cross-border-payments";
import type { FlowStatus } from "cross-border-payments/flow";
import { Html, html } from "./html.js";
import type { Session } from "./users.js";

/** What the bank knows of a customer's order. */
export interface Order {
  readonly id: string;
  readonly status: "open" | "confirmed" | "paid" | "declined" | "rejected" | "held" | "quote_lost";
  readonly createdAt: Date;
}

/** What somebody has typed into the form of a new payment. */
export type Wanted = Readonly<Record<(typeof wantedFields)[number]["name"], string>>;

/** The fields of that form, which are fields of an intent. */
export const wantedFields = [
  { name: "receiverGatewayId", label: "Gateway of the receiver", attributes: "" },
  { name: "receiverAccount", label: "Account of the receiver", attributes: "" },
  { name: "receiverAmount", label: "Amount that arrives", attributes: 'inputmode="decimal"' },
  { name: "receiverCurrency", label: "Its currency", attributes: 'pattern="[A-Z]{3}" placeholder="KES"' },
  { name: "memo", label: "Memo", attributes: "" },
] as const;

export function loginPage(problem?: string): string {
  return page(
    "Log in",
    undefined,
    html`${alert(problem)}<form method="post" action="/login">
<label>Name <input name="name" required autocomplete="username"></label>
<label>Password <input name="password" type="password" required autocomplete="current-password"></label>
<button>Log in</button></form>`,
  );
}

export function operatorPage(session: Session): string {
  return page("Operators", session, html`<p><a href="/desk">The desk: payments that wait for a decision</a></p>`);
}

export function customerPage(
  session: Session,
  balance: string,
  orders: readonly Order[],
  { problem, wanted }: { readonly problem?: string; readonly wanted?: Wanted } = {},
): string {
  const inputs = wantedFields.map(
    ({ name, label, attributes }) =>
      html`<label>${label} <input name="${name}" value="${wanted?.[name]}" ${new Html(attributes)} ${name !== "memo" && html`required`}></label>`,
  );
  return page(
    "Payments",
    session,
    html`<p>Your balance: <b>${balance}</b></p>${alert(problem)}
<h2>A new payment</h2>${form(session, "/orders", html`${inputs}<button>Show the price</button>`)}
<h2>Your payments</h2><ul>${orders.map(
      ({ id, status, createdAt }) =>
        html`<li><a href="/orders/${id}">${time(createdAt)}</a> ${statusWords[status]}</li>`,
    )}</ul>`,
  );
}

const statusWords: Readonly<Record<Order["status"], string>> = {
  open: "not confirmed",
  confirmed: "is being paid",
  paid: "paid",
  declined: "not paid: nothing was taken from the account",
  rejected: "not paid: it was refused, and the money is back in the account",
  held: "is being paid, and takes longer",
  quote_lost: "not confirmed",
};

/** One payment: its price while it can be confirmed, and what became of it afterwards. */
export function orderPage(session: Session, order: Order, flow: FlowStatus | undefined): string {
  const { id, status } = order;
  const isUnconfirmed = status === "open" || status === "quote_lost";
  const isFresh = flow?.phase === "quoted" && flow.isExpired === false;
  const isPending = status === "confirmed" || status === "held";
  const outcome = flow?.outcome;
  const paymentId = outcome?.status === "paid" ? outcome.payment.id : undefined;
  const whyDeclined =
    outcome?.status === "declined" ? (outcome.reason ?? "The account has too little money.") : undefined;
  return page(
    "Payment",
    session,
    html`${flow?.intent && intentFacts(flow.intent)}
${isUnconfirmed ? (isFresh && flow.intent ? confirmForm(session, id, flow.intent, flow.expiresAtMs) : newPriceForm(session, id)) : html`<p role="status">Status: <b>${statusWords[status]}</b></p>`}
${whyDeclined !== undefined && html`<p>${whyDeclined}</p>`}${paymentId !== undefined && html`<p>Its number at the service: ${paymentId}</p>`}
<p><a href="/">All payments</a></p>`,
    isPending ? 2 : undefined,
  );
}

/** Names are what both gateways found for the accounts: the customer sees whom the money reaches before it is sent. */
function intentFacts(intent: PaymentIntent): Html {
  const facts = {
    "You pay": `${intent.senderAmount} ${intent.senderCurrency}`,
    "From the account of": `${intent.senderName || unknownName} (${intent.senderAccount})`,
    Arrives: `${intent.receiverAmount} ${intent.receiverCurrency}`,
    "At the account of": `${intent.receiverName || unknownName} (${intent.receiverAccount})`,
    "Fee of the receiving gateway": `${intent.receivingGatewayFee} ${intent.receiverCurrency}`,
    Rate: exchangeRate(intent, { scale: 6 }),
    Memo: intent.memo,
  };
  return html`<dl>${Object.entries(facts).map(([name, text]) => html`<dt>${name}</dt><dd>${text}</dd>`)}</dl>`;
}

const time = (date: Date): string => `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;

const unknownName = "nobody whom the gateway knows";

/** What is confirmed is the intent that this page shows: the flow refuses any other. */
function confirmForm(session: Session, id: string, intent: PaymentIntent, expiresAtMs = 0): Html {
  return html`<p>This price can be confirmed until ${time(new Date(expiresAtMs))}.</p>
${form(
  session,
  `/orders/${id}/confirm`,
  html`<input type="hidden" name="intentId" value="${intent.id}"><button>Pay ${intent.senderAmount} ${intent.senderCurrency}</button>`,
)}${form(session, `/orders/${id}/cancel`, html`<button>Don't pay</button>`)}`;
}

function newPriceForm(session: Session, id: string): Html {
  return html`<p>This price can't be confirmed any more. Nothing was taken from your account.</p>
${form(session, `/orders/${id}/quote`, html`<button>Show a new price</button>`)}`;
}

export function failurePage(session: Session | undefined, text: string): string {
  return page("Not done", session, html`${alert(text)}<p><a href="/">All payments</a></p>`);
}

function alert(problem: string | undefined): Html | undefined {
  return problem === undefined ? undefined : html`<p role="alert">${problem}</p>`;
}

function form({ formToken }: Session, action: string, content: Html): Html {
  return html`<form method="post" action="${action}"><input type="hidden" name="token" value="${formToken}">${content}</form>`;
}

/** @param refreshSeconds after which a browser loads the page again. */
function page(title: string, session: Session | undefined, content: Html, refreshSeconds?: number): string {
  const { text } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
${refreshSeconds !== undefined && html`<meta http-equiv="refresh" content="${String(refreshSeconds)}">`}
<link rel="icon" href="data:,"><link rel="stylesheet" href="/bank.css"></head><body>
<header><h1>${title}</h1>${session && form(session, "/logout", html`${session.user.name} <button>Log out</button>`)}</header>
<main>${content}</main></body></html>
`;
  return text;
}

export const styleSheet = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem}
header{align-items:baseline;display:flex;flex-wrap:wrap;gap:1rem;justify-content:space-between}label{display:block;margin:.6rem 0}
input:not([type=hidden]){display:block;font:inherit;padding:.3rem;width:100%;max-width:24rem}button{font:inherit;margin-bottom:.5rem;padding:.4rem .9rem}
dl{display:grid;gap:.2rem 1rem;grid-template-columns:fit-content(45%) 1fr}dd{margin:0}[role=alert]{border-left:4px solid #c33;padding-left:.8rem}`;
