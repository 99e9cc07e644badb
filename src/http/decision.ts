import type { Method } from "../api/operation.js";
import type { Effect } from "../errors/errors.js";
import { Ended } from "../timing/deadline.js";
import type { BrokenBody } from "../wire/transport.js";
import type { WireFailure } from "../wire/wire-failure.js";

/** What an operation does, as far as repeating it is concerned. No two creates are the same: the service has no idempotency key. */
export type OperationKind = "read" | "update" | "create";

/** How an attempt can fail. */
export type FailureClass =
  | "unsent" // refused, DNS, connect timeout, handshake reset: no byte was written
  | "unsent-for-good" // certificate, TLS version
  | "maybe-sent" // reset, truncated, garbage: no status came back
  | "ended" // the call's deadline or its caller's signal, after the request may have left
  | "ended-unsent" // the same, before
  | "unauthorized" // 401
  | "refused" // 400, 403, 404, 405, 413, 415, 422 and every other 4xx
  | "conflict" // 409
  | "server-error" // 408, 5xx, and statuses that do not exist
  | "throttled" // 429
  | "redirect" // 3xx
  | "see-other" // 303: what was asked for was done
  | "broken-off" // 2xx whose body broke off on the way
  | "ended-reading" // 2xx whose body was still coming when the call ended
  | "oversized" // 2xx whose body is over the cap
  | "unreadable"; // 2xx that is not what is described

/** What to do next. A retry waits at least as long as `Retry-After` says, and is bounded by the deadline, `maxRetries` and the retry budget. */
export type Reaction = "fail" | "retry" | "renew-token";

export interface Decision {
  readonly reaction: Reaction;
  /** What the attempt may have done at the service. */
  readonly effect: Effect;
}

const fail = (effect: Effect): Decision => ({ reaction: "fail", effect });
const retry = (effect: Effect): Decision => ({ reaction: "retry", effect });
const same = (decision: Decision): Record<OperationKind, Decision> => ({
  read: decision,
  update: decision,
  create: decision,
});

/**
 * The decision table. The rule behind it: no create is sent again once it may have arrived, and an attempt that may have had an
 * effect is never reported as `none`.
 */
export const decisions: Readonly<Record<FailureClass, Readonly<Record<OperationKind, Decision>>>> = {
  unsent: same(retry("none")),
  "unsent-for-good": same(fail("none")),
  "maybe-sent": { read: retry("none"), update: retry("possible"), create: fail("possible") },
  ended: { read: fail("none"), update: fail("possible"), create: fail("possible") },
  "ended-unsent": same(fail("none")),
  unauthorized: same({ reaction: "renew-token", effect: "none" }),
  refused: same(fail("none")),
  conflict: { read: fail("none"), update: fail("possible"), create: fail("possible") },
  "server-error": { read: retry("none"), update: retry("possible"), create: fail("possible") },
  throttled: same(retry("none")),
  redirect: { read: fail("none"), update: fail("possible"), create: fail("possible") },
  "see-other": { read: fail("none"), update: fail("done"), create: fail("done") },
  "broken-off": { read: retry("none"), update: fail("done"), create: fail("done") },
  "ended-reading": { read: fail("none"), update: fail("done"), create: fail("done") },
  oversized: { read: fail("none"), update: fail("done"), create: fail("done") },
  unreadable: { read: retry("none"), update: fail("done"), create: fail("done") },
};

export function operationKind(method: Method): OperationKind {
  return method === "GET" ? "read" : method === "PUT" ? "update" : "create";
}

export function classifyFailure(failure: WireFailure | Ended): FailureClass {
  if (failure instanceof Ended) return failure.sent ? "ended" : "ended-unsent";
  if (failure.sent) return "maybe-sent";
  return failure.permanent ? "unsent-for-good" : "unsent";
}

/** The class of a response by its status; `undefined` for 2xx. What broke in the body of another status changes nothing. */
export function classifyStatus(status: number): FailureClass | undefined {
  if (status >= 200 && status < 300) return undefined;
  const known = statusClasses.get(status);
  if (known !== undefined) return known;
  if (status >= 300 && status < 400) return "redirect";
  if (status >= 400 && status < 500) return "refused";
  return "server-error";
}

/** The class of a 2xx whose body broke off or can't be read. */
export function classifyBroken(broken: BrokenBody): FailureClass {
  if (broken === "too-large") return "oversized";
  if (broken === "timeout" || broken === "abort") return "ended-reading";
  return broken === "cut-short" ? "broken-off" : "unreadable";
}

const statusClasses: ReadonlyMap<number, FailureClass> = new Map([
  [303, "see-other"],
  [401, "unauthorized"],
  [408, "server-error"],
  [409, "conflict"],
  [429, "throttled"],
]);

/** What earlier attempts may have done is not undone by a later refusal. */
export function worseEffect(one: Effect, other: Effect): Effect {
  return severity[one] >= severity[other] ? one : other;
}

const severity: Readonly<Record<Effect, number>> = { none: 0, possible: 1, done: 2 };
