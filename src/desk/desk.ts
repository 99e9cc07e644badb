import { type Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { csrf } from "hono/csrf";
import { HTTPException } from "hono/http-exception";
import { sign, verify } from "hono/jwt";
import { NONCE, secureHeaders } from "hono/secure-headers";
import { clock } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import { foldedName } from "../flows/core/owner.js";
import { refusals } from "../flows/core/reasons.js";
import type { FlowResolution } from "../flows/operate.js";
import { type CheckedDeskOptions, type OperatorDeskOptions, readDeskOptions } from "./desk-options.js";
import { actionOf, confirmContent, type FlowFacts, flowContent } from "./flow-page.js";
import { listContent, type Waiting } from "./list-page.js";
import { type Html, html, page } from "./page.js";
import { pageScript } from "./page-assets.js";

type DeskContext = Context<{ Variables: { user?: string; secureHeadersNonce?: string } }>;
type Form = Readonly<Record<string, string | undefined>>;

/**
 * Makes the operator console: a handler of web-standard requests, to be mounted at any path behind your own login. All pages are at
 * that one path, and only the query differs.
 *
 * `flow` carries out the decisions in this process. A user who asks sees names and account numbers, after `on.shown` was told.
 *
 * @throws {ConfigError} that names the option that is wrong.
 */
export function operatorDesk(options: OperatorDeskOptions): (request: Request) => Promise<Response> {
  const desk = new Desk(readDeskOptions(options));
  const app = new Hono<DeskContext extends Context<infer Env> ? Env : never>();
  app.use(policy, async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
  });
  app.use((c, next) => (desk.ownOrigins(c)?.length === 0 ? refuse(403, texts.host) : next()));
  app.post("*", csrf({ origin: (origin, c) => desk.isOwnOrigin(origin, c) }));
  app.post("*", bodyLimit({ maxSize: maxFormBytes, onError: () => refuse(413, "The form is too long.") }));
  app.use(async (c, next) => {
    c.set("user", await desk.userOf(c.req.raw));
    await next();
  });
  app.get("*", (c) => desk.get(c));
  app.post("*", (c) => desk.post(c));
  app.notFound(() => refuse(405, "The console takes GET and POST."));
  app.onError((error, c) => {
    const { status, message } = desk.failureOf(error);
    const content = html`<h1>That didn't work</h1><p class="note bad" role="alert">${message}</p><p><a href="?">Back to the queue</a></p>`;
    return respond(c, "Refused", content, { status });
  });
  return async (request) => app.fetch(request);
}

/** Nothing is loaded, run, framed, or kept but the page's own style and script. Browsers need a policy that lets them name a form's origin. */
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

class Desk {
  readonly #options: CheckedDeskOptions;

  constructor(options: CheckedDeskOptions) {
    this.#options = options;
  }

  /** Those of the host that was asked for, or `undefined` if any host is accepted. */
  ownOrigins(c: Context): readonly string[] | undefined {
    return this.#options.origins?.filter((origin) => new URL(origin).host === hostOf(c));
  }

  isOwnOrigin(origin: string, c: Context): boolean {
    const own = this.ownOrigins(c);
    // A proxy before the desk may have taken off TLS, and the scheme with it.
    return own?.includes(origin) ?? (URL.canParse(origin) && new URL(origin).host === hostOf(c));
  }

  async userOf(request: Request): Promise<string> {
    const user = (await this.#options.authenticate(request))?.name ?? refuse(401, "You are not logged in.");
    if (typeof user !== "string" || foldedName(user) === "") throw new TypeError("authenticate gave no name");
    return user;
  }

  async get(c: DeskContext): Promise<Response> {
    const { flow: key, asset, said = "" } = c.req.query();
    if (asset === "script") return c.body(pageScript, 200, { "content-type": "text/javascript; charset=utf-8" });
    if (key === undefined) return respond(c, "Needs review", await this.#list(c));
    const facts = await this.#facts(c, key, false);
    return respond(c, key, flowContent({ ...facts, said: sayings.get(said) }), { reloads: facts.isUnderway });
  }

  async #list(c: DeskContext): Promise<Html> {
    const { flow } = this.#options;
    const counts = await flow.counts();
    const found: Waiting[] = [];
    let problems: readonly unknown[] = [];
    try {
      for await (const waiting of flow.held()) found.push(waiting);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      problems = error.errors;
    }
    // Their messages name the keys, and nothing of what is stored.
    const unread = problems.map((one) => (one instanceof CrossBorderError ? one.message : "A flow can't be read."));
    return listContent({ found, unread, counts, query: c.req.query(), nowMs: clock.wallMs() });
  }

  /** What the pages of one flow are made of. Whoever asks for names and account numbers is noted before. */
  async #facts(c: DeskContext, key: string, isShown: boolean): Promise<FlowFacts> {
    const { on, flow: flows, csrfSecret } = this.#options;
    const { user = "" } = c.var;
    const flow = (await flows.details(key)) ?? refuse(404, texts.flow_unknown);
    const nowMs = clock.wallMs();
    if (isShown) {
      if (on.shown === undefined) refuse(403, "The console doesn't show names and account numbers.");
      await on.shown?.({ atMs: nowMs, by: user, key });
    }
    const exp = Math.floor((nowMs + formMs) / 1000);
    const token = await sign({ sub: user, aud: "desk", exp }, csrfSecret, "HS256");
    const isUnderway = flow.isWaiting && (flow.leaseUntilMs ?? 0) > nowMs;
    return { flow, user, people: flows.people, token, isShown, canShow: on.shown !== undefined, isUnderway, nowMs };
  }

