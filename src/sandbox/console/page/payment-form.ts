import type { ConsoleState, GatewayLine, IntentLine } from "../console-state.js";
import { byId, factList, make } from "./elements.js";
import { act, say } from "./server.js";

const intentForm = byId("intent-form", HTMLFormElement);
const paymentForm = byId("payment-form", HTMLFormElement);
const result = byId("result", HTMLElement);
const transactionId = field(paymentForm, "transactionId");

type Step = "intent" | "payment" | "result";
type End = "sender" | "receiver";

let gateways: readonly GatewayLine[] = [];
let accounts: ConsoleState["accounts"] = [];
let intent: IntentLine | undefined;
/** A request is under way: a second press of the button does not mean a second payment. */
let isBusy = false;
/** Transactions that were paid for. */
const paid = new Set<string>();

/** A response of the service, as the console hands it on. */
interface Told {
  readonly status: number;
  readonly body?: { readonly id?: string; readonly error?: string; readonly message?: string };
  readonly intent?: IntentLine;
}

export function setUpPayments(): void {
  for (const end of ["sender", "receiver"] as const) {
    field(intentForm, `${end}GatewayId`).addEventListener("change", () => suggest(end));
  }
  intentForm.addEventListener("submit", (event) => {
    event.preventDefault();
    void once(createIntent);
  });
  paymentForm.addEventListener("submit", (event) => {
    event.preventDefault();
    void once(pay);
  });
  for (const button of document.querySelectorAll(".again")) {
    button.addEventListener("click", () => {
      if (isBusy) {
        sayBusy();
        return;
      }
      say("");
      goTo("intent");
      field(intentForm, "senderGatewayId").focus();
    });
  }
  byId("pay-twice", HTMLElement).addEventListener("click", () => void once(pay));
  byId("replace-key", HTMLElement).addEventListener("click", async () => {
    const told = (await act("key", { gatewayId: gatewayOf(intent)?.id })) as Told | undefined;
    if (told === undefined) return;
    if (told.status === 200) say("The key is made and registered.");
    else say(`The key was not registered: ${refusalOf(told)}`, true);
    transactionId.focus();
  });
}

/** Takes an intent of the list to its second step. */
export function payIntent(line: IntentLine): void {
  if (isBusy) {
    sayBusy();
    return;
  }
  say("");
  continueWith(line);
}

function continueWith(line: IntentLine): void {
  intent = line;
  transactionId.value = `console-${crypto.randomUUID().slice(0, 8)}`;
  goTo("payment");
  byId("intent-title", HTMLElement).focus();
}

export function showGateways(state: ConsoleState): void {
  accounts = state.accounts;
  const before = JSON.stringify(gateways);
  gateways = state.gateways.lines.toReversed();
  if (JSON.stringify(gateways) !== before) {
    for (const end of ["sender", "receiver"] as const) offerGateways(end);
  }
  byId("no-gateways", HTMLElement).hidden = gateways.length > 0;
  showKeyless();
}

function offerGateways(end: End): void {
  const select = field(intentForm, `${end}GatewayId`) as HTMLSelectElement;
  const chosen = select.value;
  select.replaceChildren(
    ...gateways.map((gateway) => make("option", { value: gateway.institutionId }, nameOf(gateway))),
  );
  if (gateways.some(({ institutionId }) => institutionId === chosen)) {
    select.value = chosen;
    return;
  }
  const signing = gateways.findIndex(({ canSign }) => canSign);
  const sender = Math.max(signing, 0);
  select.selectedIndex = end === "sender" ? sender : gateways.findIndex((_, index) => index !== sender);
  suggest(end);
}

/** Currency and account of the gateway that was chosen. */
function suggest(end: End): void {
  const gateway = gateways.find(({ institutionId }) => institutionId === field(intentForm, `${end}GatewayId`).value);
  const known = accounts.filter(({ gatewayId }) => gatewayId === gateway?.institutionId || gatewayId === gateway?.id);
  field(intentForm, `${end}Currency`).value = gateway?.currency ?? "";
  field(intentForm, `${end}Account`).value = known[0]?.account ?? "";
  byId(`${end}-accounts`, HTMLElement).replaceChildren(
    ...known.map(({ account, name }) => make("option", { value: account }, name)),
  );
}

