import type { AnyOperation } from "../api/operation.js";
import { Ended } from "../core/deadline.js";
import type { Effect } from "../core/errors.js";
import { parseJsonObject, parseObject, provesNothing } from "../wire/response.js";
import type { BrokenBody, WireFailure, WireResponse } from "../wire/transport.js";

/** Whether an operation can be repeated. No two creates are the same, since the service has no idempotency key. */
export type OperationKind =
  | "read"
  | "update"
  | "create"
  | "repeatable" // a create that moves nothing: what was lost may be asked for again
  | "signed"; // a create that is signed, as those that move money are

/**
 * A token request, by the credentials or by a refresh token. It does nothing at the service. The effect of a `refresh` tells you if its
 * refresh token may be used up.
 */
export type GrantKind = "login" | "refresh";

/** How an attempt can fail. */
export type FailureClass =
  | "unsent" // refused, EAI_AGAIN, connect timeout, handshake reset: no byte was written
  | "unknown-host" // ENOTFOUND: no byte was written
  | "unsent-for-good" // certificate, TLS version
  | "maybe-sent" // reset, truncated, garbage: no status came back
  | "ended" // the call's deadline or its caller's signal, after the request may have left
  | "ended-unsent" // the same, before
  | "unauthorized" // 401, in any form
  | "refused" // another 4xx with the service's own error
  | "refused-by-another" // a 4xx of a proxy or a firewall, or one that proves nothing
  | "server-error" // 408, 5xx, and statuses that do not exist
  | "throttled" // 429, as the service's own error
  | "throttled-by-another" // any other 429
  | "redirect" // 3xx
  | "broken-off" // 2xx whose body broke off on the way
  | "ended-reading" // 2xx whose body was still coming when the call ended
  | "oversized" // 2xx whose body is over the cap
  | "unreadable" // 2xx that is not what was asked for
  | "made"; // 2xx that differs from the description, and is certainly the record of this create

/**
 * The next step. A retry waits at least as long as `Retry-After` says, and is bounded by the deadline, `maxRetries` and the retry budget.
 * For a refresh, `renew-token` means a login.
 */
export type Reaction = "fail" | "retry" | "renew-token";

export interface Decision {
  readonly reaction: Reaction;
  /** Tells you what the attempt may have done at the service. */
  readonly effect: Effect;
}

const fail = (effect: Effect): Decision => ({ reaction: "fail", effect });
const retry = (effect: Effect): Decision => ({ reaction: "retry", effect });
const renewToken: Decision = { reaction: "renew-token", effect: "none" };
type Row = Readonly<Record<OperationKind | GrantKind, Decision>>;
const same = (decision: Decision): Row => ({
  read: decision,
  update: decision,
  create: decision,
  repeatable: decision,
  signed: decision,
  login: decision,
  refresh: decision,
});
/** It may have been done, and trying again can't help. */
const open: Row = { ...same(fail("possible")), read: fail("none"), login: fail("none") };
/** It may have been done, and may go well another time. */
const passing: Row = { ...open, read: retry("none"), update: retry("possible"), repeatable: retry("possible") };
/** A token request has a timeout of its own. If that ends, the next one may go well. */
const retryGrant = (refresh: Effect) => ({ login: retry("none"), refresh: retry(refresh) });

/**
 * The decision table. A create is never sent again once it may have been done, and an attempt that may have had an effect is never
 * reported as `none`. A 429 turns a request away, so an unsigned create is sent again after any 429, and a signed one only after the
 * service's own.
 */
