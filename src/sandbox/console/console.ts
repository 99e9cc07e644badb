import { createHash } from "node:crypto";
import { CrossBorderError } from "../../core/errors.js";
import type { SigningKey } from "../../signing/keys.js";
import { parseBody } from "../request-body.js";
import { jsonResponse, refusalResponse, SandboxRefusal } from "../responses.js";
import type { Arrived, Sandbox, SandboxInterior } from "../sandbox.js";
import { actions } from "./actions.js";
import type { ConsoleState } from "./console-state.js";
import { Faults, withFault } from "./faults.js";
import { type ConsoleRequest, consolePath, whyRefused } from "./own-page-only.js";
import { pageText } from "./page-text.js";
import { PaymentDesk } from "./payment-desk.js";
import { readRecords, tokenLines } from "./read-state.js";
import { RegisteredKeys } from "./registered-keys.js";
import { RequestLog } from "./request-log.js";
import { noteSignature, unasked } from "./signature-note.js";

export type { ConsoleRequest };

/** The page that shows what a sandbox does, and its buttons. */
export class SandboxConsole {
  readonly path = consolePath;
  readonly #sandbox: Sandbox;
  readonly #interior: SandboxInterior;
  readonly #registered = new RegisteredKeys();
  readonly #desk: PaymentDesk;
  readonly #faults = new Faults();
  readonly #log = new RequestLog();

  /** @throws {ConfigError} when one of the keys is no signing key. */
  constructor(sandbox: Sandbox, signingKeys: readonly SigningKey[]) {
    this.#sandbox = sandbox;
    this.#interior = sandbox.watch((arrived, respond) => this.#watch(arrived, respond));
    this.#desk = new PaymentDesk(sandbox, this.#interior.service, this.#registered, signingKeys);
  }

  /** Whether a request of this path is the console's, not the service's. */
  isAt(path: string): boolean {
    return path.startsWith(consolePath) || path === consolePath.slice(0, -1);
  }

  async respond(request: ConsoleRequest): Promise<Response> {
    const why = whyRefused(request);
    const response =
      why === undefined ? await this.#respond(request) : refusal(new SandboxRefusal("refused", why, 403));
    for (const [name, value] of Object.entries(securityHeaders)) response.headers.set(name, value);
    return response;
  }

  async #respond(request: ConsoleRequest): Promise<Response> {
    const { method, path } = request;
    const name = path.slice(consolePath.length);
    if (method === "POST") return this.#act(name, request);
    if (method !== "GET")
      return refusal(new SandboxRefusal("method_not_allowed", "the console takes GET and POST", 405));
    if (name === "state") return this.#state(request);
    if (path === consolePath.slice(0, -1)) return redirect(consolePath);
    return pageFile(name) ?? nothingThere();
  }

  /** The state, unless the page has it already. */
  #state({ headers }: ConsoleRequest): Response {
    const host = headers.get("host");
    const state = JSON.stringify(this.#read(`http://${host}`));
    const etag = `"${createHash("sha256").update(state).digest("base64url")}"`;
    if (headers.get("if-none-match") === etag) return new Response(null, { status: 304, headers: { etag } });
    return new Response(state, { headers: { "content-type": "application/json", etag } });
  }

  #read(origin: string): ConsoleState {
    const { service, tokens } = this.#interior;
    const { baseUrl, auth } = this.#sandbox.clientOptions({ baseUrl: origin, authUrl: origin });
    return {
      service: { baseUrl, authUrl: auth.authUrl },
      requests: this.#log.lines(),
      faults: this.#faults.armed,
      tokens: tokenLines(service, tokens.issued),
      ...readRecords(service, this.#desk, this.#registered),
    };
  }

  async #act(name: string, { headers, body }: ConsoleRequest): Promise<Response> {
    const action = actions.get(name);
    if (action === undefined) return nothingThere();
    const controls = { sandbox: this.#sandbox, desk: this.#desk, faults: this.#faults };
    try {
      const told = await action(controls, parseBody(body, headers.get("content-type")));
      return jsonResponse(told ?? {});
    } catch (error) {
      if (error instanceof SandboxRefusal) return refusal(error);
      if (error instanceof CrossBorderError) return refusal(new SandboxRefusal(error.code, error.message));
      throw error;
    }
  }

  async #watch(arrived: Arrived, respond: () => Promise<Response>): Promise<Response> {
    const { service } = this.#interior;
    const { seen, bytes, route } = arrived;
    const isOperation = typeof route === "object" && !(route instanceof SandboxRefusal);
    const note = isOperation ? await noteSignature(service, this.#registered, { seen, bytes, route }) : unasked;
    const fault = this.#faults.take(seen);
    const entry = this.#log.add(arrived, { atMs: service.settings.now(), note, fault: fault?.kind });
    let response: Response | undefined;
    try {
      response = await withFault(fault, respond);
      return response;
    } finally {
      entry.end(response);
    }
  }
}

const types = new Map([
  ["", "text/html"],
  ["console.css", "text/css"],
  ["console.js", "text/javascript"],
]);

function pageFile(name: string): Response | undefined {
  const text = pageText.get(name);
  const headers = { "content-type": `${types.get(name)}; charset=utf-8` };
  return text === undefined ? undefined : new Response(text, { headers });
}

function redirect(location: string): Response {
  return new Response(null, { status: 308, headers: { location } });
}

function refusal(why: SandboxRefusal): Response {
  return refusalResponse(why, undefined);
}

function nothingThere(): Response {
  return refusal(new SandboxRefusal("unknown_path", "the console has nothing at this path", 404));
}

/** Nothing is loaded from elsewhere, made of text, framed, or read by another page. */
const securityHeaders = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cache-control": "no-store",
};
