import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import { type DeclinedFlow, toDeclined } from "./flow-outcome.js";
import { assertQuoted, unknownFlow } from "./ownership/known-flow.js";
import { replaceQuote } from "./ownership/own-flow.js";
import { readState, scopeOf } from "./state/flow-scope.js";
import { truthOf } from "./state/flow-truth.js";
import { emitStep } from "./steps/emit-step.js";

/** See `PaymentFlow.cancel`. */
export async function cancelFlow(
  context: FlowContext,
  key: string,
  reason: string | undefined,
  call: FlowCall,
): Promise<DeclinedFlow> {
  try {
    for (;;) {
      const entry = await context.journal.read(key);
      if (entry === undefined) throw unknownFlow(key);
      const state = await readState(context, entry);
      if (state.phase === "declined") return toDeclined(key, state);
      assertQuoted(key, "cancel", state);
      const declined = { ...state, phase: "declined" as const, ...(reason === undefined ? undefined : { reason }) };
      // An expired quote can be cancelled too. Where it was renewed meanwhile, the new one is what the caller no longer wants.
      const startMs = clock.monotonicMs();
      const replaced = await replaceQuote(context, entry, scopeOf(context, state.request), declined, undefined);
      if (replaced === undefined) {
        await call.pause(pauseMs);
        continue;
      }
      emitStep(context, key, state, declined, startMs);
      return toDeclined(key, declined);
    }
  } catch (error) {
    throw await truthOf(context, key, error);
  }
}

/** Before the quote is read once more that another process has changed meanwhile. */
const pauseMs = 50;
