import type { ConsoleState, IntentLine, PaymentLine, RequestLine, SignatureLine, Some } from "../console-state.js";
import { byId, factList, fill, make } from "./elements.js";
import { faultName, setUpFaults, showFaults } from "./fault-form.js";
import { intentFacts, payIntent, setUpPayments, showGateways } from "./payment-form.js";
import { act, follow, say } from "./server.js";

const hideOwn = byId("hide-own", HTMLInputElement);
let shown: ConsoleState | undefined;

// Not every browser lets the keyboard scroll a list without anything in it to press.
for (const name of ["requests", "gateways", "rates", "providers", "tokens"]) {
  const list = byId(name, HTMLElement).querySelector("ul, ol");
  list?.setAttribute("tabindex", "0");
  list?.setAttribute("aria-labelledby", `${name}-title`);
}
setUpPayments();
setUpFaults();
hideOwn.addEventListener("change", () => shown && showRequests(shown));
follow((state) => {
  if (shown !== undefined) announceWrongSignatures(shown, state);
  shown = state;
  byId("base-url", HTMLElement).textContent = state.service.baseUrl;
  showGateways(state);
  showFaults(state);
  showRequests(state);
  showList("payments", state.payments, paymentItem);
  showList("intents", state.intents, intentItem);
  showList("gateways", state.gateways, ({ institutionId, name, country, currency, fingerprint, canSign }) =>
    record(institutionId, {
      Name: name,
      Country: country,
      Currency: currency,
      "Registered key, SHA-256": fingerprint || "none that can be read",
      "Signing key": canSign ? "the console has it" : "",
    }),
  );
  showList("rates", state.rates, ({ base, counter, buyPrice, sellPrice, provider }) =>
    record(`${base} – ${counter}`, { Buy: buyPrice, Sell: sellPrice, Provider: provider }),
  );
  showList("providers", state.providers, ({ id, name }) => record(name, { Id: id }));
  const tokens = { total: state.tokens.length, lines: state.tokens };
  showList("tokens", tokens, ({ user, kind, issuedAtMs, untilMs, fate }) => {
    const item = record(`${user}, ${kind}`, { Issued: timeOf(issuedAtMs), "Good until": `${timeOf(untilMs)} UTC` });
    item.firstElementChild?.append(" ", badge(fate, fate === "valid" ? "good" : "bad"));
    return item;
  });
});

type ListName = "payments" | "intents" | "gateways" | "rates" | "providers" | "tokens";

function showList<Line extends { readonly id: string }>(
  name: ListName,
  { total, lines }: Some<Line>,
  build: (line: Line) => HTMLElement,
): void {
  const section = byId(name, HTMLElement);
  const list = section.querySelector("ul");
  if (list !== null) fill(list, lines, build);
  showCount(section, total, lines.length);
}

function showCount(section: HTMLElement, total: number, count: number): void {
  const none = section.querySelector<HTMLElement>(".none");
  if (none !== null) none.hidden = total > 0;
  section
    .querySelector("h2")
    ?.setAttribute("data-count", total > count ? `the newest ${count} of ${total}` : String(total || ""));
}

function record(title: string, facts: Readonly<Record<string, string>>): HTMLLIElement {
  return make("li", {}, make("h3", {}, title), factList(facts));
}

function badge(text: string, kind: "good" | "bad" | "plain"): HTMLElement {
  return make("span", { class: `badge ${kind}` }, text);
}

function showRequests({ requests }: ConsoleState): void {
  const lines = requests.filter(({ isOwn }) => !(isOwn && hideOwn.checked));
  fill(byId("request-list", HTMLElement), lines, requestItem);
  showCount(byId("requests", HTMLElement), lines.length, lines.length);
}

