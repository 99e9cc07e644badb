/** A page on which a teller looks up prices and payments. It logs its user in; a price is paid by the gateway's back end. */
import {
  BrowserLogin,
  CrossBorderClient,
  CrossBorderError,
  exactExchangeRate,
  exchangeRate,
  type PaymentIntent,
} from "cross-border-payments";

/** What differs from one installation to the next. */
interface Settings {
  readonly authUrl: string;
  readonly realm: string;
  readonly clientId: string;
  readonly baseUrl: string;
  readonly issuer?: string;
  /** The gateways, accounts and currencies of every quote. */
  readonly quote: Readonly<
    Record<"senderGatewayId" | "senderAccount" | "senderCurrency" | "receiverGatewayId" | "receiverCurrency", string>
  >;
  /** How often the payments are listed again, in milliseconds. */
  readonly refreshMs: number;
}

const { quote, baseUrl, refreshMs, ...realm }: Settings = await (await fetch("settings.json")).json();
const login = new BrowserLogin({ ...realm, redirectUri: `${location.origin}/` });
const client = new CrossBorderClient({ baseUrl, auth: login });
const rounded = { scale: 6 };

find("#log-in").addEventListener("click", () => void attempt(() => login.redirect()));
find("#log-out").addEventListener("click", () => void attempt(() => login.logout()));
find("#quote").addEventListener("submit", (event) => {
  event.preventDefault();
  const { receiverAccount, receiverAmount } = Object.fromEntries(new FormData(event.target as HTMLFormElement));
  void attempt(() => showPrice(String(receiverAccount), String(receiverAmount)));
});

await attempt(async () => {
  if (!(await login.resume())) await login.redirect();
});
await refresh();
setInterval(() => void refresh(), refreshMs);

async function refresh(): Promise<void> {
  if (login.claims === undefined) return;
  try {
    const { items } = await client.payments.list({ sort: "createdAt.desc", size: 10 });
    const rows = items.map((payment) => [
      new Date(payment.createdAt ?? "").toLocaleString(),
      payment.senderAccount,
      payment.receiverAccount,
      `${payment.receiverAmount} ${payment.receiverCurrency}`,
      exchangeRate(payment, rounded),
      payment.receiverGatewayStatus,
    ]);
    find("#payments").replaceChildren(
      ...rows.map((cells) => element("tr", ...cells.map((cell) => element("td", cell)))),
    );
    find("#refreshed").textContent = `as of ${new Date().toISOString()}`;
  } catch (error) {
    show(error);
  }
}

async function showPrice(receiverAccount: string, receiverAmount: string): Promise<void> {
  const request = { ...quote, receiverAccount, receiverAmount, memo: "" };
  const intent: PaymentIntent = await client.paymentIntents.create(request);
  const price = {
    Sender: intent.senderName,
    Receiver: intent.receiverName,
    "To receive": `${intent.receiverAmount} ${intent.receiverCurrency}`,
    "To pay": `${intent.senderAmount} ${intent.senderCurrency}`,
    "Fee of the receiving gateway": intent.receivingGatewayFee,
    Rate: exchangeRate(intent, rounded),
    "Exact rate": exactExchangeRate(intent, rounded),
  };
  const entries = Object.entries(price).flatMap(([name, text]) => [element("dt", name), element("dd", text ?? "")]);
  find("#price").replaceChildren(...entries);
}

/** Does what the user asked for, and shows what came of it. */
async function attempt(work: () => Promise<unknown>): Promise<void> {
  show(undefined);
  try {
    await work();
    show(undefined);
  } catch (error) {
    show(error);
  }
}

function show(error: unknown): void {
  const text = error instanceof CrossBorderError ? `${error.code}: ${error.message}` : String(error ?? "");
  find("#problem").textContent = text;
  document.body.classList.toggle("in", login.claims !== undefined);
  const { claims } = login;
  find("#user").textContent = String(claims?.name ?? claims?.sub ?? "");
}

function find(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`the page has no ${selector}`);
  return found;
}

/** Text stays text: names and memos come from others. */
function element(name: string, ...content: readonly (string | Node)[]): HTMLElement {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}
