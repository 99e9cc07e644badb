import { clock } from "../core/clock.js";
import { CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import { foldedName } from "../flows/core/owner.js";
import type { FlowResolution } from "../flows/operate.js";
import { FlowPausedError } from "../flows/outcome.js";
import type { FlowDetails } from "../flows/status.js";
import type { Payment } from "../resources/payments.js";
import { type CheckedDeskOptions, type OperatorDeskOptions, readDeskOptions } from "./desk-options.js";
import { FormTokens } from "./form-token.js";
import { html } from "./html.js";
import { flowContent, listContent, page, type Task, taskText, type Waiting } from "./pages.js";
import { readForm } from "./read-form.js";
import { whyRefused } from "./refused-request.js";

/**
 * Makes a page where operators decide about held flows: a handler of web-standard requests, to be mounted at any path behind the bank's
 * own login. All of its pages are at that one path; only the query differs. It needs no script, and loads nothing.
 *
 * `flow` carries out the decisions, in this process. Names and account numbers are shown to users who ask, after `on.shown` was told.
 *
 * @throws {ConfigError} that names the option that is wrong.
 */
export function operatorDesk(options: OperatorDeskOptions): (request: Request) => Promise<Response> {
  const desk = new Desk(readDeskOptions(options));
  return (request) => desk.respond(request);
}

/** What a page says, and its status. */
class Said {
  readonly status: number;
  readonly text: string;

  constructor(status: number, text: string) {
    this.status = status;
    this.text = text;
  }
}

class Desk {
  readonly #options: CheckedDeskOptions;
  readonly #tokens: FormTokens;
  /** By key: what is being carried out, and what failed. The journal stores neither. */
  readonly #underway = new Map<string, Task>();
  readonly #undone = new Map<string, Task & { readonly why: string }>();

  constructor(options: CheckedDeskOptions) {
    this.#options = options;
    this.#tokens = new FormTokens(options.csrfSecret);
  }

  /** Never rejects. */
  async respond(request: Request): Promise<Response> {
    const nonce = crypto.randomUUID();
    let response: Response;
    try {
      response = await this.#respond(request, nonce);
    } catch (error) {
      response = this.#failed(error, nonce);
    }
    for (const [name, value] of Object.entries(securityHeaders(nonce))) response.headers.set(name, value);
    return response;
  }

  async #respond(request: Request, nonce: string): Promise<Response> {
    const { method } = request;
    if (!methods.has(method)) throw new Said(405, "The desk takes GET and POST.");
    const why = whyRefused(request, this.#options.origins);
    if (why !== undefined) throw new Said(403, `Refused: ${why}.`);
    const user = (await this.#options.authenticate(request))?.name;
    if (user === undefined) throw new Said(401, "You are not logged in.");
    if (typeof user !== "string" || foldedName(user) === "") throw new TypeError("authenticate gave no name");
    const key = new URL(request.url).searchParams.get("flow");
    if (method === "POST") return this.#post(request, key, user, nonce);
    const content = key === null ? await this.#list() : await this.#flow(request, key, user);
    const isUnderway = key !== null && this.#underway.has(key);
    return pageResponse(200, page({ nonce, user, isUnderway }, "Operators' desk", content));
  }

  async #list() {
    const { flow } = this.#options;
    const counts = await flow.counts();
    const found: Waiting[] = [];
    const problems: string[] = [];
    let isCut = false;
    try {
      for await (const waiting of flow.held()) {
        isCut = found.length === maxListed;
        if (isCut) break;
        found.push(waiting);
      }
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      // The messages name the keys, and nothing of what is stored.
      for (const one of error.errors.slice(0, maxListed)) problems.push(messageOf(one));
    }
    return listContent({ found, isCut, problems, counts, nowMs: clock.wallMs() });
  }

  async #flow(request: Request, key: string, user: string, isShown = false) {
    const flow = await this.#details(key);
    const said = sayings[new URL(request.url).searchParams.get("said") ?? ""];
    return this.#flowContent(flow, user, isShown, said);
  }

  async #flowContent(flow: FlowDetails, user: string, isShown: boolean, said?: string) {
    const { on, flow: flows } = this.#options;
    const { people } = flows;
    const token = await this.#tokens.make(user);
    return flowContent({
      ...{ flow, user, people, token, isShown, said },
      ...{ underway: this.#underway.get(flow.key), undone: this.#undone.get(flow.key) },
      canShow: on.shown !== undefined,
      nowMs: clock.wallMs(),
    });
  }

  async #details(key: string): Promise<FlowDetails> {
    const flow = await this.#options.flow.details(key);
    if (flow === undefined) throw new Said(404, "There is no such flow.");
    return flow;
  }

  async #post(request: Request, key: string | null, user: string, nonce: string): Promise<Response> {
    const form = await readForm(request);
    if (form === 413) throw new Said(413, "The form is too long.");
    if (form === 415) throw new Said(415, "The desk takes forms of its own pages only.");
    if (!(await this.#tokens.isValid(form.get("token") ?? "", user))) {
      throw new Said(
        403,
        "Refused: the form was not made for you today. Go back, load the page again, and repeat what you did.",
      );
    }
    if (key === null) throw new Said(404, "There is no such flow.");
    const task = form.get("do");
    if (task === "show") {
      const flow = await this.#show(key, user);
      return pageResponse(200, page({ nonce, user }, "Operators' desk", await this.#flowContent(flow, user, true)));
    }
    const said = await this.#decide(task, key, user, form);
    const location = `?${new URLSearchParams({ flow: key, ...(said !== undefined && { said }) })}`;
    return new Response(null, { status: 303, headers: { location } });
  }

  async #show(key: string, by: string): Promise<FlowDetails> {
    const flow = await this.#details(key);
    const { shown } = this.#options.on;
    if (shown === undefined) throw new Said(403, "The desk doesn't show names and account numbers.");
    await shown({ atMs: clock.wallMs(), by, key });
    return flow;
  }

  /** Returns the name of a saying, or nothing if it is still being carried out. */
  async #decide(task: string | null, key: string, by: string, form: URLSearchParams): Promise<string | undefined> {
    const { flow } = this.#options;
    const underway = this.#underway.get(key);
    if (underway !== undefined) throw new Said(409, `Not done: ${taskText(underway)} is being carried out.`);
    const text = (name: string): string | undefined => form.get(name) || undefined;
    const [action, why, payment] = [text("action"), text("why"), text("payment")];
    // The flow refuses what is not the revision of the page.
    const revision = Number(text("revision"));
    const withoutProof = text("withoutProof") !== undefined;
    const given = { by, why, revision, withoutProof, payment: payment && paymentOf(payment) };
    const resolution = given satisfies Readonly<Record<keyof FlowResolution, unknown>> as never;
    // What a form leaves out is refused by the flow, which says what is missing.
    switch (task) {
      case "propose":
        await flow.propose(key, action as never, resolution);
        return "proposed";
      case "refuse":
        await flow.refuse(key, { by, revision });
        return "refused";
      case "resolve":
        return this.#inTime(key, { what: "decision", by }, () => flow.resolve(key, action as never, resolution));
      case "approve":
        return this.#inTime(key, { what: "approval", by }, () => flow.approve(key, { by, revision }));
      default:
        throw new Said(400, "The form does not say what to do.");
    }
  }

  /** What follows a decision can take minutes. The page says so, and the work continues, whether or not its user waits. */
  async #inTime(
    key: string,
    task: Pick<Task, "what" | "by">,
    work: () => Promise<unknown>,
  ): Promise<string | undefined> {
    const done = this.#carryOut(key, { ...task, atMs: clock.wallMs() }, work);
    let timer: unknown;
    const late = new Promise<undefined>((resolve) => {
      timer = clock.setTimer(() => resolve(undefined), maxWaitMs);
    });
    try {
      const ended = await Promise.race([done, late]);
      if (ended instanceof Said) throw ended;
      return ended;
    } finally {
      clock.clearTimer(timer);
    }
  }

  /** The next user who looks at the flow learns why it failed: the one who asked may have gone. Never rejects. */
  async #carryOut(key: string, task: Task, work: () => Promise<unknown>): Promise<"decided" | Said> {
    this.#underway.set(key, task);
    this.#undone.delete(key);
    try {
      await work();
      return "decided";
    } catch (error) {
      const said = this.#saidOf(error);
      this.#undone.set(key, { ...task, why: said.text });
      const [oldest = key] = this.#undone.keys();
      if (this.#undone.size > maxListed) this.#undone.delete(oldest);
      return said;
    } finally {
      this.#underway.delete(key);
    }
  }

  #failed(error: unknown, nonce: string): Response {
    return failurePage(error instanceof Said ? error : this.#saidOf(error), nonce);
  }

  /** Only the library's own sentences about a failure are shown. */
  #saidOf(error: unknown): Said {
    if (error instanceof InvalidArgumentError) {
      return new Said(error.code === "invalid_argument" ? 400 : 409, `Not done: ${asSentence(error.message)}`);
    }
    this.#tell(error);
    const isPaused = error instanceof FlowPausedError;
    const cause = (isPaused && error.cause) || error;
    const code = cause instanceof CrossBorderError ? ` (${cause.code})` : "";
    const text = isPaused
      ? `The desk doesn't know yet what came of it${code}. The flow is stored. It continues as was decided, or is as before: look at it again.`
      : `Something failed${code}. Look at the flow again before you repeat what you did.`;
    return new Said(isPaused ? 202 : 500, text);
  }

  #tell(error: unknown): void {
    try {
      void Promise.resolve(this.#options.on.error?.(error)).catch(() => {});
    } catch {
      // The mistakes of a hook are its own.
    }
  }
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST"]);
const maxListed = 500;
const maxWaitMs = 20_000;

