import { InvalidArgumentError } from "../errors/errors.js";
import { payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import type { JournalEntry } from "./journal.js";
import { assertSameIntent, unknownFlow } from "./ownership/known-flow.js";
import { replaceQuote } from "./ownership/own-flow.js";
import { assertOwnKey, scopeOf } from "./state/flow-scope.js";
import type { StateOf } from "./state/flow-state.js";
import { assertPayable } from "./steps/assert-payable.js";
import { finishFlow } from "./steps/drive-flow.js";
import { emitStep } from "./steps/emit-step.js";
import { payable, withOwnKey } from "./steps/prepare-flow.js";
import { settleFlow } from "./steps/settle-flow.js";

/** See `PaymentFlow.confirm`. */
export async function confirmFlow(
  context: FlowContext,
  key: string,
  intentId: string,
  call: FlowCall,
): Promise<FlowOutcome> {
  await context.client.check(payments.list, [], {}, call.paymentOptions);
  return settleFlow(context, key, call, {
    assertFits: (state) => assertSameIntent(key, state, intentId),
    whenAbsent: () => Promise.reject(unknownFlow(key)),
    async whenQuoted(entry, quote) {
      if (entry.isExpired) throw expired(key);
      return confirmQuote(context, entry, quote, call);
    },
  });
}

/** Pays at the quote's price; `undefined` when the quote has expired, or was confirmed, cancelled or renewed meanwhile. */
export async function confirmQuote(
  context: FlowContext,
  seen: JournalEntry,
  quote: StateOf<"quoted">,
  call: FlowCall,
): Promise<FlowOutcome | undefined> {
  const startMs = clock.monotonicMs();
  context.circuitBreaker?.assertMayBegin();
  await assertOwnKey(context, seen.key, quote);
  await assertPayable(context.client, quote.request, quote.intent, call.requestOptions);
  const own = await withOwnKey(context.client, quote);
  const state = payable(own, await context.newestPayment.mark(call));
  // The journal's clock decides, in the same write.
  const owned = await replaceQuote(context, seen, scopeOf(context, quote.request), state, false);
  if (owned === undefined) return undefined;
  emitStep(context, seen.key, quote, state, startMs);
  return finishFlow(context, { ...owned, state, mustLook: false }, call);
}

function expired(key: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `the quote of key ${JSON.stringify(key)} has expired, and no money was taken: call quote for a new one, and show its price`,
    { code: "quote_expired" },
  );
}
