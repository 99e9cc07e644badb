import type { Verb } from "../api/operation.js";
import type { SandboxThrottle } from "./options.js";

/** Why the service refuses a request. */
export class SandboxRefusal extends Error {
  readonly status: number;
  /** The value of `error` or `code` in the body. */
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: string, message: string, status = 400, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = "SandboxRefusal";
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

/** `{ code, message }` for reads of one record, and `{ error, message }` for everything else. */
export function refusalResponse({ code, message, status, headers }: SandboxRefusal, verb?: Verb): Response {
  return jsonResponse(verb === "get" ? { code, message } : { error: code, message }, status, headers);
}

export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(body, { status, headers });
}

/** The newest requests, sessions, and codes that a sandbox remembers, of each kind. */
const mostRemembered = 10_000;

export function remember<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > mostRemembered) entries.shift();
}

/** @param most forgets the oldest entries beyond this. */
export function rememberAs<T>(entries: Map<string, T>, name: string, entry: T, most = mostRemembered): void {
  entries.set(name, entry);
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}

/** Refuses more requests of one address than a window allows. */
export class Throttle {
  readonly #max: number;
  readonly #windowMs: number;
  readonly #now: () => number;
  readonly #times = new Map<string, readonly number[]>();

  constructor({ max, windowSeconds }: SandboxThrottle, now: () => number) {
    this.#max = max;
    this.#windowMs = 1000 * windowSeconds;
    this.#now = now;
  }

  /** Counts a request. @throws {SandboxRefusal} 429 with the time to wait. */
  assertAdmits(address: string, code: string): void {
    const nowMs = this.#now();
    const recent = (this.#times.get(address) ?? []).filter((atMs) => atMs > nowMs - this.#windowMs);
    if (recent.length >= this.#max) {
      const waitMs = (recent[0] ?? nowMs) + this.#windowMs - nowMs;
      throw new SandboxRefusal(code, "Too many requests", 429, { "retry-after": String(Math.ceil(waitMs / 1000)) });
    }
    rememberAs(this.#times, address, [...recent, nowMs]);
  }
}