/** Sentences by name, so that no address can put words on a page. */
const sayings: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  proposed: "Proposed. Another person must approve it.",
  refused: "The proposal is refused.",
  decided: "Decided and carried out.",
});

function paymentOf(text: string): Payment {
  try {
    const payment: unknown = JSON.parse(text);
    if (typeof payment === "object" && payment !== null) return payment as Payment;
  } catch {
    // It says the same.
  }
  throw new Said(400, "Not done: the payment must be a record in JSON.");
}

function asSentence(message: string): string {
  return message.endsWith(".") ? message : `${message}.`;
}

function messageOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.message : "a flow can't be read";
}

function failurePage({ status, text }: Said, nonce: string): Response {
  const back = html`<p role="alert">${text}</p><p><a href="?">All held flows</a></p>`;
  return pageResponse(status, page({ nonce }, "Operators' desk", back));
}

function pageResponse(status: number, text: string): Response {
  return new Response(text, { status, headers: { "content-type": "text/html; charset=utf-8" } });
}

/** Nothing is loaded, run, framed, kept, or read by another page. Browsers name the origin of forms only if a policy lets them. */
function securityHeaders(nonce: string): Readonly<Record<string, string>> {
  return {
    "content-security-policy":
      `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; ` +
      "require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
  };
}
