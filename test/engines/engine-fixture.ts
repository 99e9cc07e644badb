import { CrossBorderClient } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { FaultyService, type ServiceOptions } from "../crash/service.js";
import { WorkerProcess } from "../crash/worker-process.js";
import { createDatabase, dropDatabase } from "../support/database.js";
import { type BundledWorker, bundleWorker } from "./bundle-worker.js";
import type { EngineName, EngineReport, EngineWorkerSettings } from "./engine-messages.js";
import { Ledger } from "./ledger.js";

export interface EngineFixtureOptions extends ServiceOptions {
  readonly engine: EngineName;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  readonly slowTakeMs: number;
}

/** What the workers need: a service, and a database for the journal, the ledger and the engine. */
export class EngineFixture implements AsyncDisposable {
  readonly service: FaultyService;
  readonly ledger: Ledger;
  readonly databaseUrl: string;
  readonly #options: EngineFixtureOptions;
  readonly #script: BundledWorker;

  private constructor(
    options: EngineFixtureOptions,
    service: FaultyService,
    script: BundledWorker,
    databaseUrl: string,
  ) {
    this.#options = options;
    this.service = service;
    this.#script = script;
    this.databaseUrl = databaseUrl;
    this.ledger = new Ledger(databaseUrl);
  }

  static async open(options: EngineFixtureOptions): Promise<EngineFixture> {
    const url = await createDatabase("engines", options.postgresUrl);
    const fixture = new EngineFixture(options, await FaultyService.start(options), await bundleWorker(), url);
    await fixture.ledger.create();
    return fixture;
  }

  newWorker(executorId: string, onReport: (report: EngineReport) => void): WorkerProcess {
    const { engine, redisUrl, leaseMs, readBackDelayMs, slowTakeMs } = this.#options;
    const { baseUrl, accessToken, signingKey } = this.service;
    const { databaseUrl } = this;
    const settings: EngineWorkerSettings = {
      journal: { kind: "postgres", place: databaseUrl },
      baseUrl,
      accessToken,
      signingKey,
      // The ledger is in the database.
      bankUrl: "",
      leaseMs,
      readBackDelayMs,
      engine,
      databaseUrl,
      redisUrl,
      executorId,
      slowTakeMs,
    };
    return new WorkerProcess({ node: process.execPath, script: this.#script.path, settings, onReport });
  }

  /** Reads with a flow that can neither take money nor send anything. */
  async audit<T>(read: (flow: PaymentFlow) => Promise<T>): Promise<T> {
    const { baseUrl, signingKey } = this.service;
    const forbidden = async (): Promise<never> => {
      throw new Error("all flows have an outcome, and this one has not");
    };
    await using client = new CrossBorderClient({
      baseUrl,
      signingKey,
      auth: { accessToken: forbidden },
      timeoutMs: 5_000,
    });
    const journal = await PostgresJournal.open(this.databaseUrl);
    try {
      return await read(new PaymentFlow({ client, journal, takeFunds: forbidden, releaseFunds: forbidden }));
    } finally {
      await journal.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.ledger, this.service, this.#script].map((part) => part[Symbol.asyncDispose]()));
    await dropDatabase(this.databaseUrl, this.#options.postgresUrl);
  }
}
