import type { Verb } from "../api/operation.js";

/** Why the service refuses a request. Thrown by whatever finds it out, and turned into the response in one place. */
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

/** The refusal's response: `{ code, message }` for single-record reads, `{ error, message }` for everything else. */
export function refusalResponse(refusal: SandboxRefusal, verb: Verb | undefined): Response {
  const { code, message, status, headers } = refusal;
  return jsonResponse(verb === "get" ? { code, message } : { error: code, message }, status, headers);
}

export function jsonResponse(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

/** A 200 without a body, as updates have it. */
export function emptyResponse(): Response {
  return new Response(null, { status: 200 });
}
