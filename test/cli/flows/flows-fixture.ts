import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient, type PaymentIntentRequest } from "cross-border-payments";
import { type Journal, PaymentFlow, type PaymentFlowOptions } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { type Sandbox, startSandbox } from "cross-border-payments/sandbox";
import pg from "pg";
import { Bank } from "../../flows/flow-fixture.js";
import { nodeSqlite, openHandle } from "../../journals/sqlite-fixture.js";
import { signingKeysOf } from "../../support/key-pairs.js";
import { stretched } from "../../support/patience.js";
import { settingsOf } from "../gateway-fixture.js";
import { run } from "../run.js";

export const postgresUrl = process.env.CBP_POSTGRES_URL ?? "";

export type JournalKind = "SQLite" | "PostgreSQL";

/** What can be tested here, and what not. */
export const journalKinds: readonly { readonly kind: JournalKind; readonly isHere: boolean }[] = [
  { kind: "SQLite", isHere: nodeSqlite !== undefined },
  { kind: "PostgreSQL", isHere: postgresUrl !== "" },
];

/** A bank's program over a journal, its service, and the command over the same journal. */
export interface FlowsFixture extends AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly journal: Journal;
  readonly bank: Bank;
  readonly flow: PaymentFlow;
  /** What becomes of payments that are sent. `lost`: their requests. */
  fate: "made" | "lost" | "made, response lost";
  /** Whether made payments are not listed. */
  isHidden: boolean;
  /** Lists wait for it. */
  listed: Promise<void> | undefined;
  /** Another process of the program. */
  newFlow(options?: Partial<PaymentFlowOptions>): PaymentFlow;
  /** The command line, with the journal and the settings. */
  run(
    line: readonly string[],
    more?: { readonly width?: number; readonly stdin?: string; readonly env?: object },
  ): ReturnType<typeof run>;
  /** The same, for a process of its own. */
  line(line: readonly string[]): readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** What is in the table of the database. */
  rows(): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

export const request: PaymentIntentRequest = {
  ...{ senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-0001" },
  ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-7002", receiverCurrency: "EUR" },
  ...{ receiverAmount: "150.00", memo: "school fees" },
};

export async function openFlowsFixture(
  kind: JournalKind,
  folder: string,
  more: Partial<PaymentFlowOptions> = {},
): Promise<FlowsFixture> {
  const { privateKey: signingKey, publicKeyBase64: rsaPublicKeyBase64 } = signingKeysOf("gateway");
  const server = await startSandbox({
    onRequest: async ({ operation }) => {
      if (operation === "payments.list") await fixture.listed;
      return operation === "payments.create" && fixture.fate === "lost" ? Response.error() : undefined;
    },
    onResponse: ({ operation }) => {
      if (operation === "payments.create" && fixture.fate === "made, response lost") return Response.error();
      return operation === "payments.list" && fixture.isHidden ? Response.json([]) : undefined;
    },
  });
  const client = new CrossBorderClient({ ...server.clientOptions, signingKey, maxRetries: 0 });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64 });
  }
  const place = kind === "SQLite" ? await openSqlite(folder) : await openPostgres();
  const bank = new Bank();
  const newFlow = (options?: Partial<PaymentFlowOptions>) =>
    new PaymentFlow({
      ...{ client, journal: place.journal, gatewayId: "alpha-bank", leaseMs: stretched(300), readBackDelayMs: 10 },
      ...{ takeFunds: bank.takeFunds, releaseFunds: bank.releaseFunds },
      ...more,
      ...options,
    });
  const config = join(folder, `${randomBytes(6).toString("hex")}.json`);
  writeFileSync(config, JSON.stringify({ ...settingsOf(server), gatewayId: "alpha-bank" }));
  const env = { CROSS_BORDER_CONFIG: config, ...place.env };
  const fixture: FlowsFixture = {
    ...{ sandbox: server.sandbox, journal: place.journal, bank, flow: newFlow(), newFlow, rows: place.rows },
    fate: "made",
    isHidden: false,
    listed: undefined,
    env,
    line: (line) => [...line, ...place.line],
    run: (line, { width, stdin, env: moreEnv } = {}) =>
      run([...line, ...place.line], { env: { ...env, ...moreEnv }, ...(width && { width }), ...(stdin && { stdin }) }),
    async [Symbol.asyncDispose]() {
      await client.close();
      await place.close();
      await server.close();
    },
  };
  return fixture;
}

interface Place extends Pick<FlowsFixture, "journal" | "rows"> {
  readonly env: Record<string, string>;
  readonly line: readonly string[];
  close(): Promise<void>;
}

async function openSqlite(folder: string): Promise<Place> {
  const path = join(folder, `${randomBytes(6).toString("hex")}.db`);
  const journal = await SqliteJournal.open(path);
  return {
    journal,
    env: {},
    line: ["--journal", path],
    rows: async () => openHandle(path).prepare("SELECT * FROM flows ORDER BY key").all() as Record<string, unknown>[],
    close: () => journal.close(),
  };
}

async function openPostgres(): Promise<Place> {
  const schema = `flows_${randomBytes(6).toString("hex")}`;
  const journal = await PostgresJournal.open(postgresUrl, { schema });
  const pool = new pg.Pool({ connectionString: postgresUrl, max: 1 });
  return {
    journal,
    env: { CROSS_BORDER_JOURNAL: postgresUrl },
    line: ["--schema", schema],
    rows: async () => (await pool.query(`SELECT * FROM ${schema}.cross_border_flows ORDER BY key`)).rows,
    async close() {
      await journal.close();
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
}
