import { setMaxListeners } from "node:events";
import { CrossBorderClient } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { readSettings } from "cross-border-payments/settings";
import { Pool } from "pg";
import { PostgresLedger } from "../ledger-sql/postgres-ledger.ts";
import { setting } from "./setting.ts";

/** The time that `flow.close` may take. All of it has to fit into what the orchestrator waits before it kills (30 s at Kubernetes). */
const closeMs = Number(setting("CLOSE_MS", "15000"));

/** What a process has once: connections, the client, the flow and its worker. */
export class Bank {
  readonly gatewayId = setting("GATEWAY_ID");
  readonly client: CrossBorderClient;
  readonly flow: PaymentFlow;
  readonly #pool: Pool;
  readonly #journal: PostgresJournal;
  readonly #stopping = new AbortController();
  readonly #working: Promise<void>;

  private constructor(client: CrossBorderClient, pool: Pool, journal: PostgresJournal) {
    this.client = client;
    this.#pool = pool;
    this.#journal = journal;
    const { takeFunds, releaseFunds } = new PostgresLedger(pool);
    this.flow = new PaymentFlow({
      client,
      journal,
      gatewayId: this.gatewayId,
      leaseMs: Number(setting("LEASE_MS", "30000")),
      readBackDelayMs: Number(setting("READ_BACK_DELAY_MS", "10000")),
      decisions: { people: 2 },
      takeFunds,
      releaseFunds,
      on: { error: (error) => console.error("recovering flows:", error) },
    });
    // Every customer who waits listens to it.
    setMaxListeners(0, this.stopping);
    this.#working = this.flow.work({ signal: this.stopping });
  }

  /** Wrong settings, and a database that can't be reached, end the process here, and not at the first payment. */
  static async open(): Promise<Bank> {
    const client = new CrossBorderClient(await readSettings());
    const pool = new Pool({ connectionString: setting("DATABASE_URL"), statement_timeout: 10_000 });
    // An idle connection that was lost: the next query has another one.
    pool.on("error", () => {});
    return new Bank(client, pool, await PostgresJournal.open(pool));
  }

  /** Aborts when the process is to end: nobody waits any longer then. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** What is in flight gets its response, or is looked for by the next process. Last comes what everything before it needs. */
  async close(): Promise<void> {
    // A journal that hangs must not keep the process: what is stored is safe.
    setTimeout(() => process.exit(1), closeMs + 10_000).unref();
    this.#stopping.abort();
    await this.flow.close({ timeoutMs: closeMs });
    await this.#working;
    await this.client.close();
    await this.#journal.close();
    await this.#pool.end();
  }
}
