import { html } from "hono/html";
import { operationNames } from "../../resources/catalogue.js";
import { paymentStatuses } from "../payments.js";
import type { Row, Store, StoredRecords } from "../store.js";
import { type Exchange, type Fault, faultKinds, shownOf } from "./request-log.js";

export type Html = ReturnType<typeof html>;
type Cell = Html | string | false | undefined;
type Choices = readonly (readonly [value: string, label: string])[];

const tabs = [
  ["Requests", "/console/"],
  ["Payments", "/console/payments"],
  ["Records", "/console/records"],
  ["Make a payment", "/console/pay"],
  ["Faults", "/console/faults"],
];

/** @param problem is why a form did nothing. */
export function page(title: string, baseUrl: string, faults: readonly Fault[], content: Html, problem?: string): Html {
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title} – Sandbox console</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/console/console.css">
<script src="/console/console.js" defer></script>
<a class="skip" href="#main">Skip to the content</a>
<header><h1>Sandbox console</h1><p>Service at <code>${baseUrl}</code></p></header>
<nav aria-label="Pages"><ul>
${tabs.map(([name, path]) => html`<li><a href="${path}"${name === title && html` aria-current="page"`}>${name}</a></li>`)}
</ul></nav>
${problem && html`<div class="notice bad" role="alert"><p>${problem}</p></div>`}
${faults.map((fault) => html`<div class="notice warn"><p>Fault armed: ${faultText(fault)} <a href="/console/faults">Change</a></p></div>`)}
<main id="main">${content}</main>
</html>
`;
}

export const goBack: Html = html`<p><a href="/console/">All requests</a></p>`;

function table(columns: readonly string[], rows: readonly (readonly Cell[])[], none = "None yet."): Html {
  if (rows.length === 0) return html`<p class="soft">${none}</p>`;
  return html`<table><thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>
${rows.map((cells) => html`<tr>${cells.map((cell, index) => html`<td data-label="${columns[index]}"><div>${cell || "–"}</div></td>`)}</tr>`)}
</tbody></table>`;
}

function section(title: string, content: Html): Html {
  return html`<section><h2>${title}</h2>${content}</section>`;
}

function facts(pairs: readonly (readonly [name: string, value: Cell])[]): Html {
  return html`<dl>${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value || "–"}</dd>`)}</dl>`;
}

function button(action: string, label: string, which?: string): Html {
  return html`<form method="post" action="/console/${action}"><button name="which" value="${which}">${label}</button></form>`;
}

