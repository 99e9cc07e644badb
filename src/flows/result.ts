import { CrossBorderError, type ErrorCode, InvalidArgumentError } from "../core/errors.js";
import type { Reporter } from "../events/reporter.js";
import { openReason, refusals } from "./core/reasons.js";
import type { Failure, Flow } from "./core/state.js";
import type { Driven } from "./driver.js";
import { FlowPausedError } from "./flow-paused-error.js";
import { type FlowOutcome, type QuotedFlow, toOutcome } from "./outcome.js";

/** What a `PaymentFlow` is asked to do for a key. */
export type FlowOperation =
  | "run"
  | "quote"
  | "confirm"
  | "cancel"
  | "resolve"
  | "propose"
  | "approve"
  | "refuse"
  | "recover"
  | "work"
  | "recheck";

/** Does all that one method does for one key, as one part of the work: whatever it calls and signs is a part of that. */
export function follow<R extends { readonly status: string } | undefined>(
  reporter: Reporter,
  operation: FlowOperation,
  key: string,
  work: () => Promise<R>,
): Promise<R> {
  const attributes = { "cross_border.operation": `flow.${operation}`, "cross_border.flow.key": key };
  const part = () => ({ name: "flow", kind: "internal" as const, attributes });
  return reporter.follow(part, async ({ note }) => {
    const result = await work();
    if (result !== undefined) note({ "cross_border.flow.to": result.status });
    return result;
  });
}

/**
 * What a call gives to its caller; `undefined` if there was nothing to do.
 *
 * @throws {FlowPausedError} if the flow stopped without an outcome; whatever kept the call from beginning anything.
 */
export function toResult(
  operation: FlowOperation,
  key: string,
  { result, flow, revision, expiresAtMs }: Driven,
): FlowOutcome | QuotedFlow | undefined {
  if ("outcome" in result) return toOutcome(key, result.outcome, revision);
  if ("quoted" in result) return { status: "quoted", key, intent: result.quoted.intent, expiresAtMs };
  if ("paused" in result) throw toPaused(key, result.paused, flow);
  if ("thrown" in result) throw toThrown(operation, key, result.thrown);
  return undefined;
}

function toPaused(key: string, { code, cause, retryAtMs }: Failure, flow: Flow | undefined): FlowPausedError {
  const signed = flow !== undefined && "signed" in flow ? flow.signed : undefined;
  return new FlowPausedError(key, {
    phase: flow?.phase,
    cause: cause ?? new CrossBorderError(textOf(code, flow), { code: knownCode(code), effect: "possible" }),
    retryAtMs,
    request: signed && { path: signed.path, body: signed.body, signature: signed.signature },
  });
}

/** An error that is the client's own stays as it is. */
function toThrown(operation: FlowOperation, key: string, { code, effect, cause }: Failure): unknown {
  if (cause !== undefined) return cause;
  const message = `${operation} failed for key ${JSON.stringify(key)}: ${textOf(code, undefined)}`;
  return new InvalidArgumentError(message, { code: knownCode(code), effect });
}

type RefusalCode = keyof typeof refusals;

function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

function knownCode(code: string): ErrorCode {
  return isRefusalCode(code) ? code : "unexpected_failure";
}

/** What a flow waits for says more than the code. */
function textOf(code: string, flow: Flow | undefined): string {
  const reason = flow?.phase === "funds-requested" ? openReason(flow) : undefined;
  return reason ?? (isRefusalCode(code) ? refusals[code] : code);
}
