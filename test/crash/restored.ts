/**
 * A journal is restored to before the payments: a SQLite file that was copied without its `-wal`, a PostgreSQL table from its copy. Then
 * every flow is run again:
 *
 *     npx tsx test/crash/restored.ts --flows 20 --journal sqlite
 */
import { copyFile, rename, rm } from "node:fs/promises";
import pg from "pg";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, sayAll, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { JournalPlace, Outcome, Task } from "./worker-messages.js";

export interface RestoredOptions extends JournalChoice {
  /** Of each beginning. */
  readonly flows: number;
  readonly leaseMs: number;
}

export interface RestoredResult extends Verdict {
  /** Outcomes that the restored journal had forgotten. */
  readonly forgotten: number;
  /** How the flows of each beginning ended at last. */
  readonly ends: ReadonlyMap<Beginning, ReadonlySet<Outcome["status"]>>;
}

/** How far a flow had got when the journal was copied. Afterwards it is paid, or refused and its money given back. */
const beginnings = {
  absent: "was not there yet",
  quoted: "was quoted",
  asked: "had asked for the money, and the bank had not taken it",
  taken: "had asked for the money, and the bank's response was lost",
  refused: "had asked for the money; the payment is refused, and the money given back",
};
type Beginning = keyof typeof beginnings;

export async function runRestored(options: RestoredOptions): Promise<RestoredResult> {
  const names = Object.keys(beginnings) as Beginning[];
  const beginningOf = new Map<string, Beginning>(
    names.flatMap((name) => Array.from({ length: options.flows }, (_, index) => [`${name} ${index}`, name] as const)),
  );
  const keys = [...beginningOf.keys()];
  let isBankFailing = true;
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    fault: (operation, key) =>
      operation === "payments.create" && beginningOf.get(key) === "refused" ? "refuse" : "none",
    bank: {
      ignoresIntents: true,
      declines: () => false,
      fault(key) {
        if (!isBankFailing) return "none";
        return beginningOf.get(key) === "asked" ? "unavailable" : "lost";
      },
    },
  });

  const begun = keys.filter((key) => beginningOf.get(key) !== "absent");
  await closeAfter(
    fixture,
    begun.map((key) => ({ key, way: beginningOf.get(key) === "quoted" ? "quote" : "run" })),
  );
  isBankFailing = false;
  const place = fixture.journal();
  const backup = place.kind === "postgres" ? await copyTable(place) : undefined;

  const tasks = keys.map((key): Task => ({ key, way: beginningOf.get(key) === "quoted" ? "quote-confirm" : "run" }));
  await killAfter(fixture, tasks);
  if (backup === undefined) await loseLog(place.place);
  else await backup.restore();

  const forgotten = (await fixture.audit([keys])).filter((outcome) => outcome === undefined).length;
  // What was told of a lost flow was true; what is told of the one that follows may be less: that it is held.
  fixture.told.length = 0;
  await killAfter(fixture, tasks);
  const ends = new Map(names.map((name) => [name, new Set<Outcome["status"]>()]));
  for (const { key, status } of fixture.told) ends.get(beginningOf.get(key) ?? "absent")?.add(status);
  return { ...(await fixture.judge(keys)), forgotten, ends };
}

/** Tries each task once, and ends in order, so that SQLite moves everything from its log to the file. */
async function closeAfter(fixture: CrashFixture, tasks: readonly Task[]): Promise<void> {
  await using worker = await fixture.newWorker().ready();
  const open = new Set(tasks.map(({ key }) => key));
  const allTried = worker.until((report) => {
    if (report.type === "stumbled" || report.type === "quoted") open.delete(report.key);
    return open.size === 0 ? true : undefined;
  });
  worker.send({ type: "do", tasks, once: true });
  await allTried;
  worker.send({ type: "close" });
  await worker.ended;
}

/** Does each task until it has an outcome, and is killed then, so that SQLite's log stays behind. */
async function killAfter(fixture: CrashFixture, tasks: readonly Task[]): Promise<void> {
  await using worker = await fixture.newWorker().ready();
  const open = new Set(tasks.map(({ key }) => key));
  const allSettled = worker.until((report) => {
    if (report.type === "settled") open.delete(report.outcome.key);
    return open.size === 0 ? true : undefined;
  });
  worker.send({ type: "do", tasks });
  await allSettled;
}

/** What is left when the file alone was copied: everything that is still in the log is missing. */
async function loseLog(file: string): Promise<void> {
  const copy = `${file}.copy`;
  await copyFile(file, copy);
  await rm(`${file}-wal`, { force: true });
  await rm(`${file}-shm`, { force: true });
  await rename(copy, file);
}

async function copyTable({ place, schema = "public" }: JournalPlace): Promise<{ restore(): Promise<void> }> {
  const table = `"${schema}"."cross_border_flows"`;
  const run = async (sql: string): Promise<readonly { readonly name: string }[]> => {
    const client = new pg.Client({ connectionString: place });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  // All but those that PostgreSQL generates.
  const named = await run(`SELECT quote_ident(column_name) AS name FROM information_schema.columns
    WHERE table_schema = '${schema}' AND table_name = 'cross_border_flows' AND is_generated = 'NEVER'`);
  const columns = named.map(({ name }) => name).join(", ");
  await run(`CREATE TABLE "${schema}"."backup" AS SELECT * FROM ${table}`);
  return {
    async restore() {
      await run(`TRUNCATE ${table}; INSERT INTO ${table} (${columns}) SELECT ${columns} FROM "${schema}"."backup"`);
    },
  };
}

export function describeRestored(result: RestoredResult): string {
  const ends = [...result.ends].map(([name, statuses]) => `${name}: ${[...statuses].join(" or ")}`);
  return `restored: forgotten ${result.forgotten}, ${describeLaws(result)}; ${ends.join(", ")}`;
}

async function main(): Promise<number> {
  const options = scriptOptions({ flows: 20, lease: 1000 });
  say(`journal ${options.kind}`);
  const result = await runRestored({ ...options, leaseMs: options.lease });
  return sayAll(result, describeRestored(result));
}

if (isScript(import.meta.url)) process.exitCode = await main();
