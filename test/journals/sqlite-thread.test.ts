import { copyFileSync, existsSync, renameSync, rmSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../support/eventually.js";
import { begin, failure, newLease, scope, state } from "./journal-fixture.js";
import { likeBetterSqlite3, newFile, nodeSqlite, openHandle } from "./sqlite-fixture.js";

async function openJournal(...parameters: Parameters<typeof SqliteJournal.open>): Promise<SqliteJournal> {
  const journal = await SqliteJournal.open(...parameters);
  onTestFinished(() => journal.close().catch(() => {}));
  return journal;
}

it("says what to do where functions have no text, such as in bytecode", async () => {
  const text = vi.spyOn(Function.prototype, "toString").mockReturnValue("function () { [native code] }");
  const opening = failure(SqliteJournal.open(newFile()));
  text.mockRestore();
  expect(await opening).toMatchObject({
    name: "ConfigError",
    message: expect.stringMatching(/thread can't be started.*open database handle/),
  });
});

describe.skipIf(nodeSqlite === undefined)("the journal's thread", () => {
  it("lets the event loop go on while another process has the file locked", async () => {
    const file = newFile();
    const journal = await openJournal(file);
    const other = openHandle(file);
    other.exec("BEGIN IMMEDIATE");
    const begun = begin(journal, "k");
    // The lock is held by this thread: were it blocked, nobody would give the lock back.
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.exec("ROLLBACK");
    expect((await begun).key).toBe("k");
  });

  it("shows no warning that node:sqlite is experimental: which database it uses is the journal's own affair", async () => {
    const onWarning = vi.fn();
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    await begin(await openJournal(newFile()), "k");
    expect(onWarning).not.toHaveBeenCalled();
  });

  it("rejects what is pending when the thread dies, and everything afterwards", async () => {
    const file = newFile();
    const sent = vi.spyOn(Worker.prototype, "postMessage");
    onTestFinished(() => sent.mockRestore());
    const journal = await openJournal(file);
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
        },
      });
    }
    other.exec("ROLLBACK");
    expect(await failure(journal.read("a"))).toMatchObject({ name: "JournalError", stored: "nothing" });
    await journal.close();
    expect(await (await openJournal(file)).read("a")).toBeUndefined();
  });
});

describe.skipIf(nodeSqlite === undefined).each([
  ["a thread of its own", (file: string) => file],
  ["the caller's thread", (file: string) => likeBetterSqlite3(openHandle(file))],
])("a file that is replaced under a journal on %s", (_, placeOf) => {
  async function withFlow() {
    const file = newFile();
    const journal = await openJournal(placeOf(file));
    const entry = await begin(journal, "k");
    return { file, journal, entry };
  }

  /** Every method, since each could be the first to be called. */
  async function expectRefusals(journal: SqliteJournal): Promise<void> {
    const id = { epoch: 1, nonce: "n", revision: 1 };
    for (const work of [
      () => journal.begin("new", scope, state, newLease()),
      () => journal.read("k"),
      () => journal.write("k", id, state),
      () => journal.acquire("k", newLease()),
      () => journal.acquireAbandoned(scope, newLease(), undefined),
      () => journal.write("k", id, state, { lease: newLease(), inTime: true }),
      () => journal.list({ scope, limit: 1, counts: true }),
      () => journal.list({ scope, limit: 1 }),
      () => journal.prune({ quotedBeforeMs: 1 }),
    ]) {
      expect(await failure(work())).toMatchObject({
        name: "JournalError",
        stored: "nothing",
        message: expect.stringMatching(/was deleted or replaced while it was open.*open the journal again/s),
      });
    }
  }

  it("is noticed when it was deleted", async () => {
    const { file, journal } = await withFlow();
    rmSync(file);
    await expectRefusals(journal);
    expect(existsSync(file)).toBe(false);
  });

  it("is noticed when a backup was renamed over it, and stays noticed when the first one comes back", async () => {
    const { file, journal } = await withFlow();
    const backup = newFile();
    await (await SqliteJournal.open(backup)).close();
    renameSync(file, `${file}.old`);
    copyFileSync(backup, file);
    await expectRefusals(journal);
    renameSync(`${file}.old`, file);
    await expectRefusals(journal);
  });

  it.each(["-wal", "-shm"])("is noticed when its %s alone was deleted", async (ending) => {
    const { file, journal } = await withFlow();
    rmSync(file + ending);
    await expectRefusals(journal);
  });

  it("is opened again as what it is then", async () => {
    const { file, journal } = await withFlow();
    for (const name of [file, `${file}-wal`, `${file}-shm`]) rmSync(name, { force: true });
    await expectRefusals(journal);
    const again = await openJournal(file);
    expect(await again.read("k")).toBeUndefined();
    expect((await begin(again, "k")).epoch).toBe(1);
  });

  it("is not taken for replaced when other journals open, write, close and checkpoint it", async () => {
    const { file, journal, entry } = await withFlow();
    for (let round = 0; round < 5; round++) {
      const other = await SqliteJournal.open(file);
      await begin(other, `other ${round}`);
      await other.close();
      openHandle(file).exec("PRAGMA wal_checkpoint(TRUNCATE)");
      const seen = { ...entry, revision: round + 1 };
      expect(await journal.write("k", seen, { ...state, data: String(round) })).toBe(true);
    }
  });
});
