import { InvalidArgumentError } from "../errors/errors.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import { type DeclinedFlow, type FlowOutcome, toDeclined } from "./flow-outcome.js";
import type { JournalEntry } from "./journal.js";
import { checked, truthOf } from "./ownership/flow-truth.js";
import { assertQuoted, assertSameIntent, assertSameRequest, unknownFlow } from "./ownership/known-flow.js";
import { beginEntry, fence, replaceQuote } from "./ownership/own-flow.js";
import { withStep } from "./state/flow-history.js";
import { assertOwnKey, assertOwnRequest, readState, scopeOf } from "./state/flow-scope.js";
import type { StateOf } from "./state/flow-state.js";
import { assertPayable } from "./steps/assert-payable.js";
import { finishFlow } from "./steps/drive-flow.js";
import { emitStep } from "./steps/emit-step.js";
import { payable, prepareQuote, withOwnKey } from "./steps/prepare-flow.js";
import { settleFlow } from "./steps/settle-flow.js";

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
  await checked(context, key, context.client.check(paymentIntents.create, [], { body: request }, call.paymentOptions));
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
  const prepared = await prepareQuote(context, request, call);
  const quote = withStep(context, { from: undefined, startMs }, prepared);
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
  const startMs = clock.monotonicMs();
  const prepared = await prepareQuote(context, request, call);
  const quote = withStep(context, { from: undefined, startMs }, prepared);
  const renewed = await replaceQuote(context, seen, scopeOf(context, request), quote, true);
  if (renewed !== undefined) return renewed.entry;
  return (await context.journal.read(seen.key)) ?? beginQuote(context, seen.key, request, call);
}

/** How long to wait before what another process stores as well is tried, or read, again. */
const pauseMs = 50;

function toQuotedFlow({ key, expiresAtMs = 0 }: JournalEntry, intent: PaymentIntent): QuotedFlow {
  return { status: "quoted", key, intent, expiresAtMs };
}

/** See `PaymentFlow.confirm`. */
export async function confirmFlow(
  context: FlowContext,
  key: string,
  intentId: string,
  call: FlowCall,
): Promise<FlowOutcome> {
  await checked(context, key, context.client.check(payments.list, [], {}, call.paymentOptions));
  let isTried = false;
  return settleFlow(context, key, call, {
    assertFits: (state) => assertSameIntent(key, state, intentId),
    whenAbsent: () => Promise.reject(unknownFlow(key)),
    async whenQuoted(entry, quote) {
      if (entry.isExpired) {
        if (!isTried && (await fence(context, entry))?.phase !== "quoted") return undefined;
        throw expired(key);
      }
      // What it does not replace it has fenced.
      isTried = true;
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
  const confirmed = payable(own, await context.newestPayment.mark(call));
  const state = withStep(context, { from: quote, startMs }, confirmed);
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
      const startMs = clock.monotonicMs();
      const declined = withStep(
        context,
        { from: state, startMs },
        { ...state, phase: "declined" as const, ...(reason === undefined ? undefined : { reason }) },
      );
      // An expired quote can be cancelled too. Where it was renewed meanwhile, the new one is what the caller no longer wants.
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