function select(name: string, choices: Choices, chosen = "", title = ""): Html {
  const options = choices.map(
    ([value, label]) => html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`,
  );
  return html`<select name="${name}"${title && html` aria-label="${title}"`}>${options}</select>`;
}

function input(label: string, name: string, value: string | undefined): Html {
  return html`<label>${label} <input name="${name}" value="${value}" required autocomplete="off"></label>`;
}

function chip(text: string, kind = "bad"): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}

function time(at: number | string): Html {
  const iso = new Date(at).toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;
}

// Requests

export function requestsPage(exchanges: readonly Exchange[]): Html {
  const rows = exchanges.map((one) => {
    const { method, path } = one.arrived.seen;
    const link = html`<a href="/console/requests/${one.id}">${method} ${path.slice(0, 120)}</a>`;
    return [link, ...factsOf(one).map(([, cell]) => cell)];
  });
  const columns = ["Request", "Time (UTC)", "Operation", "Status", "Duration", "Signature", "Fault"];
  return section("Requests", html`<div data-live>${table(columns, rows)}</div>`);
}

function factsOf({ arrived, atMs, status, tookMs, signature, fault }: Exchange): readonly (readonly [string, Cell])[] {
  const statusText = status === 0 ? "lost" : (status?.toString() ?? "none");
  return [
    ["Time (UTC)", time(atMs)],
    ["Operation", arrived.seen.operation],
    ["Status", chip(statusText, /^[23]/.test(statusText) ? "good" : "bad")],
    ["Duration", tookMs !== undefined && `${tookMs} ms`],
    ["Signature", signature && chip(signature, signature === "valid" ? "good" : "bad")],
    ["Fault", fault && chip(faultKinds[fault.kind].shown, "warn")],
  ];
}

export function requestPage(exchange: Exchange, why: readonly string[]): Html {
  const { id, arrived, signature } = exchange;
  const { target, headers, body, sentBody, responseHeaders, responseBody } = shownOf(exchange);
  const message = (title: string, pairs: typeof headers, text: string) => {
    const lines = pairs.map(([name, value]) => `${name}: ${value}`).join("\n");
    return section(title, html`<pre>${lines}</pre><h3>Body</h3><pre>${text || "none"}</pre>`);
  };
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const curl = [
    `curl -X ${arrived.seen.method} ${quoted(arrived.origin + target)}`,
    '-H "authorization: Bearer $TOKEN"',
    ...headers.flatMap(([name, value]) => (/^content-type|^x-/.test(name) ? `-H ${quoted(`${name}: ${value}`)}` : [])),
    ...(body === "" ? [] : [`--data-raw ${quoted(sentBody)}`]),
  ];
  return html`${goBack}
${section(`${arrived.seen.method} ${target}`, facts(factsOf(exchange)))}
${why.length > 0 && section(`Why the signature is ${signature}`, html`<ul>${why.map((text) => html`<li>${text}</li>`)}</ul>`)}
${message("Request", headers, body)}
${message("Response", responseHeaders, responseBody)}
${section(
  "Repeat",
  html`<pre id="curl">${curl.join(" \\\n  ")}</pre>
<p class="soft">Secrets aren't shown. Set <code>TOKEN</code> to an access token.</p>
<div class="row"><button data-copies="curl" hidden>Copy as curl</button>
${arrived.route && button(`requests/${id}/replay`, "Replay")}
${arrived.seen.operation === "payments.create" && "A replay pays again."}</div>`,
)}`;
}

// Faults

const operationChoices: Choices = [
  ["any", "any operation"],
  ...["token", ...operationNames].map((name) => [name, name] as const),
];

export function faultText({ kind, of }: Fault): string {
  return `the next request${of === "any" ? "" : ` of ${of}`} will ${faultKinds[kind].effect}.`;
}

export function faultsPage(faults: readonly Fault[]): Html {
  const armed = faults.map((fault, index) => [
    html`<span class="sentence">${faultText(fault)}</span>`,
    button(`faults/${index}/cancel`, "Cancel"),
  ]);
  const kinds = Object.entries(faultKinds).map(([kind, { order }]) => [kind, order] as const);
  return html`${section(
    "Arm a fault",
    html`<p>With a lost response, the service does the work and the client gets no response. With 503, nothing is done.</p>
<form class="row" method="post" action="/console/faults">
<label>Fault ${select("kind", kinds)}</label>
<label>Operation ${select("of", operationChoices)}</label>
<button class="main">Arm</button></form>`,
  )}
${section("Armed faults", table(["Fault", ""], armed, "No fault is armed."))}
${section(
  "Tokens",
  html`<div class="row">${button("revoke", "Revoke access tokens", "access")}${button("revoke", "Revoke all tokens", "all")}</div>`,
)}`;
}

// Payments and records

function newest<T>(rows: readonly T[]): T[] {
  return rows.slice(-100).reverse();
}

export function paymentsPage({ records }: Store): Html {
  const paid = newest(records.payments.records()).map((payment) => [
    time(payment.createdAt),
    `${payment.senderAmount} ${payment.senderCurrency}`,
    `${payment.senderName} ${payment.senderAccount} at ${payment.senderGatewayId}`,
    `${payment.receiverAmount} ${payment.receiverCurrency}`,
    `${payment.receiverName} ${payment.receiverAccount} at ${payment.receiverGatewayId}`,
    payment.senderGatewayTransactionId,
    html`<form class="row" method="post" action="/console/payments/${payment.id}/status">
${select(
  "status",
  paymentStatuses.map((status) => [status, status]),
  payment.receiverGatewayStatus,
  "Receiver's status",
)}<button>Set</button></form>`,
    payment.id,
  ]);
  const columns = ["Created (UTC)", "Sender pays", "Sender", "Receiver gets", "Receiver", "Transaction"];
  return section("Payments", table([...columns, "Receiver's status", "Id"], paid));
}

/** The records that have no page of their own, and the fields that are shown. */
const shownFields: { readonly [Name in keyof StoredRecords]?: string } = {
  paymentGateways: "institutionId name countryCode currency id",
  liquidityProviders: "firstName lastName email id",
  exchangeRates: "baseCurrency baseGatewayId counterCurrency counterGatewayId buyPrice sellPrice id",
  deposits: "paymentGatewayId amount currency paymentGatewayTransactionId id",
  withdrawals: "paymentGatewayId amount currency status id",
  transfers: "from to amount gatewayId id",
  paymentIntents: "senderAmount senderCurrency receiverAmount receiverCurrency receiverAccount memo id",
};

export function recordsPage({ records }: Store): Html {
  const tables = Object.entries(shownFields).map(([name, text]) => {
    const fields = text.split(" ");
    const stored: readonly Row<object>[] = records[name as keyof StoredRecords].rows();
    const cells = newest(stored).map(({ record, owner }) =>
      fields.map((field) => String(Reflect.get(record, field))).concat(owner === "" ? [] : owner),
    );
    const columns = [...fields, "liquidityProviderId"].map(words).slice(0, cells[0]?.length);
    return section(words(name), table(columns, cells));
  });
  return html`${tables}`;
}

/** `Payment gateways` of `paymentGateways`. */
function words(name: string): string {
  return name[0]?.toUpperCase() + name.slice(1).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

// A payment

export function payPage({ records, accounts }: Store): Html {
  const gateways = records.paymentGateways.records().map((gateway) => {
    return { name: gateway.institutionId || gateway.id, currency: gateway.currency };
  });
  const choices = gateways.map(({ name, currency }) => [name, `${name} (${currency})`] as const);
  const end = (side: "sender" | "receiver", { name, currency }: (typeof gateways)[number]) => {
    const { account } = accounts.all().find(({ gatewayId }) => gatewayId === name) ?? {};
    return html`<fieldset><legend>${words(side)}</legend>
<label>Gateway ${select(`${side}GatewayId`, choices, name)}</label>
${input("Account", `${side}Account`, account)}${input("Currency", `${side}Currency`, currency)}</fieldset>`;
  };
  const [sender, receiver] = gateways;
  if (sender === undefined || receiver === undefined) {
    return html`<p>Register two gateways first, and a provider with an exchange rate.</p>`;
  }
  const transactionId = `CONSOLE-${crypto.randomUUID().slice(0, 8)}`;
  return section(
    "Make a payment",
    html`<p>Two requests: an intent, which is a quote with both names, and the signed payment.</p>
<form method="post" action="/console/pay">${end("sender", sender)}${end("receiver", receiver)}
<p class="row">${input("Amount to receive", "receiverAmount", "100.00")}${input("Memo", "memo", "from the console")}</p>
<p>${input("Your transaction that took the sender's money", "transactionId", transactionId)}</p>
<button class="main">Sign and send the payment</button></form>`,
  );
}
