import { type Effect, type ErrorCode, InvalidArgumentError } from "../../errors/errors.js";
import type { FlowPhase } from "../../events/flow-event.js";
import type { PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { FlowState } from "../state/flow-state.js";

/** Phases in which nothing was paid and never will be, unless somebody confirms a quote. */
const unpaidPhases: ReadonlySet<FlowPhase> = new Set(["quoted", "declined", "rejected"]);

/** @throws {InvalidArgumentError} `flow_key_reused` when the key belongs to another request; it names the fields that differ. */
export function assertSameRequest(key: string, state: FlowState, request: PaymentIntentRequest): void {
  const { request: known } = state;
  const names = new Set([...Object.keys(known), ...Object.keys(request)]);
  const differing = [...names].filter((name) => Reflect.get(known, name) !== Reflect.get(request, name)).sort();
  if (differing.length === 0) return;
  throw refusal(
    "flow_key_reused",
    state,
    `the key ${JSON.stringify(key)} belongs to another request, which differs in ${differing.join(", ")}: each payment needs its own key`,
  );
}

/** @throws {InvalidArgumentError} `quote_changed` when the flow's price is another than the one that was shown. */
export function assertSameIntent(key: string, state: FlowState, intentId: string): void {
  if ("intent" in state && state.intent?.id === intentId) return;
  const advice =
    state.phase === "quoted"
      ? "show its price, which quote or status gives, before it is paid"
      : `the flow is ${state.phase}, and status gives what became of it`;
  throw refusal(
    "quote_changed",
    state,
    `the intent of the flow of key ${JSON.stringify(key)} is another than the one to be confirmed: ${advice}`,
  );
}

/** @throws {InvalidArgumentError} `flow_confirmed` when it is too late to do with a quote what `operation` does. */
export function assertQuoted(
  key: string,
  operation: string,
  state: FlowState,
): asserts state is Extract<FlowState, { phase: "quoted" }> {
  if (state.phase === "quoted") return;
  throw refusal(
    "flow_confirmed",
    state,
    `${operation}: the flow of key ${JSON.stringify(key)} is ${state.phase}, and no longer a quote: call confirm for its outcome, or status`,
  );
}

export function unknownFlow(key: string): InvalidArgumentError {
  return new InvalidArgumentError(`there is no flow of key ${JSON.stringify(key)}: call quote first`, {
    code: "flow_unknown",
  });
}

function refusal(code: ErrorCode, { phase }: FlowState, message: string): InvalidArgumentError {
  const effect: Effect = unpaidPhases.has(phase) ? "none" : "possible";
  return new InvalidArgumentError(message, { code, effect });
}
