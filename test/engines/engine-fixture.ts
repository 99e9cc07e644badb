import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { type ServiceOptions, startService } from "../crash/service.js";
import { WorkerProcess } from "../crash/worker-process.js";
import { compilePrograms } from "../support/build-programs.js";
import { createDatabase, dropDatabase } from "../support/database.js";
import type { EngineName, EngineReport, EngineWorkerSettings } from "./engine-messages.js";
import { Ledger } from "./ledger.js";

export interface EngineFixtureOptions extends ServiceOptions {
  readonly engine: EngineName;
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

export type NewWorker = (executorId: string, onReport: (report: EngineReport) => void) => WorkerProcess;

/** What the workers need: a service, and a database for the journal, the ledger and the engine. */
export async function openFixture(options: EngineFixtureOptions) {
  const { engine, redisUrl } = options;
  const databaseUrl = await createDatabase("engines", options.postgresUrl);
  // Below the project, so that Node finds the packages, which are not in the file.
  const folder = mkdtempSync(join("test", "built-programs-"));
  await compilePrograms(["test/engines/engine-worker.ts"], folder);
  const service = await startService(options);
  const { baseUrl, accessToken, signingKey } = service;
  const ledger = new Ledger(databaseUrl);
  await ledger.create();
  const settings = {
    journal: { kind: "postgres", place: databaseUrl } as const,
    ...{ baseUrl, accessToken, signingKey, engine, databaseUrl, redisUrl },
    // The ledger is in the database.
    bankUrl: "",
    ...{ leaseMs: 1_000, readBackDelayMs: 120, slowTakeMs: 60 },
  };
  const start = { node: process.execPath, script: join(folder, "test/engines/engine-worker.js") };
  const newWorker: NewWorker = (executorId, onReport) =>
    new WorkerProcess({ ...start, settings: { ...settings, executorId } as EngineWorkerSettings, onReport });
  return {
    ...{ service, ledger, databaseUrl, newWorker },
    /** Reads with a flow that can neither take money nor send anything. */
    async audit<T>(read: (flow: PaymentFlow) => Promise<T>): Promise<T> {
      const forbidden = async (): Promise<never> => {
        throw new Error("all flows have an outcome, and this one has not");
      };
      const auth = { accessToken: forbidden };
      await using client = new CrossBorderClient({ baseUrl, signingKey, auth, timeoutMs: 5_000 });
      const journal = await PostgresJournal.open(databaseUrl);
      try {
        return await read(new PaymentFlow({ client, journal, takeFunds: forbidden, releaseFunds: forbidden }));
      } finally {
        await journal.close();
      }
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([ledger, service].map((part) => part[Symbol.asyncDispose]()));
      rmSync(folder, { recursive: true });
      await dropDatabase(databaseUrl, options.postgresUrl);
    },
  };
}