function requestItem(line: RequestLine): HTMLElement {
  const { atMs, method, path, query, status, tookMs, error, isOwn, fault } = line;
  const target = make("code", {}, `${method} ${path}${query === "" ? "" : `?${query}`}`);
  const item = make("li", {}, make("p", {}, make("time", {}, timeOf(atMs)), " ", target, " ", statusBadge(status)));
  const notes = make("p", { class: "notes" });
  if (line.operation !== undefined) notes.append(make("span", {}, line.operation));
  if (tookMs !== undefined) notes.append(make("span", {}, `${tookMs} ms`));
  if (isOwn) notes.append(make("span", {}, "by the console"));
  if (fault !== undefined) notes.append(badge(faultName(fault), "bad"));
  const { text, kind } = signatureNote(line.signature);
  if (text !== "") notes.append(badge(text, kind));
  item.append(notes);
  if (error) item.append(make("p", {}, error));
  if (line.signature.why !== undefined) item.append(make("p", {}, line.signature.why));
  const findings = line.signature.findings ?? [];
  if (findings.length > 0) item.append(make("ul", { class: "findings" }, ...findings.map(findingItem)));
  return item;
}

function findingItem({ aspect, problem, remedy }: NonNullable<SignatureLine["findings"]>[number]): HTMLElement {
  return make("li", {}, make("b", {}, `${aspect}: `), `${problem}. `, make("span", { class: "remedy" }, `→ ${remedy}`));
}

function statusBadge(status: number | undefined): HTMLElement {
  if (status === undefined) return badge("no response yet", "plain");
  if (status === 0) return badge("broken off", "bad");
  return badge(String(status), status < 400 ? "good" : "bad");
}

function signatureNote({ verdict, signer = "" }: SignatureLine): { text: string; kind: "good" | "bad" | "plain" } {
  const of = signer === "" ? "" : ` of ${signer}`;
  const notes = {
    unasked: { text: "", kind: "plain" },
    valid: { text: `signature${of} is right`, kind: "good" },
    missing: { text: `signature${of} is missing`, kind: "bad" },
    wrong: { text: `signature${of} is wrong`, kind: "bad" },
    explaining: { text: `signature${of} is wrong: looking for the reason`, kind: "bad" },
    unchecked: { text: "signature could not be checked", kind: "bad" },
  } as const;
  return notes[verdict];
}

function announceWrongSignatures(before: ConsoleState, now: ConsoleState): void {
  const known = new Map(before.requests.map(({ id, signature }) => [id, signature.verdict]));
  const wrong = now.requests.find(({ id, signature }) => signature.verdict === "wrong" && known.get(id) !== "wrong");
  const problem = wrong?.signature.findings?.[0]?.problem ?? wrong?.signature.why;
  if (wrong !== undefined) say(`The signature of ${wrong.method} ${wrong.path} is wrong: ${problem}`, true);
}

function intentItem(line: IntentLine): HTMLElement {
  const item = record(`${line.senderAmount} → ${line.receiverAmount}`, { ...intentFacts(line), Id: line.id });
  const button = make(
    "button",
    { type: "button", name: "pay", "aria-label": `Pay the intent ${line.id}` },
    "Pay this intent",
  );
  button.addEventListener("click", () => payIntent(line));
  item.append(button);
  return item;
}

const statuses = ["pending", "processed", "error", "reverted"];

function paymentItem(line: PaymentLine): HTMLElement {
  const item = record(`${line.senderAmount} → ${line.receiverAmount}`, {
    Made: line.createdAt,
    Sender: line.sender,
    "Sender's status": line.senderStatus,
    Receiver: line.receiver,
    "Sender's transaction": line.senderTransactionId,
    "Receiver's transaction": line.receiverTransactionId,
    Id: line.id,
  });
  const kind = { processed: "good", pending: "plain" } as const;
  const { receiverStatus } = line;
  item.firstElementChild?.append(
    " ",
    badge(`receiver: ${receiverStatus}`, receiverStatus in kind ? kind[receiverStatus as "pending"] : "bad"),
  );
  const name = `Receiver's status of payment ${line.id}`;
  const select = make(
    "select",
    { name: "status", "aria-label": name },
    ...statuses.map((status) => make("option", {}, status)),
  );
  select.value = line.receiverStatus;
  const button = make("button", { type: "button", name: "set", "aria-label": `Set the ${name.toLowerCase()}` }, "Set");
  button.addEventListener("click", async () => {
    if (await act("receiver-status", { paymentId: line.id, status: select.value }))
      say(`The receiver's status is ${select.value}.`);
  });
  item.append(make("div", { class: "row" }, make("label", {}, "Receiver's status ", select), button));
  return item;
}

function timeOf(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}
