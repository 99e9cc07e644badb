import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { describe, expect, it } from "vitest";
import { expectOneAfterAnother } from "./group-commit-model.js";
import { begin, scope, state } from "./journal-fixture.js";
import { likeBetterSqlite3, newFile, nodeSqlite, openHandle, openSqliteJournal } from "./sqlite-fixture.js";

const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);

describe.skipIf(nodeSqlite === undefined).each([
  ["a thread of its own", (file: string) => file],
  ["the caller's thread", (file: string) => likeBetterSqlite3(openHandle(file))],
])("on %s", (_, placeOf) => {
  it("replies to what comes at once as if it came one after the other", async () => {
    await expectOneAfterAnother(await openSqliteJournal(placeOf(newFile())), 100);
  });

  it("fails an operation that is refused, and none of its neighbours", async () => {
    const file = newFile();
    const journal = await openSqliteJournal(placeOf(file));
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    openHandle(file).exec(`CREATE TRIGGER refuses AFTER UPDATE ON flows WHEN new.key = 'k7'
      BEGIN SELECT raise(ABORT, 'refused'); END`);
    const written = await Promise.allSettled(
      entries.map((entry) => journal.write(entry.key, entry, { ...state, data: "changed" })),
    );
    for (const [index, result] of written.entries()) {
      if (index === 7) expect(result).toMatchObject({ reason: { name: "JournalError", stored: "nothing" } });
      else expect(result).toEqual({ status: "fulfilled", value: true });
      expect((await journal.read(`k${index}`))?.data).toBe(index === 7 ? "{}" : "changed");
    }
  });

  it("fails all that wait for the same lock at once, and stores nothing of them", async () => {
    const file = newFile();
    const journal = await openSqliteJournal(placeOf(file), { busyTimeoutMs: 50 });
    const other = openHandle(file);
    other.exec("BEGIN IMMEDIATE");
    const begun = await Promise.allSettled(keys.map((key) => begin(journal, key)));
    other.exec("ROLLBACK");
    for (const result of begun) {
      expect(result).toMatchObject({ reason: { stored: "nothing", message: expect.stringContaining("SQLITE_BUSY") } });
    }
    expect((await journal.list({ scope, limit: 1 })).entries).toEqual([]);
  });

  it("stores what was asked for before it was closed", async () => {
    const file = newFile();
    const journal = await SqliteJournal.open(placeOf(file));
    const begun = Promise.all(keys.map((key) => begin(journal, key)));
    await journal.close();
    await begun;
    const again = await openSqliteJournal(file);
    expect((await again.list({ scope, limit: keys.length + 1 })).entries).toHaveLength(keys.length);
  });
});

describe.skipIf(nodeSqlite === undefined)("over a handle that is passed in", () => {
  /** Counts commits, and can make one fail. */
  function counting(file: string) {
    const database = openHandle(file);
    const told = { commits: 0, beforeCommit: () => {} };
    const handle = {
      exec: (sql: string) => {
        if (sql === "COMMIT") {
          told.commits++;
          told.beforeCommit();
        }
        database.exec(sql);
      },
      prepare: (sql: string) => database.prepare(sql),
    };
    return { database, handle, told };
  }

  it("commits once for what comes at once, and replies after the commit only", async () => {
    const { database, handle, told } = counting(newFile());
    const journal = await openSqliteJournal(handle);
    told.commits = 0;
    const replies: unknown[] = [];
    let repliedBefore: number | undefined;
    told.beforeCommit = () => {
      repliedBefore = replies.length;
      expect(Object(database.prepare("SELECT count(*) AS flows FROM flows").all()[0])).toMatchObject({ flows: 40 });
    };
    const begun = keys.map(async (key) => void replies.push(await begin(journal, key)));
    const read = journal.read("k3").then((entry) => void replies.push(entry));
    await Promise.all([...begun, read]);
    expect([told.commits, repliedBefore, replies.length]).toEqual([1, 0, 41]);
  });

  it("opens no transaction for reads", async () => {
    const { handle, told } = counting(newFile());
    const journal = await openSqliteJournal(handle);
    told.commits = 0;
    await Promise.all([journal.read("k"), journal.list({ scope, limit: 1, counts: true })]);
    expect(told.commits).toBe(0);
  });

  it("splits what can't be committed together", async () => {
    const { database, handle } = counting(newFile());
    const journal = await openSqliteJournal(handle);
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    database.exec(`PRAGMA foreign_keys = ON;
      CREATE TABLE parent (id TEXT PRIMARY KEY);
      CREATE TABLE child (id TEXT REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
      CREATE TRIGGER refuses AFTER UPDATE ON flows WHEN new.key = 'k9' BEGIN INSERT INTO child VALUES ('orphan'); END;`);
    const written = await Promise.allSettled(
      entries.map((entry) => journal.write(entry.key, entry, { ...state, data: "changed" })),
    );
    expect(written.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect((await journal.read("k9"))?.data).toBe("{}");
    expect((await journal.read("k8"))?.data).toBe("changed");
  });

  it("stores what there is space for", async () => {
    const { database, handle } = counting(newFile());
    const journal = await openSqliteJournal(handle);
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    const pages = Number(Object.values(Object(database.prepare("PRAGMA page_count").all()[0]))[0]);
    database.prepare(`PRAGMA max_page_count = ${pages + 3}`).all();
    const dataOf = (index: number) => (index % 10 === 3 ? "0123456789".repeat(20_000) : "small");
    const written = await Promise.allSettled(
      entries.map((entry, index) => journal.write(entry.key, entry, { ...state, data: dataOf(index) })),
    );
    for (const [index, result] of written.entries()) {
      if (index % 10 !== 3) expect(result).toEqual({ status: "fulfilled", value: true });
      else
        expect(result).toMatchObject({ reason: { stored: "nothing", message: expect.stringMatching("SQLITE_FULL") } });
      expect((await journal.read(`k${index}`))?.data).toBe(index % 10 === 3 ? "{}" : "small");
    }
  });

  it("says that nobody knows what was stored when the disk failed at the commit", async () => {
    const { handle, told } = counting(newFile());
    const journal = await openSqliteJournal(handle);
    told.commits = 0;
    told.beforeCommit = () => {
      throw Object.assign(new Error("disk I/O error"), { errcode: 1034 });
    };
    const begun = await Promise.allSettled(keys.map((key) => begin(journal, key)));
    for (const result of begun) expect(result).toMatchObject({ reason: { stored: "unknown", effect: "none" } });
    expect(told.commits).toBe(1);
  });
});
