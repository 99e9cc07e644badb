import { Bank, type BankOptions } from "./bank.js";
import { type BuiltWorker, buildWorker } from "./build-worker.js";
import {
  type DatabaseChoice,
  type JournalChoice,
  type OpenedPlace,
  type OwnDatabase,
  openPlace,
} from "./journal-place.js";
import { judge, type Verdict } from "./laws.js";
import type { MachineClock } from "./machine-clock.js";
import { FaultyService, type ServiceOptions } from "./service.js";
import type { StoredState } from "./stored-states.js";
import type { JournalPlace, Outcome, Report, WorkerSettings } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

export interface CrashFixtureOptions extends JournalChoice, ServiceOptions {
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  readonly bank: BankOptions;
  /** Where several fixtures share one. Default: one of its own. */
  readonly script?: BuiltWorker;
  /** Over PostgreSQL, what is done to the server: it is one of the fixture's own then. */
  readonly database?: DatabaseChoice;
  /** The workers' wall clock. Default: the real one. */
  readonly clock?: MachineClock | undefined;
}

export interface WorkerOptions
  extends Pick<WorkerSettings, "troubles" | "diskFaults" | "quoteTtlMs" | "listedWithinMs" | "record"> {
  /** Each lane has a journal of its own. Default: the first. */
  readonly lane?: number;
  /** Default: the fixture's. */
  readonly script?: BuiltWorker;
  /** What the database's server knows its connections by. */
  readonly name?: string;
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
    const script = options.script ?? (await buildWorker());
    const place = await openPlace(options, options.database);
    return new CrashFixture(options, place, script, await FaultyService.start(options), await Bank.start(options.bank));
  }

  journal(lane = 0): JournalPlace {
    return this.#place.journal(lane);
  }

  /** Where the fixture has one of its own. */
  get database(): OwnDatabase | undefined {
    return this.#place.database;
  }

  /** Starts a process. */
  newWorker(
    { lane = 0, script = this.#script, name = "worker", ...extras }: WorkerOptions = {},
    onReport: (report: Report) => void = () => {},
  ): WorkerProcess {
    const { leaseMs, readBackDelayMs, clock } = this.#options;
    const { baseUrl, accessToken, signingKey } = this.service;
    const service = { baseUrl, accessToken, signingKey, bankUrl: this.bank.url };
    const journal = named(this.journal(lane), name);
    const settings: WorkerSettings = { journal, ...service, leaseMs, readBackDelayMs, ...extras };
    return new WorkerProcess({
      node: this.#place.node,
      script: script.path,
      settings,
      environment: clock?.environment,
      onReport: (report) => {
        if (report.type === "settled") this.told.push(report.outcome);
        onReport(report);
      },
    });
  }

  /** What the journals say of each key, read in a new process. */
  async audit(lanes: readonly (readonly string[])[]): Promise<readonly (Outcome | undefined)[]> {
    await using auditor = await this.newWorker().ready();
    const outcomes: (Outcome | undefined)[] = [];
    for (const [lane, keys] of lanes.entries()) outcomes.push(...(await auditor.audit(this.journal(lane), keys)));
    return outcomes;
  }

  /** Every state that the rows of the first journal had, read in a new process, where the workers kept them. */
  async storedStates(): Promise<readonly StoredState[]> {
    await using reader = await this.newWorker().ready();
    return await reader.listStates(this.journal());
  }

  /** Reads every outcome in a new process, and compares them with the records of the service and the bank. */
  async judge(...lanes: readonly (readonly string[])[]): Promise<Verdict> {
    const outcomes = await this.audit(lanes);
    const { told, service, bank } = this;
    const verdict = judge({ keys: lanes.flat(), outcomes, told, payments: service.payments, bank: bank.entries });
    return { ...verdict, violations: [...verdict.violations, ...bank.violations] };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const own = this.#options.script === undefined ? [this.#script] : [];
    await Promise.all([this.bank, this.service, ...own].map((part) => part[Symbol.asyncDispose]()));
    await this.#place[Symbol.asyncDispose]();
  }
}

function named(journal: JournalPlace, name: string): JournalPlace {
  if (journal.kind === "sqlite") return journal;
  const url = new URL(journal.place);
  url.searchParams.set("application_name", name);
  return { ...journal, place: url.href };
}
