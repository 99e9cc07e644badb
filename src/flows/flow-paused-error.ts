import { CrossBorderError, type SentRequest } from "../errors/errors.js";
import { hide } from "../errors/hide.js";
import type { FlowPhase } from "../events/flow-event.js";

/**
 * A flow stopped before it had an outcome. It is stored and still owns the payment: `work`, `recover` or a later
 * `run`, here or in another process, continues it. Therefore `effect` is `possible`, whatever failed: neither pay in another way nor give the money back.
 *
 * `cause` is what failed.
 */
export class FlowPausedError extends CrossBorderError {
  /** @internal */
  static override readonly className: string = "FlowPausedError";
  /** The key of the flow. */
  readonly key: string;
  /** How far the flow has got, as far as that is known. */
  declare readonly phase?: FlowPhase;
  /** The signed payment that may have been sent, if there is one. */
  declare readonly request?: SentRequest;

  constructor(
    key: string,
    details: {
      readonly phase?: FlowPhase | undefined;
      readonly cause?: unknown;
      readonly request?: SentRequest | undefined;
      /** What to do, where that is not to call again with the key. */
      readonly advice?: string | undefined;
    } = {},
  ) {
    const { phase, cause, request, advice = adviceOf(phase) } = details;
    super(describe(key, phase, cause, advice), { code: "flow_paused", effect: "possible", cause });
    this.key = key;
    if (phase !== undefined) this.phase = phase;
    // It holds account numbers.
    if (request !== undefined) hide(this, "request", request);
  }
}

function describe(key: string, phase: FlowPhase | undefined, cause: unknown, advice: string): string {
  const where = phase === undefined ? "" : ` in phase "${phase}"`;
  // What the cause says of its own call, such as that nothing was done, is not true of the flow.
  const why = cause instanceof CrossBorderError ? ` (${[cause.operation, cause.code].filter(Boolean).join(": ")})` : "";
  return `the flow of key ${JSON.stringify(key)} stopped${where} without an outcome${why}. ${advice}; until there is an outcome, neither pay in another way nor give the money back`;
}

function adviceOf(phase: FlowPhase | undefined): string {
  if (phase === "held") return "It is held, and waits for resolve";
  return "It still owns the payment: respond with 202, poll status, call again with the same key, and keep a process running that calls work, or reads recover to its end now and then";
}
