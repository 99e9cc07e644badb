import { linkSync, writeFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import type { SqliteConnection } from "../../src/journals/sqlite-connection.js";
import { assertSqliteOptions, prepareDatabase, type SqliteJournalOptions } from "../../src/journals/sqlite-database.js";
import { newFile } from "../journals/sqlite-fixture.js";

const applicationId = 0x4342504a;
const busy = Object.assign(new Error("driver"), { errcode: 5 });

/** What each question gives, and what fails, each time that it is asked. */
interface File {
  readonly answers?: Readonly<Record<string, unknown>>;
  readonly failures?: Record<string, unknown[]>;
  /** Its path, which is empty in memory. */
  readonly path?: string;
}

/** Prepares a file that answers as given, and otherwise as a new one. */
async function prepare(options: SqliteJournalOptions = {}, { answers = {}, failures = {}, path = "" }: File = {}) {
  const asked: string[] = [];
  const ask = (sql: string) => {
    asked.push(sql.startsWith("CREATE TABLE") || sql.startsWith("DELETE") ? sql.slice(0, 6) : sql);
    if (failures[sql]?.length) throw failures[sql].shift();
  };
  const known: Readonly<Record<string, unknown>> = {
    "SELECT sqlite_version()": "3.51.3",
    "PRAGMA encoding": "UTF-8",
    "PRAGMA journal_mode = WAL": "wal",
    "PRAGMA user_version": 0,
    "PRAGMA application_id": 0,
    "SELECT count(*) FROM sqlite_schema": 0,
    ...answers,
  };
  const connection = {
    exec: async (sql: string) => ask(sql),
    all: async (sql: string) => {
      ask(sql);
      if (sql === "PRAGMA database_list") return [{ name: "temp", file: "/other" }, null, { name: "main", file: path }];
      return sql in known ? [{ value: known[sql], key: known[sql] }] : [];
    },
  };
  const prepared = await prepareDatabase(connection as unknown as SqliteConnection, assertSqliteOptions(options)).then(
    () => "prepared",
    (error: unknown) => error,
  );
  return { asked, prepared };
}

const ours = (version: number) => ({ "PRAGMA application_id": applicationId, "PRAGMA user_version": version });
const beforeTables = [
  ...["PRAGMA database_list", "SELECT sqlite_version()", "PRAGMA busy_timeout = 5000", "PRAGMA encoding"],
  ...["PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA fullfsync = ON"],
];
const version = ["PRAGMA user_version", "PRAGMA application_id"];
const open = "SELECT key FROM flows WHERE settled = 0 AND pruned_at_ms IS NULL ORDER BY key LIMIT 1";
const marked = `PRAGMA application_id = ${applicationId}; PRAGMA user_version = 4`;
const refused = (message: string) => ({
  name: "ConfigError",
  message: `SqliteJournal: this file can't be the journal: ${message}.`,
});

it("makes a new file durable, then its tables, in one transaction", async () => {
  const { asked, prepared } = await prepare();
  const made = ["BEGIN IMMEDIATE", ...version, "SELECT count(*) FROM sqlite_schema", "CREATE", marked, "COMMIT"];
  expect([prepared, asked]).toEqual(["prepared", [...beforeTables, ...made]]);
});

it("migrates a file of release 0.3.0, and leaves one of this release as it is", async () => {
  const old = await prepare({}, { answers: ours(3) });
  expect(old.asked.slice(7)).toEqual(["BEGIN IMMEDIATE", ...version, open, "DELETE", marked, "COMMIT"]);
  const own = await prepare({}, { answers: ours(4) });
  expect(own.asked.slice(7)).toEqual(["BEGIN IMMEDIATE", ...version, "COMMIT"]);
  const checked = await prepare({ migrate: false }, { answers: ours(4) });
  expect([checked.prepared, checked.asked]).toEqual(["prepared", [...beforeTables, ...version]]);
});

it("locks the file that one process has to itself before it reads it", async () => {
  const { asked } = await prepare({ processes: "one" });
  expect(asked.slice(3, 6)).toEqual([
    "PRAGMA encoding",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA journal_mode = WAL",
  ]);
});

it.each([
  ["3.36.99", "too old", "too old"],
  ["3.37.0", "shared", "prepared"],
  ["3.51.2", "shared", "prepared"],
  ["3.51", "shared", "prepared"],
  ["3.51.3", "prepared", "prepared"],
  ["3.52.0", "prepared", "prepared"],
  ["4", "prepared", "prepared"],
])("takes SQLite %s for many processes (%s) and for one (%s)", async (found, many, one) => {
  const messages: Readonly<Record<string, unknown>> = {
    prepared: "prepared",
    "too old": refused(`SQLite ${found} is too old, 3.37 is needed`),
    shared: {
      name: "ConfigError",
      message:
        `SqliteJournal: SQLite ${found} can damage a write-ahead log that several processes share (fixed in 3.51.3). ` +
        "Use Node 22.22.3, 24.15 or newer, or a better-sqlite3 with SQLite 3.51.3 or newer; " +
        'if only one process ever opens the file, the option processes: "one" will do.',
    },
  };
  for (const [processes, expected] of [["many", many] as const, ["one", one] as const]) {
    const { prepared } = await prepare({ processes }, { answers: { "SELECT sqlite_version()": found } });
    if (typeof prepared === "string") expect(prepared).toBe(messages[expected]);
    else expect(prepared).toMatchObject(Object(messages[expected]));
  }
});

it.each<[string, SqliteJournalOptions, Record<string, unknown>, string]>([
  ["in UTF-16", {}, { "PRAGMA encoding": "UTF-16le" }, "the file's encoding is not UTF-8, which orders keys"],
  [
    "in memory",
    {},
    { "PRAGMA journal_mode = WAL": "memory" },
    "SQLite can't keep a write-ahead log for it. A journal in memory is MemoryJournal",
  ],
  [
    "of another program with tables",
    {},
    { "SELECT count(*) FROM sqlite_schema": 1 },
    "it holds another program's tables. Give the journal a file of its own",
  ],
  [
    "of another program with a version",
    {},
    { "PRAGMA user_version": 3 },
    "it holds another program's tables. Give the journal a file of its own",
  ],
  [
    "without tables",
    { migrate: false },
    {},
    "it has no tables yet, this release needs version 4, and migrate is false",
  ],
  ["of 0.3.0", { migrate: false }, ours(3), "it has version 3, this release needs version 4, and migrate is false"],
])("refuses a file %s", async (_, options, answers, message) => {
  const { prepared, asked } = await prepare(options, { answers });
  expect(prepared).toMatchObject(refused(message));
  expect(asked).not.toContain("COMMIT");
});

it.each<[string, Record<string, unknown>, RegExp]>([
  ["a newer release", ours(5), /^SqliteJournal: .*version 5, .* knows 4/],
  ["release 0.2.0", ours(2), /the tables have version 2/],
  ["release 0.3.0, with open flows", { ...ours(3), [open]: "k" }, /^SqliteJournal: the flow of key "k" is open/],
])("leaves a file of %s as it is", async (_, answers, message) => {
  const { prepared, asked } = await prepare({}, { answers });
  expect(prepared).toMatchObject({ name: "ConfigError", message: expect.stringMatching(message) });
  expect([asked.at(-1), asked.includes("DELETE")]).toEqual(["ROLLBACK", false]);
});

it("refuses a file with another name, before it asks anything else", async () => {
  const path = newFile();
  writeFileSync(path, "");
  expect((await prepare({}, { path })).prepared).toBe("prepared");
  linkSync(path, `${path}.other`);
  const { prepared, asked } = await prepare({}, { path });
  expect(prepared).toMatchObject({ name: "ConfigError", message: expect.stringContaining("a hard link") });
  expect(asked).toEqual(["PRAGMA database_list"]);
});

it("reports what failed first, also where it can't be rolled back", async () => {
  const failure = new Error("first");
  const { prepared } = await prepare({}, { failures: { COMMIT: [failure], ROLLBACK: [new Error("second")] } });
  expect(prepared).toBe(failure);
});

it("waits for whoever recovers the file, or switches it to its log, at the same time", async () => {
  vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => void vi.restoreAllMocks());
  const [asksVersion, asksEncoding] = ["SELECT sqlite_version()", "PRAGMA encoding"];
  const steps = [asksVersion, asksEncoding, "PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE"];
  for (const sql of steps) {
    const { prepared, asked } = await prepare({}, { failures: { [sql]: [busy, busy] } });
    expect([sql, prepared, asked.filter((each) => each === sql)]).toEqual([sql, "prepared", [sql, sql, sql]]);
    const given = await prepare({ busyTimeoutMs: 0 }, { failures: { [sql]: [busy] } });
    expect(given.prepared).toBe(busy);
    const failure = Object.assign(new Error("driver"), { errcode: 10 });
    expect((await prepare({}, { failures: { [sql]: [failure] } })).prepared).toBe(failure);
  }
});

it("has defaults, and refuses options that can't be meant", () => {
  expect(assertSqliteOptions({})).toEqual({ processes: "many", busyTimeoutMs: 5_000, migrate: true });
  const given = { processes: "one", busyTimeoutMs: 2 ** 31 - 1, migrate: false } as const;
  expect(assertSqliteOptions(given)).toEqual(given);
  for (const options of [
    { processes: "two" },
    { busyTimeoutMs: 2 ** 31 },
    { busyTimeoutMs: -1 },
    { busyTimeoutMs: 0.5 },
  ]) {
    const check = () => assertSqliteOptions(options as SqliteJournalOptions);
    expect(check).toThrow(expect.objectContaining({ message: expect.stringMatching(/^SqliteJournal: .*must be/) }));
  }
  const noOptions = () => assertSqliteOptions(7 as SqliteJournalOptions);
  expect(noOptions).toThrow(expect.objectContaining({ message: expect.stringMatching(/^SqliteJournal: the options/) }));
});
