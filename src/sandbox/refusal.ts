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

/** The newest requests, tokens, and codes that a sandbox remembers, of each kind. */
const mostRemembered = 10_000;

export function remember<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > mostRemembered) entries.shift();
}

export function rememberAs<T>(entries: Map<string, T>, name: string, entry: T): void {
  entries.set(name, entry);
  const [oldest = ""] = entries.keys();
  if (entries.size > mostRemembered) entries.delete(oldest);
}

/**
 * Counts a request of an address. Without a limit, it admits every request.
 *
 * @throws {SandboxRefusal} 429 with the time to wait.
 */
export type Admit = (address: string) => void;

export function throttle(limit: SandboxThrottle | undefined, now: () => number): Admit {
  if (limit === undefined) return () => {};
  const windowMs = 1000 * limit.windowSeconds;
  const times = new Map<string, readonly number[]>();
  return (address) => {
    const nowMs = now();
    const recent = (times.get(address) ?? []).filter((atMs) => atMs > nowMs - windowMs);
    if (recent.length >= limit.max) {
      const seconds = Math.ceil(((recent[0] ?? nowMs) + windowMs - nowMs) / 1000);
      throw new SandboxRefusal("too_many_requests", "Too many requests", 429, { "retry-after": String(seconds) });
    }
    rememberAs(times, address, [...recent, nowMs]);
  };
}
