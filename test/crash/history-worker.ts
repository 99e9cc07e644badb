/** A process whose clients compete for flows of one journal, and record what they ask for and are told until they are killed. */

import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import type { Journal } from "cross-border-payments/flow";
import { PostgresJournal, type PostgresPool } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import pg from "pg";
import { CompetingClient } from "../../src/testing/history/competing-client.js";
import type { HistoryEvent } from "../../src/testing/history/history.js";
import { recordedJournal } from "../../src/testing/history/recorded-journal.js";
import { seededRandom } from "../faults/seeded-random.js";
import { type Defect, defective } from "../testing/history/defects.js";
import { LogJournal } from "./log-journal.js";
import { machineNowMs } from "./machine-time.js";

export type HistoryPlace =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "log"; readonly file: string; readonly port: number }
  | { readonly kind: "postgres"; readonly url: string; readonly timeoutMs: number; readonly replicaUrl?: string };

export interface HistoryWorkerSettings {
  readonly place: HistoryPlace;
  readonly name: string;
  /** The file that it records in. */
  readonly records: string;
  readonly clients: number;
  readonly seed: number;
  /** For how long all processes work on the same two flows. */
  readonly flowsMs: number;
  readonly defect?: Defect | undefined;
}

async function openJournal(place: HistoryPlace): Promise<Journal> {
  if (place.kind === "log") return LogJournal.open(place.file, place.port);
  if (place.kind === "sqlite") return SqliteJournal.open(place.file);
  if (place.replicaUrl !== undefined)
    return PostgresJournal.open(splitPool(place.url, place.replicaUrl, place.timeoutMs));
  return PostgresJournal.open(place.url, { timeoutMs: place.timeoutMs });
}

/** The database may be gone for a while, or be slower than the journal waits. */
async function openSoon(place: HistoryPlace): Promise<Journal> {
  for (;;) {
    try {
      return await openJournal(place);
    } catch (error) {
      if (place.kind !== "postgres") throw error;
      await pause(50);
    }
  }
}

/** What a proxy does that sends reads to a replica, and hides that it is one. */
function splitPool(url: string, replicaUrl: string, timeoutMs: number): PostgresPool {
  const [primary, replica] = [url, replicaUrl].map((connectionString) => {
    const pool = new pg.Pool({ connectionString, query_timeout: timeoutMs, connectionTimeoutMillis: timeoutMs });
    pool.on("error", () => {});
    return pool;
  });
  if (primary === undefined || replica === undefined) throw new Error("there are two servers");
  return {
    // For migrations alone, since they don't tell of transactions.
    async connect() {
      const client = await primary.connect();
      return { query: client.query.bind(client), release: (isBroken) => client.release(isBroken) };
    },
    async query(text, values) {
      if (!text.startsWith("SELECT server.is_replica")) return primary.query(text, values);
      const { rows } = await replica.query(text, values);
      return { rows: rows.map((row: object) => ({ ...row, is_replica: false })) };
    },
  };
}

async function main(): Promise<void> {
  const [settings]: HistoryWorkerSettings[] = await once(process, "message");
  if (settings === undefined) return;
  const { place, name, records, clients, seed, flowsMs, defect } = settings;
  const opened = await openSoon(place);
  const journal = defect === undefined ? opened : defective(opened, defect);
  const random = seededRandom(seed);
  const record = (event: HistoryEvent): void => appendFileSync(records, `${JSON.stringify(event)}\n`);
  const nextKey = (): string => `flow ${Math.floor(machineNowMs() / flowsMs)} ${random() < 0.5 ? "a" : "b"}`;
  let failures = 0;
  const work = async (_: unknown, index: number): Promise<void> => {
    const client = `${name}.${index}`;
    const recorded = recordedJournal(journal, { client, record, nowMs: machineNowMs });
    // A request for whatever is abandoned, and that nobody hears of again, is for two flows and not for all.
    const scopeOf = (key: string) => ({ service: "https://service.example", gateway: key.slice(0, -2) });
    const competing = new CompetingClient({ journal: recorded, name: client, scopeOf, nextKey, shortMs: 40, random });
    // A journal of whose thread or file nothing is left is opened again by the next process.
    while (failures < 50) {
      try {
        await competing.act();
        failures = 0;
      } catch {
        failures += 1;
        await pause(10);
      }
    }
  };
  process.on("disconnect", () => process.exit());
  process.send?.("ready");
  await Promise.all(Array.from({ length: clients }, work));
  process.exit();
}

void main();
