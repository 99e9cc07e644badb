import { html } from "hono/html";
import { exactExchangeRate, exchangeRate } from "../../money.js";
import { operationNames } from "../../resources/catalogue.js";
import type { Deposit } from "../../resources/deposits.js";
import type { PaymentIntent } from "../../resources/payment-intents.js";
import type { PaymentStatus } from "../../resources/payments.js";
import type { Withdrawal } from "../../resources/withdrawals.js";
import type { Row, Store } from "../store.js";
import type { IssuedToken } from "../tokens.js";
import type { Fault, FaultKind } from "./faults.js";
import { type PaymentDesk, registeredFingerprint } from "./payment-desk.js";
import type { LoggedExchange, SignatureNote } from "./request-log.js";

export type Html = ReturnType<typeof html>;
type Cell = Html | string | false | undefined;

export interface Notice {
  readonly text: string;
  readonly isProblem: boolean;
}

export interface Frame {
  readonly title: string;
  readonly baseUrl: string;
  readonly faults: readonly Fault[];
  readonly notice?: Notice | undefined;
}

const tabs = [
  ["Requests", "/console/"],
  ["Payments", "/console/payments"],
  ["Records", "/console/records"],
  ["Make a payment", "/console/pay"],
  ["Faults and tokens", "/console/faults"],
] as const;

