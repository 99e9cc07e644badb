import { type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { checked } from "./ownership/flow-truth.js";
import { assertSameRequest } from "./ownership/known-flow.js";
import { beginEntry } from "./ownership/own-flow.js";
import { confirmQuote, renewQuote } from "./quote-flow.js";
import { withStep } from "./state/flow-history.js";
import { assertOwnRequest, scopeOf } from "./state/flow-scope.js";
import { hasOutcome } from "./state/flow-state.js";
import { finishFlow } from "./steps/drive-flow.js";
import { emitStep } from "./steps/emit-step.js";
import { prepareFlow } from "./steps/prepare-flow.js";
import { settleFlow } from "./steps/settle-flow.js";

/** See `PaymentFlow.run`. */
export async function runFlow(
  context: FlowContext,
  key: string,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<FlowOutcome> {
  await checked(context, key, context.client.check(paymentIntents.create, [], { body: request }, call.paymentOptions));
  assertOwnRequest(context, request);
  return settleFlow(context, key, call, {
    assertFits: (state) => assertSameRequest(key, state, request),
    whenAbsent: () => beginFlow(context, key, request, call),
    async whenQuoted(entry, quote) {
      if (!entry.isExpired) return confirmQuote(context, entry, quote, call);
      await renewQuote(context, entry, request, call);
      return undefined;
    },
  });
}

/** `undefined` when an entry is there already: then that one counts, although its intent may have been refused just now. */
async function beginFlow(
  context: FlowContext,
  key: string,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<FlowOutcome | undefined> {
  const startMs = clock.monotonicMs();
  context.circuitBreaker?.assertMayBegin();
  const prepared = await prepareFlow(context, request, call);
  const state = withStep(context, { from: undefined, startMs }, prepared);
  const { entry, askedAt, isMine } = await beginEntry(context, key, scopeOf(context, request), state);
  if (!isMine) return undefined;
  emitStep(context, key, undefined, state, startMs);
  if (hasOutcome(state)) return toOutcome(key, state);
  return finishFlow(context, { entry, state, askedAt, mustLook: false }, call);
}
