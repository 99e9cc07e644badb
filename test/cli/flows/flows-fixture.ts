import { randomBytes } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PaymentFlow, type PaymentFlowOptions } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { startSandbox } from "cross-border-payments/sandbox";
import { expect } from "vitest";
import { Bank } from "../../flows/flow-fixture.js";
import { nodeSqlite } from "../../journals/sqlite-fixture.js";
import { postgresUrl, sql } from "../../support/database.js";
import { settingsOf } from "../../support/environment.js";
import { stretched } from "../../support/patience.js";
import { registeredClient, requestOf } from "../gateway-fixture.js";
import { run } from "../run.js";

/** What can be tested here, and what not. */
export const journalKinds = [
  { kind: "SQLite", isHere: nodeSqlite !== undefined },
  { kind: "PostgreSQL", isHere: postgresUrl !== "" },
];

export const request = requestOf("150.00", "school fees");

export type FlowsFixture = Awaited<ReturnType<typeof openFlowsFixture>>;

/** A bank's program over a journal, its service, and the command over the same journal. */
export async function openFlowsFixture(kind: string) {
  /** What becomes of payments that are sent, whether lists hide them, and what lists wait for. */
  const service: { fate: "made" | "lost" | "made, response lost"; isHidden: boolean; listed?: Promise<void> } = {
    fate: "made",
    isHidden: false,
  };
  const server = await startSandbox({
    onRequest: async ({ operation }) => {
      if (operation === "payments.list") await service.listed;
      return operation === "payments.create" && service.fate === "lost" ? Response.error() : undefined;
    },
    onResponse: ({ operation }) => {
      if (operation === "payments.create" && service.fate === "made, response lost") return Response.error();
      return operation === "payments.list" && service.isHidden ? Response.json([]) : undefined;
    },
  });
  const registered = await registeredClient(server);
  const client = registered.withOptions({ maxRetries: 0 });
  const folder = mkdtempSync(join(tmpdir(), "flows-"));
  const { journal, drop, ...place } = await (kind === "SQLite" ? openSqlite(folder) : openPostgres());
  const bank = new Bank();
  /** A process of the program. */
  const newFlow = (options?: Partial<PaymentFlowOptions>) =>
    new PaymentFlow({
      ...{ client, journal, gatewayId: "alpha-bank", leaseMs: stretched(300), readBackDelayMs: 10 },
      ...{ takeFunds: bank.takeFunds, releaseFunds: bank.releaseFunds },
      ...options,
    });
  const config = join(folder, "settings.json");
  writeFileSync(config, JSON.stringify({ ...settingsOf(server.clientOptions), gatewayId: "alpha-bank" }));
  const env: Readonly<Record<string, string>> = { CROSS_BORDER_CONFIG: config, ...place.env };
  const flow = newFlow();
  const line = (words: readonly string[]) => ["flows", ...words, ...place.line];
  return {
    ...{ sandbox: server.sandbox, journal, bank, flow, newFlow, service, folder, env },
    /** The command line, with the journal. */
    line,
    run: (words: readonly string[], options: { width?: number; stdin?: string; env?: object } = {}) =>
      run(line(words), { ...options, env: { ...env, ...options.env } }),
    /** A flow whose request was lost, or whose payment was made and not listed: the program can't tell which. */
    async hold(key: string, isMade = false): Promise<void> {
      Object.assign(service, { fate: isMade ? "made, response lost" : "lost", isHidden: isMade });
      expect(await flow.run(key, request)).toMatchObject({ status: "held" });
      Object.assign(service, { fate: "made", isHidden: false });
    },
    async [Symbol.asyncDispose]() {
      await registered.close();
      await journal.close();
      await drop();
      await server.close();
    },
  };
}

async function openSqlite(folder: string) {
  const path = join(folder, "payments.db");
  const journal = await SqliteJournal.open(path);
  return { journal, env: {}, line: ["--journal", path], drop: async () => {} };
}

async function openPostgres() {
  const schema = `flows_${randomBytes(6).toString("hex")}`;
  const journal = await PostgresJournal.open(postgresUrl, { schema });
  return {
    journal,
    env: { CROSS_BORDER_JOURNAL: postgresUrl },
    line: ["--schema", schema],
    drop: () => sql(`DROP SCHEMA ${schema} CASCADE`),
  };
}
