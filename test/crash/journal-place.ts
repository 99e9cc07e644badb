import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeWithSqlite } from "./node-with-sqlite.js";
import { PostgresProxy } from "./postgres-proxy.js";
import { PostgresServer } from "./postgres-server.js";
import type { JournalPlace } from "./worker-messages.js";

export interface JournalChoice {
  readonly kind: JournalPlace["kind"];
  /** The Node for the workers. */
  readonly node?: string | undefined;
}

/** What a test does to a database. */
export interface DatabaseChoice {
  /** How long a worker waits for a statement. */
  readonly timeoutMs?: number;
}

/** A PostgreSQL server that belongs to the test, and the network before it. */
export interface OwnDatabase {
  readonly server: PostgresServer;
  readonly proxy: PostgresProxy;
}

/** An empty journal, and the Node whose processes can open it. */
export interface OpenedPlace extends AsyncDisposable {
  readonly journal: JournalPlace;
  readonly node: string;
  /** Where the test asked for one of its own, over PostgreSQL. */
  readonly database?: OwnDatabase;
}

/** @param own what is done to the database, for which it has to be the test's own. */
export async function openPlace(
  { kind, node }: JournalChoice,
  own: DatabaseChoice | undefined = undefined,
): Promise<OpenedPlace> {
  if (kind === "sqlite") return openFolder(nodeWithSqlite(node));
  const url = process.env.CBP_POSTGRES_URL;
  if (own === undefined && url !== undefined) {
    return { journal: journalAt(url), node: node ?? process.execPath, async [Symbol.asyncDispose]() {} };
  }
  return openDatabase(node ?? process.execPath, own ?? {});
}

async function openFolder(node: string): Promise<OpenedPlace> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-journal-"));
  return {
    journal: { kind: "sqlite", place: join(folder, "flows.db") },
    node,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

async function openDatabase(node: string, { timeoutMs }: DatabaseChoice): Promise<OpenedPlace> {
  const server = await PostgresServer.start();
  const proxy = await PostgresProxy.start(server.url);
  return {
    journal: journalAt(proxy.url, timeoutMs),
    node,
    database: { server, proxy },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    },
  };
}

function journalAt(place: string, timeoutMs?: number): JournalPlace {
  const schema = `crash_${randomUUID().slice(0, 8)}`;
  return { kind: "postgres", place, schema, ...(timeoutMs !== undefined && { timeoutMs }) };
}