export const decisions: Readonly<Record<FailureClass, Row>> = {
  unsent: same(retry("none")),
  "unknown-host": same(fail("none")),
  "unsent-for-good": same(fail("none")),
  "maybe-sent": { ...passing, ...retryGrant("possible") },
  ended: { ...open, ...retryGrant("possible") },
  "ended-unsent": { ...same(fail("none")), ...retryGrant("none") },
  unauthorized: { ...same(renewToken), login: fail("none") },
  refused: { ...same(fail("none")), refresh: renewToken },
  "refused-by-another": { ...open, refresh: renewToken },
  "server-error": { ...passing, ...retryGrant("possible") },
  throttled: same(retry("none")),
  "throttled-by-another": { ...passing, create: retry("possible"), ...retryGrant("none") },
  redirect: { ...open, refresh: fail("none") },
  "broken-off": { ...passing, ...retryGrant("possible") },
  "ended-reading": { ...open, ...retryGrant("possible") },
  oversized: open,
  unreadable: passing,
  made: { ...same(fail("done")), read: retry("none"), repeatable: retry("done") },
};

/** @param isSigned by the description or by the caller. */
export function operationKind(operation: AnyOperation, isSigned: boolean): OperationKind {
  const { verb, method } = operation;
  if (method === "GET") return "read";
  // A raw request may move money.
  if (verb === "request") return operation.idempotent ? "update" : "signed";
  if (verb === "update") return "update";
  return operation.repeatable === true ? "repeatable" : isSigned ? "signed" : "create";
}

export function classifyFailure(failure: WireFailure | Ended): FailureClass {
  if (failure instanceof Ended) return failure.sent ? "ended" : "ended-unsent";
  if (failure.sent) return "maybe-sent";
  if (failure.reason === "ENOTFOUND") return "unknown-host";
  return failure.permanent ? "unsent-for-good" : "unsent";
}

export type ErrorOnWire = Pick<WireResponse, "status" | "headers" | "text">;

/**
 * The class of a response other than 2xx. A body that broke off matters only if it tells who sent the response.
 *
 * @param isOwnError tells if a 4xx is an error of the server that was asked. By default, the service's own.
 */
export function classifyResponse(
  response: ErrorOnWire,
  isOwnError: (response: ErrorOnWire) => boolean = isServiceError,
): FailureClass | undefined {
  const { status } = response;
  if (status >= 200 && status < 300) return undefined;
  if (status >= 300 && status < 400) return "redirect";
  if (status < 400 || status >= 500 || status === 408) return "server-error";
  if (status === 401) return "unauthorized";
  const isOwn = !provesNothing(status) && isOwnError(response);
  if (status === 429) return isOwn ? "throttled" : "throttled-by-another";
  return isOwn ? "refused" : "refused-by-another";
}

/** The class of a 2xx whose body broke off or can't be read. */
export function classifyBroken(broken: BrokenBody): FailureClass {
  if (broken === "too-large") return "oversized";
  if (broken === "timeout" || broken === "abort") return "ended-reading";
  return broken === "cut-short" ? "broken-off" : "unreadable";
}

/**
 * The service's own error is an object with a string `error` or `code` and a `message` that is a string or an array of strings
 * (interface description 0.0.1, "Errors"), or `application/problem+json`. Several frameworks send an array. Proxies, firewalls, and
 * gateways send statuses, too, even after the service has done its work.
 */
function isServiceError({ headers, text }: ErrorOnWire): boolean {
  const body = parseObject(text);
  if (body === undefined) return false;
  const hasCode = typeof body.error === "string" || typeof body.code === "string";
  const mediaType = headers["content-type"]?.split(";")[0]?.trim().toLowerCase();
  return (hasCode && toMessage(body.message) !== undefined) || mediaType === "application/problem+json";
}

/** The words of an error, which are `message`, or `detail` and `title` of RFC 9457. */
export function errorMessageOf(text: string): string | undefined {
  const { message, detail, title } = parseJsonObject(text);
  return [message, detail, title].map(toMessage).find((said) => said !== undefined);
}

function toMessage(message: unknown): string | undefined {
  if (typeof message === "string") return message;
  const isList = Array.isArray(message) && message.every((line) => typeof line === "string");
  return isList ? message.join("; ") : undefined;
}

/** A later refusal doesn't undo an earlier attempt. */
export function worseEffect(one: Effect, other: Effect): Effect {
  return one === "none" || other === "done" ? other : one;
}
