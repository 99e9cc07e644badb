import * as opentelemetry from "@opentelemetry/api";
import { CrossBorderClient } from "cross-border-payments";
import { type Journal, PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { readSettings } from "cross-border-payments/settings";
import pg from "pg";
import type { Logger } from "pino";
import { PostgresLedger } from "../ledger-sql/postgres-ledger.js";
import { assertMigrated } from "./migrations.js";
import type { BankSettings } from "./settings.js";
import { Users } from "./users.js";

/** What the pages and the workers of one process share. */
export interface Bank {
  readonly settings: BankSettings;
  readonly logger: Logger;
  /** Of the ledger, the orders, the users and their sessions. The journal has connections of its own. */
  readonly pool: pg.Pool;
  readonly users: Users;
  readonly client: CrossBorderClient;
  readonly journal: Journal;
  readonly flow: PaymentFlow;
}

/** @throws {Error} where a setting is missing or wrong, or the database can't be reached or is not migrated. */
export async function openBank(settings: BankSettings, logger: Logger): Promise<Bank> {
  const { databaseUrl, gatewayId, secret, leaseMs, readBackDelayMs } = settings;
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 5000,
    statement_timeout: 10_000,
    query_timeout: 12_000,
  });
  // The pool drops an idle connection that breaks; without a listener, that would end the process.
  pool.on("error", (error) => logger.warn({ err: error }, "a connection to the database broke"));
  await assertMigrated(pool);
  const ledger = new PostgresLedger(pool);
  const journal = await PostgresJournal.open(databaseUrl, { migrate: false });
  const client = new CrossBorderClient({
    ...(await readSettings()),
    logger,
    telemetry: openTelemetry(opentelemetry),
  });
  const flow = new PaymentFlow({
    ...{ client, journal, gatewayId, leaseMs, readBackDelayMs },
    takeFunds: ledger.takeFunds,
    releaseFunds: ledger.releaseFunds,
    decisions: { people: 2 },
    on: { error: (error) => logger.error({ err: error }, "recovering flows") },
  });
  return { settings, logger, pool, users: new Users(pool, secret), client, journal, flow };
}
