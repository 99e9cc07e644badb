// statement.ts
import type { CrossBorderClient } from "cross-border-payments";
import { type OwnEntry, reconcilePayments } from "cross-border-payments/reconcile";
import type { Pool } from "pg";

/** How far a booking and the creation of its payment can lie apart. */
const slackMs = 3_600_000;

/** What the ledger and the service say differently of a period, such as yesterday. Nothing is a good result. */
export function compareTakings(client: CrossBorderClient, pool: Pool, gatewayId: string, from: Date, to: Date) {
  const own = takings(pool, new Date(from.getTime() - slackMs), new Date(to.getTime() + slackMs));
  return reconcilePayments(client, own, { from, to, slackMs, senderGatewayId: gatewayId });
}

/** Those whose money is still taken: what was declined or given back has no payment. */
async function* takings(pool: Pool, from: Date, to: Date): AsyncGenerator<OwnEntry> {
  const { rows } = await pool.query<{ id: string; account: string; amount: string; at: Date }>(
    `select transaction_id as id, account, amount::text, taken_at as at
     from takings where status = 'taken' and taken_at >= $1 and taken_at < $2`,
    [from, to],
  );
  for (const { id, account, amount, at } of rows) {
    yield { senderGatewayTransactionId: id, bookedAt: at, senderAccount: account, senderAmount: amount };
  }
}
