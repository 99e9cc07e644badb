import type { HttpBindings } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { secureHeaders } from "hono/secure-headers";
import { CrossBorderError } from "../../core/errors.js";
import { operations } from "../../resources/catalogue.js";
import { paymentIntents } from "../../resources/payment-intents.js";
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
  const desk = new PaymentDesk(sandbox, store, tokens, signingKeys);

  const show = (c: Context<Env>, title: string, content: pages.Html, problem?: string) => {
    const { origin } = new URL(c.req.url);
    const { baseUrl } = sandbox.clientOptions({ baseUrl: origin, authUrl: origin });
    return c.html(pages.page(title, baseUrl, faults, content, problem), problem === undefined ? 200 : 400);
  };
  const app = new Hono<Env>({ strict: false });
  const get = (path: string, title: string, content: (id: string) => pages.Html) =>
    app.get(path, (c) => show(c, title, content(c.req.param("id") ?? "")));
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

  get("/", "Requests", () => pages.requestsPage(log.exchanges));
  get("/requests/:id", "Request", (id) => {
    const exchange = log.find(id);
    return pages.requestPage(exchange, whyWrong(store, exchange));
  });
  post("/requests/:id/replay", async (_, id) => {
    const { arrived } = log.find(id);
    if (arrived.route === undefined) throw new SandboxRefusal("not_found", "Only operations can be replayed.");
    const { method, path, query, headers, body } = arrived.seen;
    await desk.send(method, query === "" ? path : `${path}?${query}`, new Headers(headers), body);
    return newestRequest();
  });

  get("/payments", "Payments", () => pages.paymentsPage(store));
  post("/payments/:id/status", ({ status }, id) => {
    sandbox.setReceiverStatus(id, status as PaymentStatus);
    return "payments";
  });
  get("/records", "Records", () => pages.recordsPage(store));

  get("/pay", "Make a payment", () => pages.payPage(store));
  post("/pay", async ({ transactionId, ...request }) => {
    const intent = Object(await desk.create(paymentIntents.create, "", request));
    const payment = { ...intent, senderGatewayTransactionId: transactionId };
    // The log shows why there is no intent.
    if (intent.id !== undefined) await desk.create(payments.create, intent.senderGatewayId, payment);
    return newestRequest();
  });

  get("/faults", "Faults", () => pages.faultsPage(faults));
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
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    connectSrc: ["'self'"],
    imgSrc: ["data:"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
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

function faultFrom({ kind = "", of = "" }: Fields): Fault {
  const isKnown = kind in faultKinds && (of === "any" || of === "token" || operations.has(of));
  if (isKnown) return { kind, of } as Fault;
  throw new SandboxRefusal("invalid_value", "Choose a fault and an operation.");
}
