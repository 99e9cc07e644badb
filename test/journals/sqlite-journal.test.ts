import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { existsSync, writeFileSync } from "node:fs";
import module from "node:module";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { verifyJournal } from "cross-border-payments/testing";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  begin,
  expectAllFound,
  expectQuotesPruned,
  failure,
  laterVersions,
  newLease,
  refusal,
  scope,
  state,
} from "./journal-fixture.js";
import { sqliteOf } from "./releases.js";
import {
  likeBetterSqlite3,
  newFile,
  nodeSqlite,
  openHandle,
  openSqliteJournal,
  withoutSqlite,
} from "./sqlite-fixture.js";

it.each([
  ["a Node without node:sqlite", module, "isBuiltin", /24\.15.*better-sqlite3.*PostgresJournal/],
  ["a bundle without the thread's program", fs, "existsSync", /a bundler left it out.*Copy /],
])("says what to do on %s", async (_, builtin, name, message) => {
  const without = vi.spyOn(builtin as unknown as Record<string, () => boolean>, name).mockReturnValue(false);
  module.syncBuiltinESMExports();
  onTestFinished(() => {
    without.mockRestore();
    module.syncBuiltinESMExports();
  });
  const expected = nodeSqlite === undefined ? /better-sqlite3/ : message;
  expect(await failure(SqliteJournal.open(newFile()))).toMatchObject(refusal(expected));
});

it.each([
  ["an empty path", ""],
  ["no path", undefined],
  ["null", null],
  ["a handle without prepare", { exec() {} }],
  ["a handle without exec", { prepare() {} }],
])("refuses %s", async (_, place) => {
  expect(await failure(SqliteJournal.open(place as never))).toMatchObject(
    refusal("or an open handle with exec and prepare"),
  );
});

it.each([{ processes: "two" }, { busyTimeoutMs: -1 }, { busyTimeoutMs: 0.5 }, { migrate: 1 }])(
  "refuses the options %o",
  async (options) => {
    const open = SqliteJournal.open("payments.db", options as Parameters<typeof SqliteJournal.open>[1]);
    expect(await failure(open)).toMatchObject({ name: "ConfigError" });
  },
);