export function page({ title, baseUrl, faults, notice }: Frame, content: Html): Html {
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
${tabs.map(([name, path]) => html`<li><a href="${path}"${name === title ? html` aria-current="page"` : ""}>${name}</a></li>`)}
</ul></nav>
${notice && html`<div class="notice ${notice.isProblem ? "bad" : ""}" role="status"><p>${notice.text}</p></div>`}
${faults.map((fault) => html`<div class="notice warn"><p>Fault armed: ${faultText(fault)} <a href="/console/faults">Change</a></p></div>`)}
<main id="main">${content}</main>
</html>
`;
}

function table(columns: readonly string[], rows: readonly (readonly Cell[])[], none = "None yet."): Html {
  if (rows.length === 0) return html`<p class="soft">${none}</p>`;
  return html`<table><thead><tr>${columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead><tbody>
${rows.map((cells) => html`<tr>${cells.map((cell, index) => html`<td data-label="${columns[index]}"><div>${cell || "–"}</div></td>`)}</tr>`)}
</tbody></table>`;
}

function section(title: string, content: Html, count?: number): Html {
  return html`<section><h2>${title}${count === undefined ? "" : html` <span class="soft">${count}</span>`}</h2>${content}</section>`;
}

function facts(pairs: readonly (readonly [name: string, value: Cell])[]): Html {
  return html`<dl>${pairs.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function button(action: string, label: string, fields: Readonly<Record<string, string>> = {}, kind = ""): Html {
  const hidden = Object.entries(fields).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  );
  return html`<form method="post" action="${action}">${hidden}<button class="${kind}">${label}</button></form>`;
}

function select(
  name: string,
  choices: readonly (readonly [value: string, label: string])[],
  chosen = "",
  title = "",
): Html {
  const options = choices.map(
    ([value, label]) => html`<option value="${value}"${value === chosen ? html` selected` : ""}>${label}</option>`,
  );
  return html`<select name="${name}"${title && html` aria-label="${title}"`}>${options}</select>`;
}

function chip(text: string, kind = ""): Html {
  return html`<span class="chip ${kind}">${text}</span>`;
}

function time(at: number | string): Html {
  const iso = typeof at === "number" ? new Date(at).toISOString() : at;
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(0, 19).replace("T", " ")}</time>`;
}

// Requests

export interface RequestFilter {
  readonly status: string;
  readonly operation: string;
  readonly isOwnHidden: boolean;
}

const statusFilters = [
  ["", "any"],
  ["2", "2xx"],
  ["3", "3xx"],
  ["4", "4xx"],
  ["5", "5xx"],
  ["0", "lost"],
] as const;
const operationFilters = [
  ["", "any"],
  ["token", "token"],
  ...operationNames.map((name) => [name, name] as const),
] as const;

export function requestsPage(exchanges: readonly LoggedExchange[], filter: RequestFilter): Html {
  const shown = exchanges.filter(
    ({ status, seen, isOwn }) =>
      (filter.status === "" || String(status ?? "").startsWith(filter.status)) &&
      (filter.operation === "" || seen.operation === filter.operation) &&
      !(filter.isOwnHidden && isOwn),
  );
  const rows = shown.map((one) => [
    time(one.atMs),
    html`<a href="/console/requests/${one.id}">${one.seen.method} ${short(one.seen.path)}</a>`,
    one.seen.operation,
    statusChip(one.status),
    one.tookMs === undefined ? "" : `${one.tookMs} ms`,
    signatureChip(one.signature),
    one.fault ? chip(faultNames[one.fault], "warn") : one.isOwn && chip("console"),
  ]);
  return html`<section><h2>Requests</h2>
<div class="row">
<form class="row" method="get" action="/console/">
<label>Status ${select("status", statusFilters, filter.status)}</label>
<label>Operation ${select("operation", operationFilters, filter.operation)}</label>
<label><input type="checkbox" name="hideOwn" value="1"${filter.isOwnHidden ? html` checked` : ""}> Hide the console's own</label>
<button class="main">Filter</button></form>
${button("/console/requests/clear", "Clear")}
</div>
<div data-live>${table(["Time (UTC)", "Request", "Operation", "Status", "Duration", "Signature", "Notes"], rows, "No requests yet.")}</div>
</section>`;
}

export function requestPage(one: LoggedExchange, baseUrl: string): Html {
  const { seen, signature, operation } = one;
  const query = one.shownQuery === "" ? "" : `?${one.shownQuery}`;
  const curl = curlOf(one, baseUrl);
  const message = (title: string, headers: readonly (readonly [string, string])[], body: string) =>
    section(
      title,
      html`<pre>${headers.map(([name, value]) => `${name}: ${value}`).join("\n")}</pre>
<h3>Body</h3>${body === "" ? html`<p class="soft">No body.</p>` : html`<pre>${body}</pre>`}`,
    );
  return html`<p><a href="/console/">All requests</a></p>
${section(
  `${seen.method} ${short(seen.path)}${query}`,
  facts([
    ["Time (UTC)", time(one.atMs)],
    ["Operation", seen.operation ?? "none"],
    ["Status", statusChip(one.status)],
    ["Duration", one.tookMs === undefined ? "" : `${one.tookMs} ms`],
    ["Signature", signatureChip(signature)],
    ...(one.fault === undefined ? [] : [["Fault", chip(faultNames[one.fault], "warn")] as const]),
  ]),
)}
${signatureSection(signature)}
${message("Request", one.shownHeaders, one.shownBody)}
${message("Response", one.shownResponseHeaders, one.shownResponse)}
${section(
  "Repeat",
  html`<pre id="curl">${curl}</pre>
<p class="soft">Secrets aren't shown. Set <code>TOKEN</code> to an access token.</p>
<div class="row"><button data-copies="curl" hidden>Copy as curl</button>
${one.canReplay ? button(`/console/requests/${one.id}/replay`, "Replay") : ""}
${operation?.name === "payments.create" ? html`<span>A replay pays again.</span>` : ""}</div>`,
)}`;
}

function signatureSection({ verdict, explain, why, signer }: SignatureNote): Html | "" {
  if (verdict !== "wrong" && verdict !== "unchecked") return "";
  const findings = explain?.().map(
    ({ aspect, problem, remedy }) =>
      html`<li><b>${aspect}</b>: ${problem}. <span class="soft">To fix it, ${remedy}.</span></li>`,
  );
  const isUnknown = why === undefined && (findings?.length ?? 0) === 0;
  return section(
    verdict === "wrong" ? "Why the signature is wrong" : "Why the signature could not be checked",
    html`${findings && html`<ul>${findings}</ul>`}<p>${isUnknown ? `No known mistake explains it. The key of ${signer} doesn't verify it.` : why}</p>`,
  );
}

function curlOf({ seen, shownQuery, exactBody, shownBody, shownHeaders }: LoggedExchange, baseUrl: string): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const query = shownQuery === "" ? "" : `?${shownQuery}`;
  const body = exactBody ?? shownBody;
  const sent = shownHeaders.filter(([name]) => /^(?:content-type|x-)/.test(name));
  const parts = [
    `curl -X ${seen.method} ${quoted(new URL(baseUrl).origin + seen.path + query)}`,
    '-H "authorization: Bearer $TOKEN"',
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(seen.body === "" ? [] : [`--data-raw ${quoted(body)}`]),
  ];
  return parts.join(" \\\n  ");
}

function statusChip(status: number | undefined): Html {
  if (status === undefined) return chip("no response yet");
  if (status === 0) return chip("lost", "bad");
  return chip(String(status), status < 400 ? "good" : "bad");
}

function signatureChip({ verdict, signer }: SignatureNote): Cell {
  if (verdict === "not required") return "";
  const kind = verdict === "valid" ? "good" : "bad";
  return html`${chip(verdict === "unchecked" ? "not checked" : verdict, kind)} ${signer}`;
}

// Faults and tokens

const faultNames: Readonly<Record<FaultKind, string>> = {
  lost: "response lost",
  delay: "response delayed",
  unavailable: "503",
};

export function faultText({ kind, of, times, delayMs }: Omit<Fault, "id">): string {
  const which = of === "any" ? "" : ` of ${of}`;
  const whose = times === 1 ? `the next request${which}` : `the next ${times} requests${which}`;
  if (kind === "lost") return `${whose} will lose ${times === 1 ? "its response" : "their responses"}.`;
  if (kind === "delay") return `${whose} will wait ${delayMs / 1000} s for the response.`;
  return `${whose} will get 503, and nothing is done.`;
}

export function faultsPage(faults: readonly Fault[], tokens: readonly IssuedToken[], nowMs: number): Html {
  const operations = [
    ["any", "any operation"],
    ["token", "token"],
    ...operationNames.map((name) => [name, name] as const),
  ] as const;
  const armed = faults.map((fault) => [
    html`<span class="sentence">${faultText(fault)}</span>`,
    button(`/console/faults/${fault.id}/cancel`, "Cancel"),
  ]);
  const issued = [...tokens].reverse().map(({ kind, issuedAtMs, untilMs, isEnded }) => {
    const fate = isEnded ? "revoked" : nowMs < untilMs ? "valid" : "expired";
    return [kind, chip(fate, fate === "valid" ? "good" : ""), time(issuedAtMs), time(untilMs)];
  });
  return html`${section(
    "Arm a fault",
    html`<p>With a lost response, the service does the work and the client gets no response. With 503, nothing is done.</p>
<form class="row" method="post" action="/console/faults">
<label>Fault ${select("kind", [
      ["lost", "Lose the response"],
      ["delay", "Delay the response"],
      ["unavailable", "Respond with 503"],
    ])}</label>
<label>Operation ${select("of", operations)}</label>
<label>Requests <input name="times" type="number" min="1" max="1000" value="1" required></label>
<label>Delay in seconds <input name="delaySeconds" type="number" min="0" max="600" step="any" value="5" required></label>
<button class="main">Arm</button></form>`,
  )}
${section("Armed faults", table(["Fault", ""], armed, "No fault is armed."))}
${section(
  "Tokens",
  html`<div class="row">${button("/console/revoke", "Revoke access tokens", { which: "access" })}
${button("/console/revoke", "Revoke all tokens", { which: "all" })}</div>
${table(["Kind", "Status", "Issued (UTC)", "Valid until (UTC)"], issued)}`,
)}`;
}

// Payments and records

const statuses = ["pending", "processed", "error", "reverted"] as const satisfies readonly PaymentStatus[];
/** Newest records that a page shows. */
const most = 100;

function newest<T>(rows: readonly T[]): T[] {
  return rows.slice(-most).reverse();
}

export function paymentsPage({ records }: Store): Html {
  const paid = newest(records.payments.records()).map((payment) => [
    time(payment.createdAt),
    `${payment.senderAmount} ${payment.senderCurrency}`,
    `${payment.senderAccount} at ${payment.senderGatewayId}`,
    `${payment.receiverAmount} ${payment.receiverCurrency}`,
    `${payment.receiverAccount} at ${payment.receiverGatewayId}`,
    payment.senderGatewayTransactionId,
    html`<form class="row" method="post" action="/console/payments/${payment.id}/status">
${chip(payment.receiverGatewayStatus, { processed: "good", pending: "warn" }[payment.receiverGatewayStatus as string] ?? "bad")}
${select(
  "status",
  statuses.map((status) => [status, status]),
  payment.receiverGatewayStatus,
  "Receiver's status",
)}<button>Set</button></form>`,
    html`<span class="mono">${payment.id}</span>`,
  ]);
  const intents = newest(records.paymentIntents.records()).map((intent) => [
    `${intent.senderAmount} ${intent.senderCurrency}`,
    `${intent.senderName} ${intent.senderAccount} at ${intent.senderGatewayId}`,
    `${intent.receiverAmount} ${intent.receiverCurrency}`,
    `${intent.receiverName} ${intent.receiverAccount} at ${intent.receiverGatewayId}`,
    html`<a href="/console/pay?intent=${intent.id}">Pay</a>`,
    html`<span class="mono">${intent.id}</span>`,
  ]);
  const ends = ["Sender pays", "Sender", "Receiver gets", "Receiver"];
  return html`${section(
    "Payments",
    table(["Created (UTC)", ...ends, "Transaction", "Receiver's status", "Id"], paid),
    records.payments.rows().length,
  )}
${section("Intents", table([...ends, "", "Id"], intents), records.paymentIntents.rows().length)}`;
}

export function recordsPage(store: Store, desk: PaymentDesk): Html {
  const gatewayName = (name: string) => store.gatewayNamed(name)?.institutionId || name;
  const ownerName = (id: string) => {
    const { firstName = "", lastName = "" } = store.records.liquidityProviders.find(id)?.record ?? {};
    return `${firstName} ${lastName}`.trim() || id;
  };
  const gateways = newest(store.records.paymentGateways.records()).map((gateway) => [
    gateway.institutionId,
    gateway.name,
    gateway.countryCode,
    gateway.currency,
    html`<span class="mono">${registeredFingerprint(gateway).slice(0, 16) || "not a key"}</span> ${desk.canSign(gateway) ? chip("console can sign", "good") : ""}`,
    html`<span class="mono">${gateway.id}</span>`,
  ]);
  const providers = newest(store.records.liquidityProviders.records()).map(({ id, email }) => [
    ownerName(id),
    email,
    id,
  ]);
  const rates = newest(store.records.exchangeRates.rows()).map(({ record, owner }) => [
    ownerName(owner),
    `${record.baseCurrency} at ${gatewayName(record.baseGatewayId)}`,
    `${record.counterCurrency} at ${gatewayName(record.counterGatewayId)}`,
    record.buyPrice,
    record.sellPrice,
  ]);
  const moves = (rows: readonly Row<Deposit | Withdrawal>[]) =>
    newest(rows).map(({ record, owner }) => [
      ownerName(owner),
      gatewayName(record.paymentGatewayId),
      `${record.amount} ${record.currency}`,
      "status" in record ? record.status : "",
      record.id,
    ]);
  const moveColumns = ["Provider", "Gateway", "Amount", "Status", "Id"];
  return html`${section("Payment gateways", table(["Institution", "Name", "Country", "Currency", "Key (SHA-256)", "Id"], gateways))}
${section("Liquidity providers", table(["Name", "Email", "Id"], providers))}
${section("Exchange rates", table(["Provider", "Base", "Counter", "Buy price", "Sell price"], rates))}
${section("Deposits", table(moveColumns, moves(store.records.deposits.rows())))}
${section("Withdrawals", table(moveColumns, moves(store.records.withdrawals.rows())))}`;
}

// A payment in two steps

function steps(current: number): Html {
  const names = ["Create an intent", "Sign and send the payment"];
  return html`<ol class="steps">${names.map((name, index) => html`<li${index === current ? html` aria-current="step"` : ""}>${name}</li>`)}</ol>`;
}

export function intentPage({ records, accounts }: Store, values: Readonly<Record<string, string>>): Html {
  const gateways = records.paymentGateways.records();
  if (gateways.length === 0) {
    return section(
      "Make a payment",
      html`<p>There is no gateway yet. Register two with <code>POST /payment-gateways</code>, and a liquidity provider with an exchange rate.</p>`,
    );
  }
  const choices = gateways.map(
    ({ institutionId, id, currency }) => [institutionId || id, `${institutionId || id} (${currency})`] as const,
  );
  const known = accounts.all();
  const end = (side: "sender" | "receiver", index: number, more: Html | "") => {
    const gateway = gateways[index % gateways.length];
    const gatewayId = values[`${side}GatewayId`] ?? (gateway?.institutionId || gateway?.id);
    const account = values[`${side}Account`] ?? known.find((one) => one.gatewayId === gatewayId)?.account ?? "";
    const currency = values[`${side}Currency`] ?? gateway?.currency;
    return html`<fieldset><legend>${side === "sender" ? "Sender" : "Receiver"}</legend>
<label>Gateway ${select(`${side}GatewayId`, choices, gatewayId)}</label>
<label>Account <input name="${side}Account" list="accounts" value="${account}" required autocomplete="off"></label>
<label>Currency <input name="${side}Currency" value="${currency}" required autocomplete="off" size="6"></label>${more}</fieldset>`;
  };
  return section(
    "Make a payment",
    html`${steps(0)}<p>An intent is a quote: what the sender pays, what the receiver gets, and both names. No money moves.</p>
<form method="post" action="/console/pay">
${end("sender", 0, "")}
${end("receiver", 1, html`<label>Amount <input name="receiverAmount" inputmode="decimal" value="${values.receiverAmount ?? "100.00"}" required autocomplete="off"></label>`)}
<datalist id="accounts">${known.map(({ account, name, gatewayId }) => html`<option value="${account}">${name} at ${gatewayId}</option>`)}</datalist>
<p><label>Memo <input name="memo" value="${values.memo ?? "from the console"}" autocomplete="off"></label></p>
<button class="main">Create the intent</button></form>`,
  );
}

export function confirmPage(intent: PaymentIntent, canSign: boolean, transactionId: string): Html {
  const unit = `${intent.senderCurrency} for 1 ${intent.receiverCurrency}`;
  const person = (name: string, account: string, gateway: string) => `${name} ${account} at ${gateway}`.trim();
  const quote = facts([
    ["Sender pays", `${intent.senderAmount} ${intent.senderCurrency}`],
    ["Sender", person(intent.senderName, intent.senderAccount, intent.senderGatewayId)],
    ["Receiver gets", `${intent.receiverAmount} ${intent.receiverCurrency}`],
    ["Receiver", person(intent.receiverName, intent.receiverAccount, intent.receiverGatewayId)],
    ["Receiving gateway's fee", `${intent.receivingGatewayFee} ${intent.receiverCurrency}`],
    ["Rate", `${exchangeRate(intent, { scale: 6 })} ${unit}`],
    ["Rate with the fee", `${exactExchangeRate(intent, { scale: 6 })} ${unit}`],
    ["Memo", intent.memo],
  ]);
  const send = html`<form method="post" action="/console/pay/${intent.id}">
<p><label>Your transaction that took the sender's money <input name="transactionId" value="${transactionId}" required autocomplete="off"></label></p>
<button class="main">Sign and send the payment</button></form>`;
  const makeKey = html`<p>The console has no signing key of ${intent.senderGatewayId}. Pass it to <code>startSandbox</code> in
<code>console: { signingKeys }</code>, or let the console generate and register one. Signatures with the old key are then refused.</p>
${button(`/console/pay/${intent.id}/key`, "Generate and register a key", {}, "main")}`;
  return section(
    "Make a payment",
    html`${steps(1)}${quote}${canSign ? send : makeKey}<p><a href="/console/pay">Start again</a></p>`,
  );
}

function short(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

export const goBack: Html = html`<p><a href="/console/">All requests</a></p>`;
