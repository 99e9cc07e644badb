import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { openSqliteEngine, type SqliteOperation } from "../../src/journals/sqlite-engine.js";

const statements = {
  read: "SELECT a",
  lease: "UPDATE a RETURNING b",
  write: "UPDATE a",
  other: "UPDATE 'SELECT'",
};
type Name = keyof typeof statements;
const does = (...names: Name[]): SqliteOperation => names.map((name) => [name, [name, 1]]);

/** What was asked of the handle, what fails there, and which inode each file has. */
let asked: string[] = [];
let failures: Record<string, unknown> = {};
let inodes: Record<string, bigint | undefined> = {};
let born = 3n;
const database: Record<string, unknown> & Parameters<typeof openSqliteEngine>[0] = {
  exec: (sql) => ask(sql),
  prepare: (sql) => {
    asked.push(`prepare ${sql}`);
    return {
      all: (...parameters) => {
        ask(sql);
        if (sql !== "PRAGMA database_list") return [`${sql} ${parameters}`, "another"];
        return [{ name: "temp", file: "/other" }, null, { name: "main", file: "/db" }];
      },
      run: (...parameters) => {
        ask(`${sql} ${parameters}`);
        return { changes: 2n };
      },
    };
  },
};
const ask = (sql: string) => {
  asked.push(sql);
  const [key] = Object.keys(failures).filter((each) => sql.startsWith(each));
  if (key !== undefined) throw failures[key];
};

beforeEach(() => {
  asked = [];
  failures = {};
  inodes = { "/db": 11n, "/db-wal": 12n, "/db-shm": 13n };
  born = 3n;
  const spied = vi.spyOn(process.getBuiltinModule("node:fs"), "statSync").mockImplementation((path, options) => {
    // Without an error for when the file was created, with one for which file it is.
    expect([{ bigint: true, throwIfNoEntry: false }, { bigint: true }]).toContainEqual(options);
    const ino = inodes[String(path)];
    if (ino !== undefined) return Object({ dev: 5n, ino, birthtimeNs: born }) as never;
    if (Reflect.get(Object(options), "throwIfNoEntry") === false) return undefined;
    throw Object.assign(new Error("no such file"), { code: "ENOENT" });
  });
  onTestFinished(() => spied.mockRestore());
});

function start() {
  const engine = openSqliteEngine(database);
  engine.start(statements);
  asked = [];
  return engine;
}
const replaced = { error: { code: "CROSS_BORDER_FILE_REPLACED", message: "the file was replaced" } };

it("prepares each statement once, and reads without a transaction", () => {
  const engine = start();
  const read = { rows: ["SELECT a read,1", "another"], changes: 0 };
  expect(engine.run([does("read"), does("read", "read")])).toEqual([
    read,
    { ...read, rows: [...read.rows, ...read.rows] },
  ]);
  expect(asked).toEqual(["prepare SELECT a", "SELECT a", "SELECT a", "SELECT a"]);
});

it("commits what it changes, once for all, and tells rows from changes", () => {
  const leased = ["UPDATE a RETURNING b lease,1", "another"];
  expect(start().run([does("read"), does("write", "lease", "other")])).toMatchObject([
    { changes: 0 },
    { rows: leased, changes: 4 },
  ]);
  const sent = [
    "BEGIN IMMEDIATE",
    "SELECT a",
    "UPDATE a write,1",
    "UPDATE a RETURNING b",
    "UPDATE 'SELECT' other,1",
    "COMMIT",
  ];
  expect(asked.filter((sql) => !sql.startsWith("prepare"))).toEqual(sent);
});

