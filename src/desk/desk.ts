import { CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import type { GivenResolution } from "../flows/check-resolution.js";
import type { FlowDetails } from "../flows/flow-details.js";
import { FlowPausedError } from "../flows/flow-paused-error.js";
import { foldedName } from "../flows/state/decision-chain.js";
import { uniqueId } from "../platform/unique-id.js";
import type { Payment } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { type CheckedDeskOptions, type OperatorDeskOptions, readDeskOptions } from "./desk-options.js";
import { FormTokens } from "./form-token.js";
import { html } from "./html.js";
import { flowContent, listContent, page, type Task, taskText, type Waiting } from "./pages.js";
import { readForm } from "./read-form.js";
import { whyRefused } from "./refused-request.js";

/**
 * A page for those who decide about flows that are held or stuck, over the real journal: a handler of web-standard requests, to be mounted
 * at any path behind the bank's own login. All of its pages are at that one path: only the query differs. It needs no script, and loads nothing.
 *
 * What is decided is done by `flow`, in this process. Names and account numbers are shown where somebody asks for them, after `on.shown`
 * was told.
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
  /** By key: what is being done, and what was not. A journal has neither, and other processes' desks see only who has the flow's lease. */
  readonly #underway = new Map<string, Task>();
  readonly #undone = new Map<string, Task & { readonly why: string }>();

  constructor(options: CheckedDeskOptions) {
    this.#options = options;
    this.#tokens = new FormTokens(options.csrfSecret);
  }

  /** Never rejects. */
  async respond(request: Request): Promise<Response> {
    const nonce = uniqueId();
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
        isCut = found.length === mostListed;
        if (isCut) break;
        found.push(waiting);
      }
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      // Messages of flows that can't be read have their keys, and nothing of what is in them.
      for (const one of error.errors.slice(0, mostListed)) problems.push(messageOf(one));
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
        "Refused: the form is not one that was made for you today. Go back, load the page again, and repeat what you did.",
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
    if (shown === undefined) throw new Said(403, "Names and account numbers are not shown here.");
    await shown({ atMs: clock.wallMs(), by, key });
    return flow;
  }

  /** Returns what is said of it, and nothing where it is still being done. */
  async #decide(task: string | null, key: string, by: string, form: URLSearchParams): Promise<string | undefined> {
    const { flow } = this.#options;
    const underway = this.#underway.get(key);
    if (underway !== undefined) throw new Said(409, `Not done: ${taskText(underway)} is being carried out.`);
    const text = (name: string): string | undefined => form.get(name) || undefined;
    const [action, why, seen, proposal] = [text("action"), text("why"), text("seen"), text("proposal")];
    const [withoutProof, payment] = [text("withoutProof") && true, text("payment")];
    const given = { by, why, seen, withoutProof, payment: payment && paymentOf(payment) };
    const resolution = given satisfies Readonly<Record<keyof GivenResolution, unknown>> as never;
    // What a form leaves out is refused by the flow, which says what is missing.
    switch (task) {
      case "propose":
        await flow.propose(key, action as never, resolution);
        return "proposed";
      case "refuse":
        await flow.refuse(key, { by, why, proposal: proposal ?? none } as never);
        return "refused";
      case "resolve":
        return this.#inTime(key, { what: "decision", by }, () => flow.resolve(key, action as never, resolution));
      case "approve":
        return this.#inTime(key, { what: "approval", by }, () => flow.approve(key, { by, proposal: proposal ?? none }));
      default:
        throw new Said(400, "The form does not say what to do.");
    }
  }

  /** What follows a decision may take minutes: the page says so meanwhile, and the work goes on, whoever waits for its response. */
  async #inTime(
    key: string,
    task: Pick<Task, "what" | "by">,
    work: () => Promise<unknown>,
  ): Promise<string | undefined> {
    const done = this.#carryOut(key, { ...task, atMs: clock.wallMs() }, work);
    let timer: unknown;
    const late = new Promise<undefined>((resolve) => {
      timer = clock.setTimer(() => resolve(undefined), longestMs);
    });
    try {
      const ended = await Promise.race([done, late]);
      if (ended instanceof Said) throw ended;
      return ended;
    } finally {
      clock.clearTimer(timer);
    }
  }

  /** Whoever looks at the flow next learns why it was not done: who asked for it may have gone. Never rejects. */
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
      if (this.#undone.size > mostListed) this.#undone.delete(oldest);
      return said;
    } finally {
      this.#underway.delete(key);
    }
  }

  #failed(error: unknown, nonce: string): Response {
    return failurePage(error instanceof Said ? error : this.#saidOf(error), nonce);
  }

  /** What is said of a failure: nothing that is not the library's own sentence about what was asked for. */
  #saidOf(error: unknown): Said {
    if (error instanceof InvalidArgumentError) {
      return new Said(error.code === "invalid_argument" ? 400 : 409, `Not done: ${error.message}.`);
    }
    this.#tell(error);
    const isPaused = error instanceof FlowPausedError;
    const cause = (isPaused && error.cause) || error;
    const code = cause instanceof CrossBorderError ? ` (${cause.code})` : "";
    const text = isPaused
      ? `It is not known yet what came of it${code}. The flow is stored, and goes on as was decided, or is as before: look at it again.`
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
const mostListed = 500;
const longestMs = 20_000;
/** No proposal has this hash. */
const none = "-";

/** What is said by name, so that no address can put words on a page. */
const sayings: Readonly<Record<string, string | undefined>> = Object.assign(Object.create(null), {
  proposed: "It is proposed. Another person approves it.",
  refused: "The proposal is refused.",
  decided: "It is decided, and done.",
});

function paymentOf(text: string): Payment {
  try {
    const payment: unknown = JSON.parse(text);
    if (typeof payment === "object" && payment !== null) return payment as Payment;
  } catch {
    // It says the same.
  }
  throw new Said(400, "Not done: the payment is no record in JSON.");
}

function messageOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.message : "a flow can't be read";
}

function failurePage({ status, text }: Said, nonce: string): Response {
  const back = html`<p role="alert">${text}</p><p><a href="?">All that waits</a></p>`;
  return pageResponse(status, page({ nonce }, "Operators' desk", back));
}

function pageResponse(status: number, text: string): Response {
  return new Response(text, { status, headers: { "content-type": "text/html; charset=utf-8" } });
}

/** Nothing is loaded, run, framed, kept, or read by another page. Browsers name the origin of forms only where a policy lets them. */
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
