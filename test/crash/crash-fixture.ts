import { type BankOptions, startBank } from "./bank.js";
import { buildWorker } from "./build-worker.js";
import { type JournalChoice, openPlace } from "./journal-place.js";
import { type ServiceOptions, startService } from "./service.js";
import type { JournalPlace, Outcome, Report, WorkerSettings } from "./worker-messages.js";
import { WorkerProcess } from "./worker-process.js";

export interface CrashFixtureOptions extends JournalChoice, ServiceOptions {
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  readonly bank: BankOptions;
  /** Over PostgreSQL, if the server is to be the fixture's own: how long a worker waits for a statement. */
  readonly timeoutMs?: number | undefined;
}

export type CrashFixture = Awaited<ReturnType<typeof openCrashFixture>>;

/** What the workers need: a journal, a service and a bank, with the records of the last two. */
export async function openCrashFixture(options: CrashFixtureOptions) {
  const script = await buildWorker();
  const place = await openPlace(options, options.timeoutMs);
  const service = await startService(options);
  const bank = await startBank(options.bank);
  /** Every outcome that a worker reported. */
  const told: Outcome[] = [];

  /** Starts a process. */
  function newWorker(more: Pick<WorkerSettings, "diskFaults"> = {}, onReport?: (report: Report) => void) {
    const { leaseMs, readBackDelayMs } = options;
    const { baseUrl, accessToken, signingKey } = service;
    const own = { baseUrl, accessToken, signingKey, bankUrl: bank.url, leaseMs, readBackDelayMs };
    return new WorkerProcess({
      node: place.node,
      script: script.path,
      settings: { journal: named(place.journal), ...own, ...more },
      onReport: (report) => {
        if (report.type === "settled") told.push(report.outcome);
        onReport?.(report);
      },
    });
  }

  return {
    told,
    service,
    bank,
    server: place.server,
    newWorker,
    /** What the journal says of each key, read in a new process. */
    async audit(keys: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
      await using auditor = await newWorker().ready();
      return await auditor.audit(place.journal, keys);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await Promise.all([bank, service, script].map((part) => part[Symbol.asyncDispose]()));
      await place[Symbol.asyncDispose]();
    },
  };
}

/** What the database's server knows a worker's connections by. */
function named(journal: JournalPlace): JournalPlace {
  if (journal.kind === "sqlite") return journal;
  const url = new URL(journal.place);
  url.searchParams.set("application_name", "worker");
  return { ...journal, place: url.href };
}