it.each([
  ["3.36.99", /SQLite 3.36.99 is too old/, /SQLite 3.36.99 is too old/],
  ["3.37.0", /fixed in 3\.51\.3.*22\.22\.3, 24\.15 or newer.*processes: "one"/s, /can't keep a write-ahead log/],
  ["3.51.2", /fixed in 3\.51\.3/, /can't keep a write-ahead log/],
  ["3.51.3", /can't keep a write-ahead log/, /can't keep a write-ahead log/],
  ["3.100.0", /can't keep a write-ahead log/, /can't keep a write-ahead log/],
])("checks whether SQLite %s is new enough for many processes, and for one", async (version, many, one) => {
  const all = (sql: string) => [sql.includes("sqlite_version") ? { version } : { value: "delete" }];
  const database = { exec: () => {}, prepare: (sql: string) => ({ all: () => all(sql), run: () => ({ changes: 0 }) }) };
  for (const [processes, message] of [["many", many] as const, ["one", one] as const]) {
    const error = await failure(SqliteJournal.open(database, { processes }));
    expect(error).toMatchObject(refusal(message));
  }
});

it("finds the SQLite that many processes need in Node 22.22.3, 24.15 and newer", () => {
  const { node, sqlite = "0" } = process.versions;
  const needed: Readonly<Record<string, string>> = { 20: "20.99.0", 22: "22.22.3", 24: "24.15.0" };
  const since = needed[node.split(".")[0] ?? ""] ?? "26.0.0";
  const inOrder = new Intl.Collator("en", { numeric: true });
  expect(inOrder.compare(sqlite, "3.51.3") >= 0).toBe(inOrder.compare(node, since) >= 0);
});

function withTable(file: string): string {
  openHandle(file).exec("CREATE TABLE customers (id INTEGER)");
  return file;
}

function withVersion(file: string) {
  const database = openHandle(file);
  database.exec("PRAGMA user_version = 7");
  return likeBetterSqlite3(database);
}

function withText(file: string): string {
  writeFileSync(file, "not a database ".repeat(100));
  return file;
}

describe.skipIf(nodeSqlite === undefined)(`with a file${withoutSqlite}`, () => {
  it("keeps the laws of a journal, with two handles and reopened", async () => {
    const file = newFile();
    const open = () => SqliteJournal.open(file);
    await verifyJournal(open, { openSecond: open, reopen: open, flows: 30 });
  });

  it("keeps the laws of a journal over a better-sqlite3 handle, which stays open", async () => {
    const database = openHandle(newFile());
    await verifyJournal(() => SqliteJournal.open(likeBetterSqlite3(database)), { flows: 20 });
    expect(database.prepare("SELECT count(*) AS flows FROM flows").all()).not.toEqual([{ flows: 0 }]);
  });

  it("makes its tables once when eight processes' handles open a new file at the same time", async () => {
    const file = newFile();
    const journals = await Promise.all(Array.from({ length: 8 }, () => openSqliteJournal(file)));
    const begun = await Promise.all(journals.map((journal) => journal.begin("k", scope, state, newLease())));
    expect(begun.filter(({ created }) => created)).toHaveLength(1);
  });

  it("refuses a second handle while one keeps the file to itself, and lets it in afterwards", async () => {
    const file = newFile();
    const one = await SqliteJournal.open(file, { processes: "one" });
    const refused = await failure(SqliteJournal.open(file, { busyTimeoutMs: 50 }));
    expect(refused).toMatchObject(refusal("keeps the file to itself", "JournalError"));
    await one.close();
    const many = await openSqliteJournal(file);
    const alsoRefused = await failure(SqliteJournal.open(file, { processes: "one", busyTimeoutMs: 50 }));
    expect(alsoRefused).toMatchObject({ name: "JournalError", code: "journal_failed" });
    expect(await many.read("k")).toBeUndefined();
  });

  it.each(laterVersions)(
    "reads the version %i and the oldest writer %i: may write %s",
    async (version, oldest, mayWrite) => {
      const file = newFile();
      await (await SqliteJournal.open(file)).close();
      const database = openHandle(file);
      database.exec(`PRAGMA user_version = ${version}; UPDATE oldest_writer SET version = ${oldest}`);
      for (const place of [file, likeBetterSqlite3(openHandle(file))]) {
        for (const migrate of [true, false]) {
          if (mayWrite) await begin(await openSqliteJournal(place, { migrate }), `k-${typeof place}-${migrate}`);
          else
            expect(await failure(SqliteJournal.open(place, { migrate }))).toMatchObject(
              refusal(/only \d+ or newer.*a newer release/),
            );
        }
      }
      expect(database.prepare("PRAGMA user_version").all()).toEqual([{ user_version: version }]);
    },
  );

  it("refuses a file of release 0.2.0, and leaves it as it is", async () => {
    const file = sqliteOf("0.3.0");
    const handle = openHandle(file);
    handle.exec("PRAGMA user_version = 2");
    for (const place of [file, likeBetterSqlite3(openHandle(file))]) {
      const error = await failure(SqliteJournal.open(place));
      expect(error).toMatchObject({ name: "ConfigError", code: "journal_outdated" });
      expect(error).toMatchObject({
        message: expect.stringMatching(/^SqliteJournal: .*have version 2,.*docs\/journal-versions\.md/s),
      });
    }
    expect(handle.prepare("PRAGMA user_version").all()).toEqual([{ user_version: 2 }]);
  });

  it("leaves files that need a migration alone when it may not migrate", async () => {
    const old = sqliteOf("0.3.0");
    for (const place of [old, likeBetterSqlite3(openHandle(old))]) {
      const error = await failure(SqliteJournal.open(place, { migrate: false }));
      expect(error).toMatchObject(refusal(/version 3.*needs version 4.*migrate is false/));
    }
    expect(openHandle(old).prepare("PRAGMA user_version").all()).toEqual([{ user_version: 3 }]);
    for (const place of [newFile(), likeBetterSqlite3(openHandle(newFile()))]) {
      const error = await failure(SqliteJournal.open(place, { migrate: false }));
      expect(error).toMatchObject(refusal("the file has no tables yet"));
    }
    const current = newFile();
    await (await SqliteJournal.open(current)).close();
    await begin(await openSqliteJournal(current, { migrate: false }), "k");
  });

  it.each<[string, (file: string) => Parameters<typeof SqliteJournal.open>[0], string, RegExp]>([
    ["another program's database", withTable, "ConfigError", /a file of its own/],
    ["its handle", (file) => likeBetterSqlite3(openHandle(withTable(file))), "ConfigError", /a file of its own/],
    ["an empty one of another program", withVersion, "ConfigError", /a file of its own/],
    ["a database in memory", () => ":memory:", "ConfigError", /MemoryJournal/],
    ["a file that is no database", withText, "JournalError", /could not open the journal: .*isn't a SQLite database/],
    ["a folder that is not there", (file) => `${file}/none/payments.db`, "JournalError", /SQLITE_CANTOPEN/],
  ])("refuses %s", async (_, make, name, message) => {
    const error = await failure(SqliteJournal.open(make(newFile())));
    expect(error).toMatchObject({ name, message: expect.stringMatching(message) });
    if (name === "JournalError") expect(error).toHaveProperty("cause.code", "ERR_SQLITE_ERROR");
  });

  it.each([
    [3, 5000, "SQLITE_BUSY_RECOVERY", undefined],
    [Number.POSITIVE_INFINITY, 60, "SQLITE_BUSY_RECOVERY", /SQLITE_BUSY/],
    [1, 5000, "SQLITE_CORRUPT", /^SqliteJournal could not open the journal: .*SQLITE_CORRUPT/],
  ])(
    "opens again a file that is locked %i times, for %i ms at most: %s",
    async (times, busyTimeoutMs, code, refused) => {
      let tries = 0;
      const handle = likeBetterSqlite3(openHandle(newFile()), (sql) => {
        if (sql.includes("journal_mode") && tries++ < times) throw Object.assign(new Error(), { code });
      });
      const opened = SqliteJournal.open(handle, { busyTimeoutMs });
      if (refused !== undefined) expect(await failure(opened)).toMatchObject(refusal(refused, "JournalError"));
      else await (await opened).close();
      expect(Math.min(tries, 4)).toBe(times === 1 ? 1 : 4);
    },
  );

  it("flushes every write: a write-ahead log with synchronous FULL", async () => {
    for (const [processes, lock] of [
      ["many", "normal"],
      ["one", "exclusive"],
    ] as const) {
      const database = openHandle(newFile());
      database.exec("PRAGMA synchronous = OFF");
      await openSqliteJournal(database, { processes });
      const pragma = (name: string) => Object.values(Object(database.prepare(`PRAGMA ${name}`).all()[0]))[0];
      expect(["journal_mode", "synchronous", "locking_mode"].map(pragma)).toEqual(["wal", 2, lock]);
    }
  });

  it("finds keys from the first possible one on, and prunes more than a slice of them", async () => {
    await expectAllFound(await openSqliteJournal(newFile()), 500);
  });

  it("deletes quotes that expired a day ago or earlier", async () => {
    const database = openHandle(newFile());
    const setBack = (key: string) =>
      database.exec(`UPDATE flows SET expires_at_ms = expires_at_ms - 86500000 WHERE key = '${key}'`);
    await expectQuotesPruned(await openSqliteJournal(database), setBack);
  });

  it("leaves what was there when the file can't grow", async () => {
    const database = openHandle(newFile());
    const journal = await openSqliteJournal(database);
    const entry = await begin(journal, "k", "kept");
    const pages = Number(Object.values(Object(database.prepare("PRAGMA page_count").all()[0]))[0]);
    database.prepare(`PRAGMA max_page_count = ${pages + 2}`).all();
    const before = await journal.read("k");
    const secret = "CH9300762011623852957 ".repeat(10_000);
    const error = await failure(journal.write("k", entry, { ...state, settled: true, data: secret }));
    expect(error).toMatchObject({
      name: "JournalError",
      effect: "none",
      stored: "nothing",
      message: expect.stringContaining("SQLITE_FULL"),
    });
    expect(JSON.stringify(error)).not.toContain("CH93");
    expect(await journal.read("k")).toEqual({ ...before, readAtMs: expect.any(Number) });
    database.prepare("PRAGMA max_page_count = 100000").all();
    expect(await journal.write("k", entry, { ...state, data: secret })).toBe(true);
    expect((await journal.read("k"))?.data).toBe(secret);
  });

  it.each([
    ["EIO of node:sqlite", { code: "ERR_SQLITE_ERROR", errcode: 778 }, /SQLITE_IOERR/, "unknown"],
    ["EIO of better-sqlite3", { code: "SQLITE_IOERR_FSYNC" }, /SQLITE_IOERR/, "unknown"],
    ["no memory", { errcode: 7 }, /SQLITE_NOMEM/, "unknown"],
    ["ENOSPC of better-sqlite3", { code: "SQLITE_FULL" }, /SQLITE_FULL/, "nothing"],
    ["a lock", { code: "ERR_SQLITE_ERROR", errcode: 5 }, /SQLITE_BUSY/, "nothing"],
    ["a damaged file", { code: "SQLITE_CORRUPT_INDEX" }, /SQLITE_CORRUPT/, "nothing"],
    ["an error without a code", {}, /the database refused\.$/, "nothing"],
  ])("tells %s, without the driver's other properties", async (_, properties, result, stored) => {
    const database = openHandle(newFile());
    let isBroken = false;
    const handle = likeBetterSqlite3(database, () => {
      if (isBroken) throw Object.assign(new Error("driver"), properties, { parameters: ["CH9300762011623852957"] });
    });
    const journal = await openSqliteJournal(handle);
    const entry = await begin(journal, "k");
    const before = await journal.read("k");
    isBroken = true;
    for (const work of [
      () => journal.begin("other", scope, state, newLease()),
      () => journal.write("k", entry, { ...state, data: "changed" }),
      () => journal.acquireAbandoned(scope, newLease(), undefined),
      () => journal.list({ scope, limit: 1, counts: true }),
    ]) {
      const error = await failure(work());
      const message = expect.stringMatching(result);
      expect(error).toMatchObject({ name: "JournalError", effect: "none", stored, message });
      expect(JSON.stringify(Reflect.get(Object(error), "cause"))).not.toContain("CH93");
    }
    isBroken = false;
    expect(await journal.read("k")).toEqual({ ...before, readAtMs: expect.any(Number) });
  });

  it("counts a lease from when it is granted, not from when it waited for another process", async () => {
    const file = newFile();
    const journal = await openSqliteJournal(file);
    const lockedMs = 400;
    const locker = spawn(process.execPath, ["--eval", holdTheLock, file, String(lockedMs)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = once(locker, "close");
    await once(locker.stdout, "data");
    const askedAtMs = Date.now();
    const { entry } = await journal.begin("k", scope, state, newLease());
    expect(entry.createdAtMs - askedAtMs).toBeGreaterThan(lockedMs / 2);
    await closed;
  });

  it("refuses everything once it is closed, and closes twice", async () => {
    const file = newFile();
    const journal = await SqliteJournal.open(file);
    await journal.close();
    await journal.close();
    expect(await failure(journal.read("k"))).toMatchObject(refusal(/^SqliteJournal: .*closed/, "JournalError"));
    expect(existsSync(`${file}-wal`)).toBe(false);
  });
});

const holdTheLock = `
  process.removeAllListeners("warning");
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const database = new DatabaseSync(process.argv[1]);
  database.exec("BEGIN IMMEDIATE");
  console.log("locked");
  setTimeout(() => { database.exec("COMMIT"); database.close(); }, Number(process.argv[2]));
`;
