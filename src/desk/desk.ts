import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { sign, verify } from "hono/jwt";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { clock } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import { refusals } from "../flows/core/reasons.js";
import type { FlowResolution } from "../flows/operate.js";
import { type CheckedDeskOptions, type OperatorDeskOptions, readDeskOptions } from "./desk-options.js";
import { actions, confirmContent, type FlowFacts, flowContent } from "./flow-page.js";
import { listContent, type Waiting } from "./list-page.js";
import { type Html, html, page } from "./page.js";
import { pageScript } from "./page-assets.js";

interface Env {
  readonly Variables: { user: string; secureHeadersNonce?: string };
}
type Form = Readonly<Record<string, string | undefined>>;

/**
 * Makes the operator console, a handler of web-standard requests. Mount it at one path behind your own login. Its pages differ only in
 * the query.
 *
 * `flow` carries out the decisions in this process. Names and account numbers are hidden until a user asks for them.
 *
 * @throws {ConfigError} that names the option that is wrong.
 */
export function operatorDesk(options: OperatorDeskOptions): (request: Request) => Promise<Response> {
  const checked = readDeskOptions(options);
  const app = new Hono<Env>();
  app.use(policy, async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  const ownOrigins = (c: Context) => {
    // HTTP/2 has the host in the address alone. A proxy before the desk may have taken off TLS, and the scheme with it.
    const host = c.req.header("host") ?? new URL(c.req.url).host;
    return checked.origins?.filter((origin) => new URL(origin).host === host) ?? [`https://${host}`, `http://${host}`];
  };
  app.use((c, next) =>
    ownOrigins(c).length === 0 ? refuse(403, "Refused: the console is not at the host that was asked for.") : next(),
  );
  app.post("*", csrf({ origin: (origin, c) => ownOrigins(c).includes(origin) }));
  app.post("*", bodyLimit({ maxSize: maxFormBytes, onError: () => refuse(413, "The form is too long.") }));
  app.use(async (c, next) => {
    c.set("user", (await checked.authenticate(c.req.raw))?.name ?? refuse(401, "You are not logged in."));
    await next();
  });
  app.get("*", (c) => get(checked, c));
  app.post("*", (c) => post(checked, c));
  app.notFound(() => refuse(405, "The console takes GET and POST."));
  app.onError((error, c) => {
    const { status, message } = failureOf(checked, error);
    const content = html`<h1>That didn't work</h1><p class="note bad" role="alert">${message}</p><p><a href="?">Back to the queue</a></p>`;
    return respond(c, "Refused", content, { status });
  });
  return async (request) => app.fetch(request);
}

/** Only the page's own style and script run. With `no-referrer`, browsers wouldn't name a form's origin. */
const policy = secureHeaders({
  contentSecurityPolicy: {
    ...{ defaultSrc: ["'none'"], styleSrc: [NONCE], scriptSrc: [NONCE], imgSrc: ["data:"], baseUri: ["'none'"] },
    ...{ formAction: ["'self'"], frameAncestors: ["'none'"] },
    ...{ requireTrustedTypesFor: ["'script'"], trustedTypes: ["'none'"] },
  },
  ...{ referrerPolicy: "same-origin", xFrameOptions: "DENY", strictTransportSecurity: false },
});

/** A payment's record, the longest field, has a few thousand bytes. */
const maxFormBytes = 256 * 1024;
const formMs = 10 * 3_600_000;
const maxWaitMs = 20_000;

async function get(options: CheckedDeskOptions, c: Context<Env>): Promise<Response> {
  const { flow: key, asset, said = "" } = c.req.query();
  if (asset === "script") return c.body(pageScript, 200, { "content-type": "text/javascript; charset=utf-8" });
  if (key === undefined) return respond(c, "Needs review", await list(options, c));
  const facts = await read(options, c, key, false);
  return respond(c, key, flowContent({ ...facts, said: sayings.get(said) }), { reloads: facts.isUnderway });
}

async function list({ flow }: CheckedDeskOptions, c: Context<Env>): Promise<Html> {
  const counts = await flow.counts();
  const found: Waiting[] = [];
  let unread = "";
  try {
    for await (const waiting of flow.held()) found.push(waiting);
  } catch (error) {
    if (!(error instanceof AggregateError)) throw error;
    // It names the keys, but shows nothing that is stored.
    unread = error.message;
  }
  return listContent({ found, unread, counts, query: c.req.query(), nowMs: clock.wallMs() });
}

/** Reads what the pages of one flow show. A request for names and account numbers is noted first. */
async function read(
  { on, flow: flows, csrfSecret }: CheckedDeskOptions,
  c: Context<Env>,
  key: string,
  isShown: boolean,
): Promise<FlowFacts> {
  const { user } = c.var;
  const flow = (await flows.details(key)) ?? refuse(404, texts.flow_unknown);
  const nowMs = clock.wallMs();
  if (isShown && on.shown === undefined) refuse(403, "The console doesn't show names and account numbers.");
  if (isShown) await on.shown?.({ atMs: nowMs, by: user, key });
  const exp = Math.floor((nowMs + formMs) / 1000);
  const token = await sign({ sub: user, aud: "desk", exp }, csrfSecret, "HS256");
  const isUnderway = flow.isWaiting && (flow.leaseUntilMs ?? 0) > nowMs;
  return { flow, user, people: flows.people, token, isShown, canShow: on.shown !== undefined, isUnderway, nowMs };
}

async function post(options: CheckedDeskOptions, c: Context<Env>): Promise<Response> {
  const { user } = c.var;
  const fields = Object.entries(await c.req.parseBody()).map(([name, value]) => [name, String(value) || undefined]);
  const form: Form = Object.fromEntries(fields);
  const checks = { alg: "HS256", aud: "desk" } as const;
  const made = await verify(form.token ?? "", options.csrfSecret, checks).catch(() => undefined);
  if (made?.sub !== user)
    refuse(403, "Refused: the form was not made for you today. Go back, load the page again, and repeat what you did.");
  const key = c.req.query("flow") ?? refuse(404, texts.flow_unknown);
  if (form.do === "show") return respond(c, key, flowContent(await read(options, c, key, true)));
  if (form.do === "review") {
    const facts = await read(options, c, key, form.show !== undefined);
    const action = actions.find((one) => one === form.action) ?? refuse(400, "Not done: choose one of the actions.");
    return respond(c, key, confirmContent(facts, action, form.why ?? ""));
  }
  const said = await decide(options, key, user, form);
  return c.redirect(`?${new URLSearchParams({ flow: key, said })}`, 303);
}

/** Returns the name of a saying. The flow refuses missing fields and an old revision. */
async function decide(options: CheckedDeskOptions, key: string, by: string, form: Form): Promise<string> {
  const { flow } = options;
  const revision = Number(form.revision);
  const withoutProof = form.withoutProof !== undefined;
  const payment = form.payment && recordOf(form.payment);
  const resolution = { by, why: form.why, revision, withoutProof, payment } as FlowResolution;
  switch (form.do) {
    case "propose":
      await flow.propose(key, form.action as never, resolution);
      return "proposed";
    case "refuse":
      await flow.refuse(key, { by, revision });
      return "refused";
    case "resolve":
      return inTime(options, flow.resolve(key, form.action as never, resolution));
    case "approve":
      return inTime(options, flow.approve(key, { by, revision }));
    default:
      return refuse(400, "The form doesn't say what to do.");
  }
}

/** A decision can take minutes. After 20 s the page says so, and the work continues. */
async function inTime(options: CheckedDeskOptions, work: Promise<unknown>): Promise<string> {
  const deadline = new Deadline({ timeoutMs: maxWaitMs });
  try {
    await deadline.race(work);
    return "decided";
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    work.catch((late: unknown) => failureOf(options, late));
    return "underway";
  } finally {
    deadline.finish();
  }
}

/** Only the library's own sentences about a failure are shown. */
function failureOf({ on }: CheckedDeskOptions, error: unknown): HTTPException {
  // Without a message it is that of `csrf`.
  if (error instanceof HTTPException)
    return error.message === "" ? failure(error.status, "Refused: the form comes from another site's page.") : error;
  if (error instanceof InvalidArgumentError) {
    const { code, message } = error;
    return failure(code === "invalid_argument" ? 400 : 409, `Not done: ${texts[code] ?? message}`);
  }
  // A hook that throws changes nothing.
  void (async () => on.error?.(error))().catch(() => {});
  const { code } = [Object(error).cause, error].find((one) => one instanceof CrossBorderError) ?? {};
  return failure(
    500,
    `Something failed${code === undefined ? "" : ` (${code})`}. The payment's state is stored. Look at it again before you repeat what you did.`,
  );
}

/** Sentences by name, so that a link can't put words on a page. */
const sayings: ReadonlyMap<string, string> = new Map([
  ["proposed", "Proposed. Another person must approve it."],
  ["refused", "The proposal is dropped."],
  ["decided", "Decided and carried out."],
  ["underway", "This takes longer. It continues, and you can leave the page."],
]);

/** Texts of the flow's refusals by code. Some name the page's buttons. */
const texts: Readonly<Record<string, string>> = {
  ...refusals,
  flow_unknown: "There is no payment with this key.",
  flow_payment_found: "The payment is listed: it was made. Mark it as paid instead.",
  flow_payment_not_found: "The payment isn't listed, or the record is another payment's. Paste the service's record.",
};

type Status = HTTPException["status"];

function failure(status: Status, message = ""): HTTPException {
  return new HTTPException(status, { message });
}

function refuse(status: Status, message: string | undefined): never {
  throw failure(status, message);
}

function recordOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return refuse(400, "Not done: the record must be JSON.");
  }
}

function respond(c: Context<Env>, title: string, content: Html, { status = 200, reloads = false } = {}) {
  const { user, secureHeadersNonce: nonce = "" } = c.var;
  return c.html(page({ nonce, user, title, content, reloads }), status as never);
}
