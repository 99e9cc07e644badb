import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodeWithSqlite } from "./node-with-sqlite.js";
import { PostgresServer } from "./postgres-server.js";
import type { JournalPlace } from "./worker-messages.js";

export interface JournalChoice {
  readonly kind: JournalPlace["kind"];
  /** The Node for the workers. */
  readonly node?: string | undefined;
}

/** An empty journal, and the Node whose processes can open it. */
export interface OpenedPlace extends AsyncDisposable {
  readonly journal: JournalPlace;
  readonly node: string;
  /** Where the test asked for one of its own, over PostgreSQL. */
  readonly server?: PostgresServer;
}

/** @param timeoutMs how long a worker waits for a statement of a server that is the test's own. */
export async function openPlace({ kind, node }: JournalChoice, timeoutMs: number | undefined): Promise<OpenedPlace> {
  if (kind === "sqlite") {
    const folder = await mkdtemp(join(tmpdir(), "cbp-journal-"));
    return {
      journal: { kind, place: join(folder, "flows.db") },
      node: nodeWithSqlite(node),
      [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
    };
  }
  const own = { node: node ?? process.execPath };
  const schema = `crash_${randomUUID().slice(0, 8)}`;
  const url = process.env.CBP_POSTGRES_URL;
  if (timeoutMs === undefined && url !== undefined) {
    return { ...own, journal: { kind, place: url, schema }, async [Symbol.asyncDispose]() {} };
  }
  const server = await PostgresServer.start();
  return {
    ...own,
    journal: { kind, place: server.url, schema, ...(timeoutMs !== undefined && { timeoutMs }) },
    server,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
