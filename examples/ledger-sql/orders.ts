// orders.ts
import { CrossBorderError } from "cross-border-payments";
import { FlowPausedError, type PaymentFlow } from "cross-border-payments/flow";
import type { Pool } from "pg";

/** `confirmed` is the outbox: an order that must be paid, and has no outcome yet. */
export const orderTables = `
  create table orders (
    id text primary key,
    intent_id text,
    status text not null default 'open'
      check (status in ('open', 'confirmed', 'paid', 'declined', 'rejected', 'held', 'quote_lost'))
  );
  create index on orders (id) where status in ('confirmed', 'held')`;

/** In the request of the customer, in the same transaction as the rest of the order. */
export async function confirmOrder(pool: Pool, orderId: string, intentId: string): Promise<boolean> {
  const confirmed = await pool.query(
    "update orders set status = 'confirmed', intent_id = $2 where id = $1 and status in ('open', 'quote_lost')",
    [orderId, intentId],
  );
  return confirmed.rowCount === 1;
}

/**
 * Pays what is confirmed, and follows what is held. Call it every few seconds, in as many processes as you like: the flow pays each order
 * once, and gives everybody the same outcome.
 *
 * @throws {AggregateError} after all others, where orders failed: somebody has to look at them.
 */
export async function payConfirmed(pool: Pool, flow: Pick<PaymentFlow, "confirm">): Promise<void> {
  const failures: unknown[] = [];
  for (let after = ""; ; ) {
    const { rows } = await pool.query<{ id: string; intent_id: string }>(
      "select id, intent_id from orders where status in ('confirmed', 'held') and id > $1 order by id limit 100",
      [after],
    );
    for (const { id, intent_id: intentId } of rows) {
      await payOrder(pool, flow, id, intentId).catch((error: unknown) => failures.push(error));
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = last.id;
  }
  if (failures.length > 0) throw new AggregateError(failures, "some orders could not be paid in this round");
}

/** One order: in a round, or at once, by the request that has confirmed it. */
export async function payOrder(
  pool: Pool,
  flow: Pick<PaymentFlow, "confirm">,
  id: string,
  intentId: string,
): Promise<void> {
  const status = await statusAfter(flow, id, intentId);
  if (status === undefined) return;
  await pool.query(
    "update orders set status = $2 where id = $1 and intent_id = $3 and status in ('confirmed', 'held')",
    [id, status, intentId],
  );
}

/** `undefined` if there is no outcome yet: the next round asks again. */
async function statusAfter(
  flow: Pick<PaymentFlow, "confirm">,
  id: string,
  intentId: string,
): Promise<string | undefined> {
  try {
    const { status } = await flow.confirm(id, { intentId });
    return status;
  } catch (error) {
    if (error instanceof FlowPausedError) return undefined;
    const isLost = error instanceof CrossBorderError && lost.has(error.code) && error.effect === "none";
    if (isLost) return "quote_lost";
    throw error;
  }
}

/** Nothing was taken, and nothing will be: show the customer a new price. */
const lost = new Set<string>(["quote_expired", "quote_changed", "flow_unknown"]);