it.each<[string, unknown]>([
  ["SQLITE_FULL", { errcode: 13 }],
  ["no space for better-sqlite3", { code: "SQLITE_FULL" }],
  ["another's busy", { code: "NOT_SQLITE_BUSY" }],
  ["nothing", undefined],
])("does one after the other what failed together with %s", (_, error) => {
  const engine = start();
  failures = { "UPDATE 'SELECT'": error };
  const [first, failed, last] = engine.run([does("write"), does("other"), does("write")]);
  expect([first, failed, last]).toEqual([{ rows: [], changes: 2 }, { error }, { rows: [], changes: 2 }]);
  const ends = asked.filter((sql) => /^(?:BEGIN|COMMIT|ROLLBACK)/.test(sql));
  const [begin, commit, rollback] = ["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"];
  expect(ends).toEqual([begin, rollback, begin, commit, begin, rollback, begin, commit]);
});

it.each<[string, unknown]>([
  ["a lock", { errcode: 5 }],
  ["a lock's snapshot", { errcode: 5 + 2 * 256 }],
  ["the disk", { errcode: 10 + 3 * 256 }],
  ["a lock of better-sqlite3", { code: "SQLITE_BUSY_SNAPSHOT" }],
  ["the disk of better-sqlite3", { code: "SQLITE_IOERR_FSYNC" }],
])("tries nothing again that failed for %s", (_, error) => {
  const engine = start();
  failures = { COMMIT: error, ROLLBACK: new Error("rolled back already") };
  expect(engine.run([does("write"), does("write")])).toEqual([{ error }, { error }]);
  expect(asked.filter((sql) => !/UPDATE/.test(sql))).toEqual(["BEGIN IMMEDIATE", "COMMIT", "ROLLBACK"]);
});

it("tries a single operation once", () => {
  const engine = start();
  failures = { UPDATE: { errcode: 13 } };
  expect(engine.run([does("write")])).toEqual([{ error: { errcode: 13 } }]);
  expect(asked.filter((sql) => !/UPDATE/.test(sql))).toEqual(["BEGIN IMMEDIATE", "ROLLBACK"]);
});

it.each(["isTransaction", "inTransaction"])("does nothing in somebody else's transaction (%s)", (name) => {
  const engine = start();
  database[name] = true;
  onTestFinished(() => void delete database[name]);
  const refused = { error: { code: "CROSS_BORDER_IN_TRANSACTION", message: "a transaction is open" } };
  expect(engine.run([does("write"), does("read")])).toMatchObject([refused, refused]);
  expect(asked).toEqual([]);
  database[name] = false;
  expect(engine.run([does("write")])).toMatchObject([{ changes: 2 }]);
});

it.each(["/db", "/db-wal", "/db-shm"])("does nothing any more once %s is another file", (path) => {
  for (const inode of [99n, undefined]) {
    const engine = start();
    const before = inodes[path];
    inodes[path] = inode;
    expect(engine.run([does("write"), does("read")])).toMatchObject([replaced, replaced]);
    inodes[path] = before;
    expect(engine.run([does("read")])).toMatchObject([replaced]);
    expect(asked).toEqual([]);
  }
});

it("commits nothing into a file that was replaced meanwhile", () => {
  const engine = start();
  database.exec = (sql) => {
    ask(sql);
    inodes["/db"] = 99n;
  };
  onTestFinished(() => {
    database.exec = ask;
  });
  expect(engine.run([does("write")])).toMatchObject([replaced]);
  expect(asked.filter((sql) => !/UPDATE/.test(sql))).toEqual(["BEGIN IMMEDIATE", "ROLLBACK"]);
});

it.each(["/db", "/db-wal", "/db-shm"])("does not confirm what was committed while %s was replaced", (path) => {
  const engine = start();
  database.exec = (sql) => {
    ask(sql);
    if (sql === "COMMIT") inodes[path] = undefined;
  };
  onTestFinished(() => {
    database.exec = ask;
  });
  const unseen = { error: { code: "CROSS_BORDER_FILE_REPLACED_AT_COMMIT" } };
  expect(engine.run([does("write"), does("write")])).toMatchObject([unseen, unseen]);
  expect(engine.run([does("read")])).toMatchObject([replaced]);
});
