import { CrossBorderError } from "../../errors/errors.js";
import type { FlowEvent } from "../../events/flow-event.js";
import { clock } from "../../timing/clock.js";
import type { FlowContext } from "../flow-context.js";
import type { ClaimResponse, FlowRefusal, FlowState, StateOf } from "../state/flow-state.js";

/** Reports a step of a flow. `error` is what it failed with, if it did. */
export function emitStep(
  { reporter }: FlowContext,
  key: string,
  from: FlowState | undefined,
  to: FlowState,
  startMs: number,
  error?: unknown,
): void {
  if (!reporter.wants("flow")) return;
  reporter.emit("flow", {
    key,
    from: from?.phase,
    to: to.phase,
    // Whatever failed, the flow still owns the payment: its FlowPausedError says the same.
    ...(isOpen(to) || error !== undefined ? { effect: "possible" as const } : undefined),
    ...(error instanceof CrossBorderError ? { code: error.code } : undefined),
    ...responseTo(to),
    durationMs: clock.monotonicMs() - startMs,
    attempt: (from?.failures?.count ?? 0) + 1,
  });
}

/** Whether nobody knows the outcome. After a definite refusal the payment is looked for all the same, only to be sure. */
function isOpen(state: FlowState): boolean {
  return state.phase === "held" || (state.phase === "unknown" && state.refusal === undefined);
}

/** What the service said to the flow's newest request, where that did not settle the flow. */
function responseTo({ refusal, response }: Answered): Pick<FlowEvent, "status" | "serviceCode"> {
  if (refusal !== undefined) return refusalBy(refusal);
  return response === undefined ? {} : shown(response);
}

/** States that know of no response have neither field. */
interface Answered extends Pick<FlowState, "phase">, Pick<StateOf<"unknown">, "refusal" | "response"> {}

function refusalBy({ by, status, code }: FlowRefusal): Pick<FlowEvent, "status" | "serviceCode"> {
  if (by === "operator" || status === undefined) return {};
  // The library's own code stands where the service gave none.
  return shown({ status, serviceCode: code === `http_${status}` ? undefined : code });
}

function shown({ status, serviceCode }: ResponseFacts): Pick<FlowEvent, "status" | "serviceCode"> {
  return { status, ...(serviceCode !== undefined && isCode(serviceCode) ? { serviceCode } : undefined) };
}

interface ResponseFacts extends Pick<ClaimResponse, "status"> {
  readonly serviceCode?: string | undefined;
}

/** What does not look like a code may be a sentence with a name or an account in it. */
function isCode(text: string): boolean {
  return /^(?!.*\d{5})[a-z][\w.-]{0,63}$/i.test(text);
}
