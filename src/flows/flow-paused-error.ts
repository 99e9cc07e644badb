import { describeThrown } from "../core/describe.js";
import { CrossBorderError, type SentRequest } from "../core/errors.js";
import { hide } from "../core/redact.js";
import type { FlowPhase } from "../events/events.js";

/**
 * A flow stopped before it had an outcome. It is stored and still owns the payment: `work`, `recover`, or a later `run`, here or in
 * another process, continues it. Therefore `effect` is `possible`, whatever failed: don't pay another way, and don't refund.
 *
 * `cause` is what failed. The message has its class and code, but not its text.
 */
export class FlowPausedError extends CrossBorderError {
  /** The key of the flow. */
  readonly key: string;
  /** How far the flow has got, as far as that is known. */
  declare readonly phase?: FlowPhase;
  /** When the flow continues, in milliseconds since 1970, if it waits for the service. */
  declare readonly retryAtMs?: number;
  /** The signed payment that may have been sent, if there is one. */
  declare readonly request?: SentRequest;

  constructor(
    key: string,
    details: {
      readonly phase?: FlowPhase | undefined;
      readonly cause?: unknown;
      readonly retryAtMs?: number | undefined;
      readonly request?: SentRequest | undefined;
    } = {},
  ) {
    const { phase, cause, retryAtMs, request } = details;
    super(describe(key, phase, cause), { code: "flow_paused", effect: "possible", cause });
    this.key = key;
    if (phase !== undefined) this.phase = phase;
    if (retryAtMs !== undefined) this.retryAtMs = retryAtMs;
    // It holds account numbers.
    if (request !== undefined) hide(this, "request", request);
  }
}

hide(FlowPausedError.prototype, "name", "FlowPausedError");

function describe(key: string, phase: FlowPhase | undefined, cause: unknown): string {
  const where = phase === undefined ? "" : ` in phase "${phase}"`;
  const why = cause === undefined ? "" : `: ${nameOf(cause)}`;
  const advice =
    phase === "held" ? "Call resolve." : "Call it again with the same key, or keep a process running that calls work.";
  return `Payment ${JSON.stringify(key)} is not finished${where}${why}. ${advice} Until it has an outcome, don't pay this order another way, and don't refund it.`;
}

/** What a cause says of its own call, such as that nothing was sent, isn't true of the flow: its text stays in `cause`. */
function nameOf(cause: unknown): string {
  const { name, code } = cause instanceof CrossBorderError ? cause : describeThrown(cause);
  const { operation } = cause instanceof CrossBorderError ? cause : {};
  return [operation, name, code].filter((part) => part !== undefined).join(" ");
}
