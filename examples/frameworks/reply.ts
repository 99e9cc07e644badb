import { STATUS_CODES } from "node:http";
import { CrossBorderError } from "cross-border-payments";
import { FlowPausedError } from "cross-border-payments/flow";
import { ZodError, z } from "zod";

/** What a route responds with, whatever the framework. */
export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

/** 202 means: neither paid nor refused yet. The page asks again, and money is given back by nobody but the flow. */
export function pending(order: string): Reply {
  const location = `/orders/${encodeURIComponent(order)}`;
  return { status: 202, headers: { location, "retry-after": "2" }, body: { status: "pending" } };
}

/** Problem details (RFC 9457) of whatever a route throws. */
export function replyToError(error: unknown): Reply {
  if (error instanceof FlowPausedError) {
    console.warn(`order ${error.key} has no outcome yet:`, error);
    return pending(error.key);
  }
  if (error instanceof ZodError) return problem(400, { code: "invalid_request", detail: z.prettifyError(error) });
  if (error instanceof CrossBorderError) {
    const { code, effect, message, docUrl } = error;
    const status = statusCodes.get(code) ?? 502;
    if (status >= 500) console.warn("refused:", error);
    // No message of the library holds a secret, a body or an account.
    return problem(status, { type: docUrl, code, effect, detail: message });
  }
  const status = statusOf(error);
  if (status >= 500) console.error("failed:", error);
  return problem(status, status < 500 && error instanceof Error ? { detail: error.message } : {});
}

function problem(status: number, facts: object): Reply {
  const headers = { "content-type": "application/problem+json" };
  return { status, headers, body: { title: STATUS_CODES[status], status, ...facts } };
}

/** What a customer can do something about; whatever else fails is not theirs. */
const statusCodes: ReadonlyMap<string, number> = new Map([
  ["invalid_argument", 400],
  ["flow_unknown", 404],
  ["flow_key_reused", 409],
  ["flow_confirmed", 409],
  ["quote_changed", 409],
  ["quote_expired", 409],
  ["flow_circuit_open", 503],
  ["flow_closed", 503],
]);

/** The frameworks' own errors, such as of a body that is no JSON, have the status of their response. */
function statusOf(error: unknown): number {
  const status: unknown = Reflect.get(Object(error), "status");
  return typeof status === "number" && status >= 400 && status < 500 ? status : 500;
}
