import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { type FaultyService, type ServiceOptions, startService } from "../crash/service.js";
import { WorkerProcess } from "../crash/worker-process.js";
import { compilePrograms } from "../support/build-programs.js";
import { createDatabase, dropDatabase } from "../support/database.js";
import type { EngineName, EngineReport, EngineWorkerSettings } from "./engine-messages.js";
import { Ledger } from "./ledger.js";

const script = "test/engines/engine-worker.ts";

export interface EngineFixtureOptions extends ServiceOptions {
  readonly engine: EngineName;
  readonly postgresUrl: string;
  readonly redisUrl: string;
}

/** What the workers need: a service, and a database for the journal, the ledger and the engine. */
export class EngineFixture implements AsyncDisposable {
  readonly service: FaultyService;
  readonly ledger: Ledger;
  readonly databaseUrl: string;
  readonly #options: EngineFixtureOptions;
  /** Of the worker's compiled script. */
  readonly #folder: string;

  private constructor(options: EngineFixtureOptions, service: FaultyService, folder: string, databaseUrl: string) {
    this.#options = options;
    this.service = service;
    this.#folder = folder;
    this.databaseUrl = databaseUrl;
    this.ledger = new Ledger(databaseUrl);
  }

  static async open(options: EngineFixtureOptions): Promise<EngineFixture> {
    const url = await createDatabase("engines", options.postgresUrl);
    // Below the project, so that Node finds the packages, which are not in the file.
    const folder = mkdtempSync(join("test", "built-programs-"));
    await compilePrograms([script], folder);
    const fixture = new EngineFixture(options, await startService(options), folder, url);
    await fixture.ledger.create();
    return fixture;
  }

  newWorker(executorId: string, onReport: (report: EngineReport) => void): WorkerProcess {
    const { engine, redisUrl } = this.#options;
    const { baseUrl, accessToken, signingKey } = this.service;
    const { databaseUrl } = this;
    const settings: EngineWorkerSettings = {
      journal: { kind: "postgres", place: databaseUrl },
      ...{ baseUrl, accessToken, signingKey, engine, databaseUrl, redisUrl, executorId },
      // The ledger is in the database.
      bankUrl: "",
      ...{ leaseMs: 1_000, readBackDelayMs: 120, slowTakeMs: 60 },
    };
    const compiled = join(this.#folder, script.replace(/ts$/, "js"));
    return new WorkerProcess({ node: process.execPath, script: compiled, settings, onReport });
  }

  /** Reads with a flow that can neither take money nor send anything. */
  async audit<T>(read: (flow: PaymentFlow) => Promise<T>): Promise<T> {
    const { baseUrl, signingKey } = this.service;
    const forbidden = async (): Promise<never> => {
      throw new Error("all flows have an outcome, and this one has not");
    };
    const auth = { accessToken: forbidden };
    await using client = new CrossBorderClient({ baseUrl, signingKey, auth, timeoutMs: 5_000 });
    const journal = await PostgresJournal.open(this.databaseUrl);
    try {
      return await read(new PaymentFlow({ client, journal, takeFunds: forbidden, releaseFunds: forbidden }));
    } finally {
      await journal.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.ledger, this.service].map((part) => part[Symbol.asyncDispose]()));
    rmSync(this.#folder, { recursive: true });
    await dropDatabase(this.databaseUrl, this.#options.postgresUrl);
  }
}
