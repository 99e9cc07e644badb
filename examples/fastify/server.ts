/**
 * The process of a gateway's back end: settings from the environment, one client, one flow and its worker, and an end in the right
 * order. `payments-app.ts` has the routes.
 */
import { setMaxListeners } from "node:events";
import { CrossBorderClient } from "cross-border-payments";
import { type Journal, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { readSettings } from "cross-border-payments/settings";
import { staffPages } from "../frameworks/staff-pages.js";
import { setting } from "../support/setting.js";
import { Ledger } from "./ledger.js";
import { paymentsApp } from "./payments-app.js";

/** PostgreSQL for many machines, SQLite for many processes of one, and memory to try it out. */
async function openJournal(place: string): Promise<Journal> {
  if (place === "memory") return new MemoryJournal();
  if (!place.startsWith("postgres")) return SqliteJournal.open(place);
  return PostgresJournal.open(place, { schema: setting("JOURNAL_SCHEMA", "public") });
}

/** The time that `flow.close` may take. All of it has to fit into what the orchestrator waits before it kills (30 s at Kubernetes). */
const closeMs = Number(setting("CLOSE_MS", "15000"));

const gatewayId = setting("GATEWAY_ID");
const journal = await openJournal(setting("JOURNAL", "memory"));
const ledger = await Ledger.open(setting("LEDGER_FOLDER"));
const client = new CrossBorderClient(await readSettings());

const stopping = new AbortController();
// Every customer who waits listens to it.
setMaxListeners(0, stopping.signal);

const flow = new PaymentFlow({
  client,
  journal,
  gatewayId,
  leaseMs: Number(setting("LEASE_MS", "30000")),
  readBackDelayMs: Number(setting("READ_BACK_DELAY_MS", "10000")),
  decisions: { people: 2 },
  takeFunds: ledger.takeFunds,
  releaseFunds: ledger.releaseFunds,
  on: {
    flow: (event) => app.log.info(event, "flow"),
    error: (error) => app.log.error({ err: error }, "recovering flows"),
  },
});
const staff = staffPages(flow);
const app = paymentsApp({ flow, client, gatewayId, staff, patienceMs: 5000, stopping: stopping.signal });

async function shutDown(): Promise<void> {
  // A journal that hangs must not keep the process: what is stored is safe.
  setTimeout(() => process.exit(1), closeMs + 10_000).unref();
  // Customers who wait get 202, so that their connections can be closed.
  stopping.abort();
  await app.close();
  // A payment in flight gets its response, or is looked for by the next process; nobody has to wait for a lease to expire.
  await flow.close({ timeoutMs: closeMs });
  await working;
  await client.close();
  await journal.close();
}

await app.listen({ host: "127.0.0.1", port: Number(setting("PORT", "0")) });
const working = flow.work({ signal: stopping.signal });

process.once("SIGTERM", () => {
  shutDown().catch((error: unknown) => {
    app.log.error({ err: error }, "the end was not orderly");
    process.exitCode = 1;
  });
});
