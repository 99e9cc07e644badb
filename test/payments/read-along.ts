import type { ApiClient } from "../../src/api/api-client.js";
import { KnownPayments } from "../../src/flows/looking/known-payments.js";
import { LookGoal } from "../../src/flows/looking/look-goal.js";
import { PaymentPages } from "../../src/payments/payment-pages.js";
import { PaymentReading } from "../../src/payments/read-payments.js";
import type { Payment } from "../../src/resources/payments.js";

/** Looks at a payment; true when no other needs to be looked at. */
export type Inspect = (payment: Payment) => boolean;

/** Reads the payments as a look does, back to the one whose token is `since`, or all of them. */
export async function readAlong(client: ApiClient, since: string | null, inspect: Inspect, mostPayments = 100_000) {
  const match = (payment: Payment) => (inspect(payment) ? ("own" as const) : undefined);
  const range = { mark: since, pastMarkMs: since === null ? undefined : 60_000, notBeforeMs: undefined };
  const goal = new LookGoal(match, range, new KnownPayments(0, 60_000));
  const limits = { newestFirst: "createdAt.desc", mostPayments };
  await new PaymentReading(new PaymentPages({ client, lenient: true }), limits, [goal]).run();
  return { seen: goal.seen, problem: goal.found === undefined ? goal.problem(false) : undefined };
}
