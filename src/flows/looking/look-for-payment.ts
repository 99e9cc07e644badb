import type { ApiClient } from "../../api/api-client.js";
import { PaymentPages } from "../../payments/payment-pages.js";
import { PaymentReading, type ReadingLimits } from "../../payments/read-payments.js";
import { SharedReadings } from "../../payments/shared-readings.js";
import type { Payment } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import type { FlowCall } from "../flow-call.js";
import type { FlowContext } from "../flow-context.js";
import type { Look, StateOf } from "../state/flow-state.js";
import { LookGoal, type LookRange, markedPayment } from "./look-goal.js";
import { paymentMatcher, type Recognisable } from "./match-payment.js";

export interface Sight {
  readonly look: Look;
  readonly found: Payment | undefined;
}

export type Sought = Recognisable & Pick<StateOf<"funds-requested">, "since" | "isTakenSince" | "takenAtMs">;

export type LookContext = Pick<
  FlowContext,
  "client" | "journal" | "scope" | "service" | "bankSkewMs" | "knownPayments" | "readings"
>;

/** A service with more payments than this can't be read to its end each time. */
function limitsOf({ clockSkewMs = defaultClockSkewMs }: LookContext["service"]): ReadingLimits {
  return { newestFirst: "createdAt.desc", mostPayments: 100_000, clockSkewMs };
}

/** A difference in somebody's record must not stop the search for another. */
const lenient = true;

export function sharedReadings(client: ApiClient, service: LookContext["service"]): SharedReadings {
  return new SharedReadings({ client, lenient }, limitsOf(service));
}

/**
 * Looks for a flow's payment among the listed payments.
 *
 * @param decides whether something is decided on the payment's absence: the flow's release, a new claim, an operator's decision. Then the
 *   mark is an end only where it is sure, see `markIsSure`.
 */
export async function lookForPayment(
  context: LookContext,
  call: FlowCall,
  flow: Sought,
  decides: "decides" | "reports",
): Promise<Sight> {
  const atMs = clock.wallMs();
  const range = rangeOf(context, flow, decides === "reports" || markIsSure(flow));
  const goal = new LookGoal(paymentMatcher(flow), range, context.knownPayments, decides);
  await read(context, call, goal, range);
  const { found, lookalike, seen } = goal;
  const isAnyKnown = seen === 0 && found === undefined && (await isAnyPaymentKnown(context));
  const problem = found === undefined ? goal.problem(isAnyKnown) : undefined;
  const look = {
    atMs,
    claims: flow.claims.length,
    seen,
    complete: problem === undefined,
    grounds: goal.grounds(),
    ...(problem === undefined ? undefined : { problem }),
    ...(found === undefined ? undefined : { found: true as const }),
    ...(lookalike === undefined ? undefined : { lookalike }),
  };
  return { look, found };
}

/** The headers of a call go with its own requests only. */
async function read(
  { client, readings, service }: LookContext,
  call: FlowCall,
  goal: LookGoal,
  { pastMarkMs, notBeforeMs }: LookRange,
): Promise<void> {
  const options = call.requestOptions;
  if (options.headers !== undefined) {
    await new PaymentReading(new PaymentPages({ client, lenient, options }), limitsOf(service), [goal]).run();
    return;
  }
  const depth = pastMarkMs !== undefined ? "mark" : notBeforeMs !== undefined ? "time" : "end";
  const { over, leave } = readings.join(goal, depth);
  try {
    await call.race(over);
  } finally {
    leave();
  }
}

/** By so much the clocks of a service's machines may differ where nobody says so. */
export const defaultClockSkewMs = 60_000;

function rangeOf({ service, bankSkewMs }: LookContext, { since, takenAtMs }: Sought, isMarkAnEnd: boolean): LookRange {
  return {
    mark: since,
    pastMarkMs:
      isMarkAnEnd && markedPayment(since) !== undefined ? (service.clockSkewMs ?? defaultClockSkewMs) : undefined,
    notBeforeMs: takenAtMs === undefined ? undefined : takenAtMs - bankSkewMs,
  };
}

/**
 * Whether no payment of the key, of whichever entry, can have been made before the mark: it was noted before the money was asked for, that
 * call said that it took the money of this key for the first time, and a payment needs the transaction's id.
 *
 * A journal that was restored to before that has no `isTakenSince`, and an entry that was lost altogether is begun again with
 * `replayed: true`: an entry of the same key may be older then, and so may its payment.
 */
function markIsSure({ isTakenSince }: Pick<Sought, "isTakenSince">): boolean {
  return isTakenSince === true;
}

/** Whether a list that is altogether empty can't be right. */
async function isAnyPaymentKnown({ journal, scope, knownPayments }: LookContext): Promise<boolean> {
  if (knownPayments.hasAny) return true;
  const { service, gateway } = scope;
  // Of flows that were moved here, those that had been pruned stay where they were.
  const own = (await journal.scopes()).filter((known) => known.service === service || known.flows === 0);
  return own.some((known) => known.paid > 0 && (gateway ?? known.gateway) === known.gateway);
}
