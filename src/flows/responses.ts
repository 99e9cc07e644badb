import { clock } from "../core/clock.js";
import { ApiError, CrossBorderError } from "../core/errors.js";
import { hide } from "../core/redact.js";
import { maxRetryAfterMs } from "../core/retry.js";
import type { Failure, Refusal, Response, Words } from "./core/state.js";

/** A wait that the call has no patience for. */
export class WaitTooLong extends CrossBorderError {
  readonly retryAtMs: number;

  constructor(retryAtMs: number) {
    const at = new Date(Math.min(retryAtMs, 8.64e15)).toISOString();
    super(`The flow waits for the service until ${at}.`, { code: "flow_throttled", effect: "possible" });
    this.retryAtMs = retryAtMs;
  }
}

hide(WaitTooLong.prototype, "name", "WaitTooLong");

export function toFailure(error: unknown): Failure {
  const code = error instanceof CrossBorderError ? error.code : "unexpected_failure";
  const waits = error instanceof WaitTooLong ? { retryAtMs: error.retryAtMs } : undefined;
  return { code, effect: "possible", cause: error, ...waits };
}

/** What an error of the send says of the claim. */
export function toResponse(error: unknown): Response {
  const refusal = toServiceRefusal(error);
  if (refusal === undefined) {
    if (error instanceof CrossBorderError && error.effect === "none") {
      return { is: "notSent", failure: toFailure(error) };
    }
    return { is: "unknown", said: wordsOf(error) };
  }
  if (!isPassing(refusal)) return { is: "refused", refusal };
  const { by: _, ...said } = refusal;
  const retryAfterMs = error instanceof ApiError ? error.retryAfterMs : undefined;
  const retryAtMs = retryAfterMs === undefined ? undefined : clock.wallMs() + Math.min(retryAfterMs, maxRetryAfterMs);
  const is = refusal.status === 401 ? "unauthorized" : "throttled";
  return { is, said, ...(retryAtMs !== undefined && { retryAtMs }) };
}

/** The service's own refusal, in a response that says that nothing was done; `undefined` for any other failure. */
export function toServiceRefusal(error: unknown): (Refusal & { readonly by: "service" }) | undefined {
  if (!(error instanceof ApiError) || error.effect !== "none" || error.status < 400 || error.status >= 500) return;
  return { by: "service", ...wordsOf(error) };
}

/** Whether the same request can succeed later: a token that isn't valid says nothing about it, nor do too many requests. */
export function isPassing({ status }: Words): boolean {
  return status === 401 || status === 429;
}

function wordsOf(error: unknown): Words {
  if (error instanceof ApiError) {
    const { status, serviceCode, code, serviceMessage = "" } = error;
    return { status, code: serviceCode ?? code, message: serviceMessage };
  }
  if (!(error instanceof CrossBorderError)) return { code: "unexpected_failure", message: "" };
  const status: unknown = Reflect.get(error, "status");
  return { ...(typeof status === "number" && { status }), code: error.code, message: "" };
}
