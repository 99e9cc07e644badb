import type { FlowFunds } from "cross-border-payments/flow";
import pg from "pg";
import type { BankEntry } from "../crash/bank.js";

/**
 * The bank's own ledger in PostgreSQL, as the guide recommends it: the insert that finds the key there is the replay. For a key that
 * comes again with another intent it takes money again, so that a flow that did that would be seen.
 */
export class Ledger implements AsyncDisposable {
  readonly #pool: pg.Pool;

  constructor(databaseUrl: string) {
    this.#pool = new pg.Pool({ connectionString: databaseUrl, max: 8 });
    // Connections that the server ends are opened again when they are needed.
    this.#pool.on("error", () => {});
  }

  async create(): Promise<void> {
    await this.#pool.query(
      `CREATE TABLE ledger (position bigserial, kind text NOT NULL, key text NOT NULL, intent_id text NOT NULL,
         amount text NOT NULL, transaction_id text NOT NULL,
         taken_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (key, intent_id, kind))`,
    );
  }

  /** Takes `tookMs` before it commits. Returns `null` when the money was given back before. */
  async take({
    key,
    intentId,
    amount,
    tookMs,
  }: Pick<BankEntry, "key" | "intentId" | "amount"> & { readonly tookMs: number }): Promise<FlowFunds | null> {
    const inserted = await this.#pool.query<{ id: string }>(
      `WITH taken AS (
         INSERT INTO ledger (kind, key, intent_id, amount, transaction_id) VALUES ('take', $1, $2, $3, 'T-' || gen_random_uuid())
         ON CONFLICT DO NOTHING RETURNING transaction_id
       ) SELECT transaction_id AS id, pg_sleep($4) FROM taken`,
      [key, intentId, amount, tookMs / 1000],
    );
    const [taken] = inserted.rows;
    if (taken !== undefined) return { senderGatewayTransactionId: taken.id, replayed: false };
    const { rows } = await this.#pool.query<{ kind: BankEntry["kind"]; id: string; at: Date }>(
      "SELECT kind, transaction_id AS id, taken_at AS at FROM ledger WHERE key = $1 AND intent_id = $2",
      [key, intentId],
    );
    const known = rows.find(({ kind }) => kind === "take");
    if (known === undefined) throw new Error(`the ledger lost the money of ${key}`);
    return rows.length > 1
      ? null
      : { senderGatewayTransactionId: known.id, replayed: true, takenAtMs: known.at.getTime() };
  }

  async release(key: string, transactionId: string): Promise<void> {
    await this.#pool.query(
      `INSERT INTO ledger (kind, key, intent_id, amount, transaction_id)
         SELECT 'release', key, intent_id, amount, transaction_id FROM ledger WHERE kind = 'take' AND key = $1 AND transaction_id = $2
       ON CONFLICT DO NOTHING`,
      [key, transactionId],
    );
  }

  async entries(): Promise<readonly BankEntry[]> {
    const { rows } = await this.#pool.query<BankEntry>(
      `SELECT kind, key, intent_id AS "intentId", amount, transaction_id AS "transactionId" FROM ledger ORDER BY position`,
    );
    return rows;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.end();
  }
}