  async post(c: DeskContext): Promise<Response> {
    const { user = "" } = c.var;
    const form = Object.fromEntries(
      Object.entries(await c.req.parseBody()).map(([name, value]) => [name, String(value) || undefined]),
    );
    const secret = this.#options.csrfSecret;
    const made = await verify(form.token ?? "", secret, { alg: "HS256", aud: "desk" }).catch(() => undefined);
    if (made?.sub !== user) refuse(403, texts.token);
    const key = c.req.query("flow") ?? refuse(404, texts.flow_unknown);
    if (form.do === "show") return respond(c, key, flowContent(await this.#facts(c, key, true)));
    if (form.do === "review") {
      const facts = await this.#facts(c, key, form.show !== undefined);
      return respond(c, key, confirmContent(facts, actionOf(form.action), form.why ?? ""));
    }
    const said = await this.#decide(key, user, form);
    return c.redirect(`?${new URLSearchParams({ flow: key, said })}`, 303);
  }

  /** Returns the name of a saying. The flow refuses what a form leaves out, and what isn't the revision of the page. */
  async #decide(key: string, by: string, form: Form): Promise<string> {
    const { flow } = this.#options;
    const revision = Number(form.revision);
    const withoutProof = form.withoutProof !== undefined;
    const given = { by, why: form.why, revision, withoutProof, payment: form.payment && recordOf(form.payment) };
    const resolution = given satisfies Readonly<Record<keyof FlowResolution, unknown>> as never;
    switch (form.do) {
      case "propose":
        await flow.propose(key, form.action as never, resolution);
        return "proposed";
      case "refuse":
        await flow.refuse(key, { by, revision });
        return "refused";
      case "resolve":
        return this.#inTime(flow.resolve(key, form.action as never, resolution));
      case "approve":
        return this.#inTime(flow.approve(key, { by, revision }));
      default:
        return refuse(400, "The form doesn't say what to do.");
    }
  }

  /** A decision can take minutes. After 20 s the page says so, and the work continues, whether or not its user waits. */
  async #inTime(work: Promise<unknown>): Promise<string> {
    const deadline = new Deadline({ timeoutMs: maxWaitMs });
    try {
      await deadline.race(work);
      return "decided";
    } catch (error) {
      if (!(error instanceof Ended)) throw error;
      work.catch((late: unknown) => this.failureOf(late));
      return "underway";
    } finally {
      deadline.finish();
    }
  }

  /** Only the library's own sentences about a failure are shown. */
  failureOf(error: unknown): HTTPException {
    // Without a message it is that of `csrf`.
    if (error instanceof HTTPException) return error.message === "" ? failure(error.status, texts.origin) : error;
    if (error instanceof InvalidArgumentError) {
      const { code, message } = error;
      return failure(code === "invalid_argument" ? 400 : 409, `Not done: ${texts[code] ?? message}`);
    }
    try {
      void Promise.resolve(this.#options.on.error?.(error)).catch(() => {});
    } catch {
      // The mistakes of a hook are its own.
    }
    const { code } = [Object(error).cause, error].find((one) => one instanceof CrossBorderError) ?? {};
    return failure(500, `Something failed${code === undefined ? "" : ` (${code})`}. ${texts.repeat}`);
  }
}

/** Sentences by name, so that no address can put words on a page. */
const sayings: ReadonlyMap<string, string> = new Map([
  ["proposed", "Proposed. Another person must approve it."],
  ["refused", "The proposal is dropped."],
  ["decided", "Decided and carried out."],
  ["underway", "This takes longer. It continues, and you can leave the page."],
]);

/** Of refusals. Those of the flow have its codes, and some have words that name the page's buttons. */
const texts: Readonly<Record<string, string>> = {
  ...refusals,
  flow_payment_found: "The payment is listed: it was made. Mark it as paid instead.",
  flow_payment_not_found: "The payment isn't listed, or the record is another payment's. Paste the service's record.",
  host: "Refused: the console is not at the host that was asked for.",
  origin: "Refused: the form comes from another site's page.",
  token: "Refused: the form was not made for you today. Go back, load the page again, and repeat what you did.",
  repeat: "The payment's state is stored. Look at it again before you repeat what you did.",
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

/** HTTP/2 has the host in the address alone. */
function hostOf(c: Context): string {
  return c.req.header("host") ?? new URL(c.req.url).host;
}

function respond(
  c: DeskContext,
  title: string,
  content: Html,
  { status = 200, reloads = false } = {},
): Promise<Response> | Response {
  const { user, secureHeadersNonce: nonce = "" } = c.var;
  return c.html(page({ nonce, user, title, content, reloads }), status as never);
}
