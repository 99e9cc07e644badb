import { randomUUID } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { CrossBorderError } from "../../core/errors.js";
import { isOperationName } from "../../resources/catalogue.js";
import type { PaymentIntent } from "../../resources/payment-intents.js";
import type { PaymentStatus } from "../../resources/payments.js";
import type { SigningKey } from "../../signing/keys.js";
import { SandboxRefusal } from "../refusal.js";
import type { Sandbox } from "../sandbox.js";
import { script, style } from "./assets.js";
import { type Fault, type FaultKind, Faults, faultKinds, withFault } from "./faults.js";
import * as pages from "./pages.js";
import { type DeskResponse, PaymentDesk } from "./payment-desk.js";
import { RequestLog } from "./request-log.js";

export const consolePath = "/console/";

type Env = { Bindings: HttpBindings };
type Fields = Readonly<Record<string, string>>;

/**
 * The console of a sandbox: pages without a login, for addresses of this machine only.
 *
 * @throws {ConfigError} if one of the keys isn't a signing key.
 */
export function consoleApp(sandbox: Sandbox, signingKeys: readonly SigningKey[]): Hono<Env> {
  const log = new RequestLog();
  const faults = new Faults();
  const notices = new Map<string, pages.Notice>();
  const { store, tokens } = sandbox.watch(async (arrived, respond) => {
    const fault = faults.take(arrived.seen.operation);
    const exchange = await log.add(store, arrived, fault?.kind);
    let response: Response | undefined;
    try {
      response = await withFault(fault, respond);
      return response;
    } finally {
      exchange.end(response);
    }
  });
  const desk = new PaymentDesk(sandbox, store, signingKeys);

  const show = (c: Context<Env>, title: string, content: pages.Html, problem?: string) => {
    const { origin } = new URL(c.req.url);
    const { baseUrl } = sandbox.clientOptions({ baseUrl: origin, authUrl: origin });
    const notice = problem === undefined ? notices.get(c.req.query("said") ?? "") : { text: problem, isProblem: true };
    const frame = { title, baseUrl, faults: faults.armed, notice };
    return c.html(pages.page(frame, content), problem === undefined ? 200 : 400);
  };
  const goTo = (c: Context<Env>, path: string, text: string, isProblem = false) => {
    const id = randomUUID();
    notices.set(id, { text, isProblem });
    for (const old of notices.keys()) if (notices.size > mostNotices) notices.delete(old);
    return c.redirect(`${path}${path.includes("?") ? "&" : "?"}said=${id}`, 303);
  };

  const app = new Hono<Env>({ strict: false });
  app.use(secureHeaders(security));
  app.use(async (c, next) => {
    c.header("cache-control", "no-store");
    if (isOwnHost(c)) return next();
    return c.text("The console answers to addresses of this machine only.", 403);
  });
  app.use(csrf());
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    if (!(error instanceof SandboxRefusal || error instanceof CrossBorderError)) throw error;
    return show(c, "Error", pages.goBack, error.message);
  });

  app.get("/console.css", (c) => c.body(style, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/console.js", (c) => c.body(script, 200, { "content-type": "text/javascript; charset=utf-8" }));

  app.get("/", (c) => {
    const { status = "", operation = "", hideOwn } = c.req.query();
    const filter = { status, operation, isOwnHidden: hideOwn !== undefined };
    return show(c, "Requests", pages.requestsPage(log.exchanges, filter));
  });
  app.post("/requests/clear", (c) => {
    log.clear();
    return goTo(c, consolePath, "The log is cleared.");
  });
  const exchangeAt = (c: Context<Env>) => {
    const exchange = log.exchanges.find(({ id }) => id === c.req.param("id"));
    if (exchange === undefined) throw new SandboxRefusal("not_found", "The log doesn't have this request.");
    return exchange;
  };
  app.get("/requests/:id", (c) => show(c, "Request", pages.requestPage(exchangeAt(c), c.req.url)));
  app.post("/requests/:id/replay", async (c) => {
    const { seen, bytes, canReplay } = exchangeAt(c);
    if (!canReplay) throw new SandboxRefusal("not_found", "Only operations can be replayed.");
    const target = seen.query === "" ? seen.path : `${seen.path}?${seen.query}`;
    const { status } = await desk.send(seen.method, target, new Headers(seen.headers), bytes);
    const newest = log.exchanges.find(({ isOwn }) => isOwn)?.id ?? "";
    return goTo(c, `${consolePath}requests/${newest}`, `Replayed: ${statusText(status)}.`, status >= 400);
  });

  app.get("/payments", (c) => show(c, "Payments", pages.paymentsPage(store)));
  app.post("/payments/:id/status", async (c) => {
    const { status = "" } = await fieldsOf(c);
    sandbox.setReceiverStatus(c.req.param("id"), status as PaymentStatus);
    return goTo(c, `${consolePath}payments`, `The receiver's status is ${status}.`);
  });
  app.get("/records", (c) => show(c, "Records", pages.recordsPage(store, desk)));

  const intentOf = (id: string | undefined): PaymentIntent => {
    const intent = store.records.paymentIntents.find(id ?? "")?.record;
    if (intent === undefined) throw new SandboxRefusal("unknown_intent", "There is no such intent.");
    return intent;
  };
  app.get("/pay", (c) => {
    const id = c.req.query("intent");
    if (id === undefined) return show(c, "Make a payment", pages.intentPage(store, {}));
    const intent = intentOf(id);
    const canSign = desk.canSign(desk.gateway(intent.senderGatewayId));
    const transactionId = `CONSOLE-${randomUUID().slice(0, 8)}`;
    return show(c, "Make a payment", pages.confirmPage(intent, canSign, transactionId));
  });
  app.post("/pay", async (c) => {
    const fields = await fieldsOf(c);
    const response = await desk.createIntent(fields);
    const { id } = Object(response.body);
    if (response.status === 200) return c.redirect(`${consolePath}pay?intent=${id}`, 303);
    return show(c, "Make a payment", pages.intentPage(store, fields), refusalText("intent", response));
  });
  app.post("/pay/:id", async (c) => {
    const intent = intentOf(c.req.param("id"));
    const { transactionId = "" } = await fieldsOf(c);
    const response = await desk.createPayment(intent, transactionId);
    if (response.status === 200)
      return goTo(c, `${consolePath}payments`, `Payment ${Object(response.body).id} is made.`);
    return goTo(c, `${consolePath}pay?intent=${intent.id}`, refusalText("payment", response), true);
  });
  app.post("/pay/:id/key", async (c) => {
    const intent = intentOf(c.req.param("id"));
    const response = await desk.replaceKey(intent.senderGatewayId);
    const isDone = response.status === 200;
    const text = isDone ? `${intent.senderGatewayId} has a new key.` : refusalText("key", response);
    return goTo(c, `${consolePath}pay?intent=${intent.id}`, text, !isDone);
  });

  app.get("/faults", (c) => {
    return show(c, "Faults and tokens", pages.faultsPage(faults.armed, tokens.issued, store.settings.now()));
  });
  app.post("/faults", async (c) => {
    const fault = faultFrom(await fieldsOf(c));
    faults.arm(fault);
    return goTo(c, `${consolePath}faults`, `Armed: ${pages.faultText(fault)}`);
  });
  app.post("/faults/:id/cancel", (c) => {
    faults.cancel(c.req.param("id"));
    return goTo(c, `${consolePath}faults`, "The fault is canceled.");
  });
  app.post("/revoke", async (c) => {
    const which = (await fieldsOf(c)).which === "all" ? "all" : "access";
    sandbox.revokeTokens(which);
    return goTo(c, `${consolePath}faults`, which === "all" ? "All tokens are revoked." : "Access tokens are revoked.");
  });
  app.all("*", (c) => c.text("The console has no such page.", 404));
  return app;
}

const mostNotices = 20;

/** Pages load nothing from elsewhere, run no inline script, and can't be framed or read by another page. */
const security = {
  contentSecurityPolicy: {
    ...{
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'"],
      styleSrc: ["'self'"],
      connectSrc: ["'self'"],
      imgSrc: ["data:"],
    },
    ...{ baseUri: ["'none'"], formAction: ["'self'"], frameAncestors: ["'none'"] },
  },
  xFrameOptions: "DENY",
};

/** Refuses a foreign name that a resolver leads here (DNS rebinding). */
function isOwnHost(c: Context<Env>): boolean {
  const { localAddress = "", localPort } = c.env.incoming.socket;
  const { hostname, port } = new URL(c.req.url);
  const own = ["localhost", localAddress.includes(":") ? `[${localAddress}]` : localAddress];
  return own.includes(hostname) && Number(port || 80) === localPort;
}

async function fieldsOf(c: Context<Env>): Promise<Fields> {
  return Object.fromEntries(new URLSearchParams(await c.req.text()));
}

function faultFrom({ kind, of = "", times, delaySeconds }: Fields): Omit<Fault, "id"> {
  const isKnown = of === "any" || of === "token" || isOperationName(of);
  const [count, seconds] = [Number(times), Number(delaySeconds)];
  const isCounted = Number.isInteger(count) && count >= 1 && count <= 1000 && seconds >= 0 && seconds <= 600;
  if (!isKnown || !isCounted || !faultKinds.has(kind ?? "")) {
    throw new SandboxRefusal(
      "invalid_value",
      "Choose a fault, an operation, 1 to 1000 requests, and a delay of at most 600 s.",
    );
  }
  return { kind: kind as FaultKind, of, times: count, delayMs: 1000 * seconds };
}

function statusText(status: number): string {
  return status === 0 ? "the response was lost" : `status ${status}`;
}

function refusalText(what: string, { status, body }: DeskResponse): string {
  const { error, code, message } = Object(body);
  if (status === 0) return `The response was lost. The ${what} may have been stored.`;
  return `The store refused the ${what}: ${status} ${error ?? code ?? ""} ${message ?? ""}`;
}
