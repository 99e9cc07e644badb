import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import type { JournalEntry } from "./journal.js";
import { assertQuoted, assertSameRequest } from "./ownership/known-flow.js";
import { beginEntry, replaceQuote } from "./ownership/own-flow.js";
import { assertOwnRequest, readState, scopeOf } from "./state/flow-scope.js";
import { truthOf } from "./state/flow-truth.js";
import { emitStep } from "./steps/emit-step.js";
import { prepareQuote } from "./steps/prepare-flow.js";

/** What a payment would cost. No money is taken before it is confirmed. */
export interface QuotedFlow {
  readonly status: "quoted";
  readonly key: string;
  /** The service's record: what is paid, and from which account. */
  readonly intent: PaymentIntent;
  /** Milliseconds since 1970, by the journal's clock. It can't be confirmed afterwards. */
  readonly expiresAtMs: number;
}

/** See `PaymentFlow.quote`. */
export async function quoteFlow(
  context: FlowContext,
  key: string,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<QuotedFlow> {
  await context.client.check(paymentIntents.create, [], { body: request }, call.paymentOptions);
  assertOwnRequest(context, request);
  try {
    let entry = (await context.journal.read(key)) ?? (await beginQuote(context, key, request, call));
    for (;;) {
      const state = await readState(context, entry);
      assertSameRequest(key, state, request);
      assertQuoted(key, "quote", state);
      if (!entry.isExpired) return toQuotedFlow(entry, state.intent);
      entry = await renewQuote(context, entry, request, call);
      // Somebody else was faster, or the journal does not stand by what it showed.
      if (entry.isExpired) await call.pause(pauseMs);
    }
  } catch (error) {
    throw await truthOf(context, key, error);
  }
}

/** The entry that is there afterwards: the new quote, or what another process stored meanwhile. */
async function beginQuote(
  context: FlowContext,
  key: string,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<JournalEntry> {
  const startMs = clock.monotonicMs();
  const quote = await prepareQuote(context, request, call);
  const { entry, isMine } = await beginEntry(context, key, scopeOf(context, request), quote);
  if (isMine) emitStep(context, key, undefined, quote, startMs);
  return entry;
}

/** A quote in place of one that has expired; `expired` alone: a fresh one keeps its price. The entry that is there afterwards. */
export async function renewQuote(
  context: FlowContext,
  seen: JournalEntry,
  request: PaymentIntentRequest,
  call: FlowCall,
): Promise<JournalEntry> {
  const quote = await prepareQuote(context, request, call);
  const renewed = await replaceQuote(context, seen, scopeOf(context, request), quote, true);
  if (renewed !== undefined) return renewed.entry;
  return (await context.journal.read(seen.key)) ?? beginQuote(context, seen.key, request, call);
}

/** Between two tries to store what another process stores as well. */
const pauseMs = 50;

function toQuotedFlow({ key, expiresAtMs = 0 }: JournalEntry, intent: PaymentIntent): QuotedFlow {
  return { status: "quoted", key, intent, expiresAtMs };
}
