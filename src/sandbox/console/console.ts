import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { CrossBorderError } from "../../core/errors.js";
import { operations } from "../../resources/catalogue.js";
import { type PaymentIntent, paymentIntents } from "../../resources/payment-intents.js";
import { type PaymentStatus, payments } from "../../resources/payments.js";
import type { SigningKey } from "../../signing/keys.js";
import { SandboxRefusal } from "../refusal.js";
import type { Sandbox } from "../sandbox.js";
import { script, style } from "./assets.js";
import * as pages from "./pages.js";
import { PaymentDesk } from "./payment-desk.js";
import { type Fault, faultKinds, RequestLog, takeFault, whyWrong, withFault } from "./request-log.js";

type Env = { Bindings: HttpBindings };
type Fields = Readonly<Record<string, string>>;

/**
 * The console of a sandbox: pages without a login, for addresses of this machine only.
 *
 * @throws {ConfigError} if one of the keys isn't a signing key.
 */
export function consoleApp(sandbox: Sandbox, signingKeys: readonly SigningKey[]): Hono<Env> {
  const log = new RequestLog();
  const faults: Fault[] = [];
  const { store, tokens } = sandbox.watch((arrived, respond) => {
    const fault = takeFault(faults, arrived.seen.operation);
    return log.watch(store, arrived, fault, () => withFault(fault, respond));
  });
  const desk = new PaymentDesk(sandbox, store, signingKeys);

  const show = (c: Context<Env>, title: string, content: pages.Html, problem?: string) => {
    const { origin } = new URL(c.req.url);
    const { baseUrl } = sandbox.clientOptions({ baseUrl: origin, authUrl: origin });
    return c.html(pages.page(title, baseUrl, faults, content, problem), problem === undefined ? 200 : 400);
  };
  const app = new Hono<Env>({ strict: false });
  const get = (path: string, title: string, content: (asked: Fields, id: string) => pages.Html) =>
    app.get(path, (c) => show(c, title, content(c.req.query(), c.req.param("id") ?? "")));
  /** @param task returns the page that follows. */
  const post = (path: string, task: (fields: Fields, id: string) => string | Promise<string>) =>
    app.post(path, async (c) => {
      const fields = Object.fromEntries(new URLSearchParams(await c.req.text()));
      return c.redirect(`/console/${await task(fields, c.req.param("id") ?? "")}`, 303);
    });
  const newestRequest = () => `requests/${log.exchanges[0]?.id}`;

  app.use(secureHeaders(security), async (c, next) => {
    c.header("cache-control", "no-store");
    return isOwnHost(c) ? next() : c.text("The console answers to addresses of this machine only.", 403);
  });
  app.use(csrf());
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    if (!(error instanceof SandboxRefusal || error instanceof CrossBorderError)) throw error;
    return show(c, "Error", pages.goBack, error.message);
  });
  app.get("/console.css", (c) => c.body(style, 200, { "content-type": "text/css; charset=utf-8" }));
  app.get("/console.js", (c) => c.body(script, 200, { "content-type": "text/javascript; charset=utf-8" }));

  get("/", "Requests", ({ status = "", operation = "" }) => pages.requestsPage(log.exchanges, status, operation));
  get("/requests/:id", "Request", (_, id) => {
    const exchange = log.find(id);
    return pages.requestPage(exchange, whyWrong(store, exchange));
  });
  post("/requests/clear", () => {
    log.exchanges = [];
    return "";
  });
  post("/requests/:id/replay", async (_, id) => {
    const { arrived } = log.find(id);
    if (arrived.route === undefined) throw new SandboxRefusal("not_found", "Only operations can be replayed.");
    const { method, path, query, headers } = arrived.seen;
    const target = query === "" ? path : `${path}?${query}`;
    await desk.send(method, target, new Headers(headers), new Uint8Array(arrived.bytes));
    return newestRequest();
  });

  get("/payments", "Payments", () => pages.paymentsPage(store));
  post("/payments/:id/status", ({ status }, id) => {
    sandbox.setReceiverStatus(id, status as PaymentStatus);
    return "payments";
  });
  get("/records", "Records", () => pages.recordsPage(store));

  const intentOf = (id: string): PaymentIntent => {
    const intent = store.records.paymentIntents.find(id)?.record;
    if (intent === undefined) throw new SandboxRefusal("unknown_intent", "There is no such intent.");
    return intent;
  };
  get("/pay", "Make a payment", () => pages.intentPage(store));
  post("/pay", async (fields) => {
    const { id } = Object(await desk.create(paymentIntents.create, "", fields));
    return id === undefined ? newestRequest() : `pay/${id}`;
  });
  get("/pay/:id", "Make a payment", (_, id) => pages.confirmPage(intentOf(id)));
  post("/pay/:id", async ({ transactionId }, id) => {
    const intent = intentOf(id);
    const payment = { ...intent, senderGatewayTransactionId: transactionId };
    await desk.create(payments.create, intent.senderGatewayId, payment);
    return newestRequest();
  });

  get("/faults", "Faults", () => pages.faultsPage(faults, tokens.refreshable));
  post("/faults", (fields) => {
    faults.push(faultFrom(fields));
    return "faults";
  });
  post("/faults/:id/cancel", (_, index) => {
    faults.splice(Number(index), 1);
    return "faults";
  });
  post("/revoke", ({ which }) => {
    sandbox.revokeTokens(which === "all" ? "all" : "access");
    return "faults";
  });
  app.all("*", (c) => c.text("The console has no such page.", 404));
  return app;
}

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

function faultFrom({ kind = "", of = "", delaySeconds }: Fields): Fault {
  const isKnown = kind in faultKinds && (of === "any" || of === "token" || operations.has(of));
  const delayMs = 1000 * Number(delaySeconds);
  if (isKnown && delayMs >= 0 && delayMs <= 600_000) return { kind, of, delayMs } as Fault;
  throw new SandboxRefusal("invalid_value", "Choose a fault, an operation, and a delay of at most 600 s.");
}