async function once(work: () => Promise<void>): Promise<void> {
  if (isBusy) {
    sayBusy();
    return;
  }
  isBusy = true;
  try {
    await work();
  } finally {
    isBusy = false;
  }
}

function sayBusy(): void {
  say("A request of the console is still under way.");
}

async function createIntent(): Promise<void> {
  say("Creating the intent…");
  const told = (await act("intent", Object.fromEntries(new FormData(intentForm)))) as Told | undefined;
  if (told === undefined) return;
  if (told.intent === undefined) {
    say(told.status === 0 ? lostIntent : `No intent: ${refusalOf(told)}`, true);
    return;
  }
  continueWith(told.intent);
  say("The intent is there. No money has moved.");
}

const lostIntent = "The response was lost. The intent may be there: see the list of intents. No money has moved.";

async function pay(): Promise<void> {
  if (intent === undefined) return;
  say("Sending the payment…");
  const fields = { intentId: intent.id, transactionId: transactionId.value };
  const told = (await act("payment", fields)) as Told | undefined;
  if (told === undefined) return;
  const isMade = told.status === 200;
  const { title, text } = isMade ? madeTexts(told, fields.transactionId) : failedTexts(told, fields.transactionId);
  if (isMade) paid.add(fields.transactionId);
  byId("result-title", HTMLElement).textContent = title;
  byId("result-text", HTMLElement).textContent = text;
  say(`${title}.`, !isMade);
  goTo("result");
  byId("result-title", HTMLElement).focus();
}

interface ResultTexts {
  readonly title: string;
  readonly text: string;
}

function madeTexts({ body }: Told, transaction: string): ResultTexts {
  const id = `Its id is ${body?.id}.`;
  if (!paid.has(transaction)) {
    return { title: "The payment is made", text: `${id} Set its receiver's status in the list of payments.` };
  }
  return {
    title: "A second payment is made",
    text: `${id} The transaction ${transaction} was paid for before: the service does not recognise what is sent twice.`,
  };
}

function failedTexts(told: Told, transaction: string): ResultTexts {
  if (told.status !== 0) return { title: "The payment was refused", text: refusalOf(told) };
  return {
    title: "The response was lost",
    text: `Whether the payment was made can't be told from here: look for ${transaction} in the list of payments. Sending it again may pay twice.`,
  };
}

function goTo(step: Step): void {
  intentForm.hidden = step !== "intent";
  paymentForm.hidden = step !== "payment";
  result.hidden = step !== "result";
  for (const name of ["intent", "payment", "result"] as const) {
    const item = byId(`step-${name}`, HTMLElement);
    if (name === step) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
  if (intent !== undefined) byId("intent", HTMLElement).replaceChildren(...factList(intentFacts(intent)).children);
  showKeyless();
}

export function intentFacts(line: IntentLine): Record<string, string> {
  return {
    "Sender pays": line.senderAmount,
    Sender: [line.senderName, line.sender].filter(Boolean).join(", "),
    "Receiver gets": line.receiverAmount,
    Receiver: [line.receiverName, line.receiver].filter(Boolean).join(", "),
    "Receiving gateway's fee": line.fee,
    "Rate, without the fee": line.rate,
    "Rate, with the fee": line.exactRate,
    Memo: line.memo,
  };
}

function showKeyless(): void {
  const gateway = gatewayOf(intent);
  byId("keyless", HTMLElement).hidden = gateway === undefined || gateway.canSign;
  byId("keyless-gateway", HTMLElement).textContent = gateway === undefined ? "" : nameOf(gateway);
}

function gatewayOf(line: IntentLine | undefined): GatewayLine | undefined {
  return gateways.find(
    ({ id, institutionId }) => line !== undefined && [id, institutionId].includes(line.senderGatewayId),
  );
}

function nameOf({ institutionId, name }: GatewayLine): string {
  return name === "" ? institutionId : `${institutionId} (${name})`;
}

function refusalOf({ status, body }: Told): string {
  if (status === 0) return "the connection was broken off";
  return `${status} ${[body?.error, body?.message].filter(Boolean).join(": ")}`;
}

function field(form: HTMLFormElement, name: string): HTMLInputElement | HTMLSelectElement {
  const found = form.elements.namedItem(name);
  if (found instanceof HTMLInputElement || found instanceof HTMLSelectElement) return found;
  throw new Error(`the form has no ${name}`);
}
