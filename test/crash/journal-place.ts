import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { nodeWithSqlite } from "./node-with-sqlite.js";
import type { JournalPlace } from "./worker-messages.js";

export interface JournalChoice {
  readonly kind: JournalPlace["kind"];
  /** The Node for the workers. */
  readonly node?: string | undefined;
}

/** Empty journals, as many as are asked for, and the Node whose processes can open them. */
export interface OpenedPlace extends AsyncDisposable {
  journal(lane: number): JournalPlace;
  readonly node: string;
}

export async function openPlace({ kind, node }: JournalChoice): Promise<OpenedPlace> {
  return kind === "sqlite" ? openFolder(nodeWithSqlite(node)) : openDatabase(node ?? process.execPath);
}

async function openFolder(node: string): Promise<OpenedPlace> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-journal-"));
  return {
    journal: (lane) => ({ kind: "sqlite", place: join(folder, `flows-${lane}.db`) }),
    node,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The server of `CBP_POSTGRES_URL`, or one that is started for this run. */
async function openDatabase(node: string): Promise<OpenedPlace> {
  const run = `crash_${randomUUID().slice(0, 8)}`;
  const journalAt = (place: string) => (lane: number) =>
    ({ kind: "postgres", place, schema: `${run}_${lane}` }) as const;
  const url = process.env.CBP_POSTGRES_URL;
  if (url !== undefined) return { journal: journalAt(url), node, async [Symbol.asyncDispose]() {} };
  // Directly under /tmp: the server's socket needs a short path.
  const folder = `/tmp/cbp-${run}`;
  const place = serverScript("start", folder).trim();
  return {
    journal: journalAt(place),
    node,
    async [Symbol.asyncDispose]() {
      serverScript("stop", folder);
    },
  };
}

function serverScript(action: "start" | "stop", folder: string): string {
  const script = fileURLToPath(new URL("../support/postgres.sh", import.meta.url));
  return execFileSync("bash", [script, action, folder], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
