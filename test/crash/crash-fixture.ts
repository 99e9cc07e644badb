import { Bank, type BankOptions } from "./bank.js";
import { type BuiltWorker, buildWorker } from "./build-worker.js";
import {
  type DatabaseChoice,
  type JournalChoice,
  type OpenedPlace,
  type OwnDatabase,
  openPlace,
} from "./journal-place.js";
import { FaultyService, type ServiceOptions } from "./service.js";
import type { JournalPlace, Outcome, Report, WorkerSettings } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

export interface CrashFixtureOptions extends JournalChoice, ServiceOptions {
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  readonly bank: BankOptions;
  /** Over PostgreSQL, what is done to the server: it is one of the fixture's own then. */
  readonly database?: DatabaseChoice;
}

/** What the workers need: a journal, a service and a bank, with the records of the last two. */
export class CrashFixture implements AsyncDisposable {
  /** Every outcome that a worker reported. */
  readonly told: Outcome[] = [];
  readonly service: FaultyService;
  readonly bank: Bank;
  readonly #options: CrashFixtureOptions;
  readonly #place: OpenedPlace;
  readonly #script: BuiltWorker;

  private constructor(
    options: CrashFixtureOptions,
    place: OpenedPlace,
    script: BuiltWorker,
    service: FaultyService,
    bank: Bank,
  ) {
    this.#options = options;
    this.#place = place;
    this.#script = script;
    this.service = service;
    this.bank = bank;
  }

  static async open(options: CrashFixtureOptions): Promise<CrashFixture> {
    const script = await buildWorker();
    const place = await openPlace(options, options.database);
    return new CrashFixture(options, place, script, await FaultyService.start(options), await Bank.start(options.bank));
  }

  /** Where the fixture has one of its own. */
  get database(): OwnDatabase | undefined {
    return this.#place.database;
  }

  /** Starts a process. */
  newWorker(more: Pick<WorkerSettings, "diskFaults"> = {}, onReport?: (report: Report) => void): WorkerProcess {
    const { leaseMs, readBackDelayMs } = this.#options;
    const { baseUrl, accessToken, signingKey } = this.service;
    const service = { baseUrl, accessToken, signingKey, bankUrl: this.bank.url };
    const journal = named(this.#place.journal);
    const settings: WorkerSettings = { journal, ...service, leaseMs, readBackDelayMs, ...more };
    return new WorkerProcess({
      node: this.#place.node,
      script: this.#script.path,
      settings,
      onReport: (report) => {
        if (report.type === "settled") this.told.push(report.outcome);
        onReport?.(report);
      },
    });
  }

  /** What the journal says of each key, read in a new process. */
  async audit(keys: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
    await using auditor = await this.newWorker().ready();
    return await auditor.audit(this.#place.journal, keys);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.bank, this.service, this.#script].map((part) => part[Symbol.asyncDispose]()));
    await this.#place[Symbol.asyncDispose]();
  }
}

/** What the database's server knows a worker's connections by. */
function named(journal: JournalPlace): JournalPlace {
  if (journal.kind === "sqlite") return journal;
  const url = new URL(journal.place);
  url.searchParams.set("application_name", "worker");
  return { ...journal, place: url.href };
}
