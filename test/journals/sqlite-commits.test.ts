import { Worker } from "node:worker_threads";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../support/eventually.js";
import { expectOneAfterAnother } from "./group-commit-model.js";
import { begin, expectLoneRefusal, failure, scope } from "./journal-fixture.js";
import { likeBetterSqlite3, newFile, nodeSqlite, openHandle, openSqliteJournal } from "./sqlite-fixture.js";

const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);

describe.skipIf(nodeSqlite === undefined).each([
  ["a thread of its own", (file: string) => file],
  ["the caller's thread", (file: string) => likeBetterSqlite3(openHandle(file))],
  ["the caller's thread, with node:sqlite", openHandle],
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
    await expectLoneRefusal(journal, entries);
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
    await journal.read("k3");
    expect(told.commits).toBe(1);
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

describe.skipIf(nodeSqlite === undefined)("the journal's thread", () => {
  it("lets the event loop go on while another process has the file locked", async () => {
    const file = newFile();
    const journal = await openSqliteJournal(file);
    const other = openHandle(file);
    other.exec("BEGIN IMMEDIATE");
    const begun = begin(journal, "k");
    // The lock is held by this thread: were it blocked, nobody would give the lock back.
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.exec("ROLLBACK");
    expect((await begun).key).toBe("k");
  });

  it("rejects what is pending when the thread dies, and everything afterwards", async () => {
    const file = newFile();
    const sent = vi.spyOn(Worker.prototype, "postMessage");
    onTestFinished(() => sent.mockRestore());
    const journal = await openSqliteJournal(file, { busyTimeoutMs: 2000 });
    await begin(journal, "first");
    const [thread] = sent.mock.contexts;
    const other = openHandle(file);
    other.exec("BEGIN IMMEDIATE");
    const begun = Promise.allSettled(["a", "b", "c"].map((key) => begin(journal, key)));
    const messages = sent.mock.calls.length;
    await eventually(() => expect(sent.mock.calls.length).toBeGreaterThan(messages));
    await (thread as Worker).terminate();
    for (const result of await begun) {
      expect(result).toMatchObject({
        reason: {
          name: "JournalError",
          stored: "unknown",
          message: expect.stringContaining("thread that has the file ended"),
          cause: { message: "the journal's thread ended" },
        },
      });
    }
    other.exec("ROLLBACK");
    expect(await failure(journal.read("a"))).toMatchObject({ name: "JournalError", stored: "nothing" });
    await journal.close();
    expect(await (await openSqliteJournal(file)).read("a")).toBeUndefined();
  });
});
