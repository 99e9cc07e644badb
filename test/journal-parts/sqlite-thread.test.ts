import { Worker } from "node:worker_threads";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { SqliteOperation } from "../../src/journals/sqlite-engine.js";
import { SqliteThread } from "../../src/journals/sqlite-thread.js";
import { failure } from "../journals/journal-fixture.js";
import { newFile, nodeSqlite, openHandle } from "../journals/sqlite-fixture.js";

const statements = {
  add: "INSERT INTO numbers VALUES (?)",
  count: "SELECT count(*) AS numbers FROM numbers",
  readNone: "SELECT none FROM numbers",
};
const add = (number: number): SqliteOperation => [["add", [number]]];
const count: SqliteOperation = [["count", []]];
const counted = (numbers: number) => ({ rows: [{ numbers }], changes: 0 });
const added = { rows: [], changes: 1 };

describe.skipIf(nodeSqlite === undefined)("the thread", () => {
  /** With a table of numbers, of which 7 is refused twice. */
  async function openThread() {
    const sent = vi.spyOn(Worker.prototype, "postMessage");
    const refs = vi.spyOn(Worker.prototype, "ref");
    const unrefs = vi.spyOn(Worker.prototype, "unref");
    onTestFinished(() => [sent, refs, unrefs].forEach((spied) => void spied.mockRestore()));
    const file = newFile();
    const thread = await SqliteThread.open(file);
    const [worker] = sent.mock.contexts as Worker[];
    onTestFinished(async () => void (await worker?.terminate()));
    await thread.exec("PRAGMA journal_mode = WAL; CREATE TABLE numbers (number INTEGER UNIQUE)");
    await thread.start(statements);
    const messages = () => sent.mock.calls.map(([requests]) => (requests as unknown[]).length);
    return { file, thread, worker: worker as Worker, sent, messages, refs, unrefs };
  }

  it("runs what it is asked for in its order, a message for what comes at once", async () => {
    const { thread, sent, messages } = await openThread();
    sent.mockClear();
    expect(await Promise.all([thread.run(add(1)), thread.run(count), thread.all("SELECT 1 AS one")])).toEqual([
      added,
      counted(1),
      [{ one: 1 }],
    ]);
    expect(messages()).toEqual([3]);
  });

  it.each([
    [new Error("ENOENT: process.cwd failed, uv_cwd"), "the journal's thread ended: ENOENT: process.cwd failed, uv_cwd"],
    [undefined, "the journal's thread ended"],
  ])("says what the thread ended for, where that is known: %s", async (error, message) => {
    const { thread, worker } = await openThread();
    if (error !== undefined) worker.emit("error", error);
    await worker.terminate();
    expect(await failure(thread.exec("SELECT 1"))).toMatchObject({ message });
  });

  it("runs what it is asked for while somebody's test has the timers in its hands", async () => {
    const { thread } = await openThread();
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    expect(await thread.run(add(1))).toEqual(added);
  });

  it("gathers what comes while a message is under way, and forgets none of it", async () => {
    const { thread, sent, messages } = await openThread();
    sent.mockClear();
    const replies: Promise<unknown>[] = [];
    for (const number of [1, 2, 3, 4, 5]) {
      replies.push(thread.run(add(number)));
      // A turn of the event loop, in which no message comes back: this thread is not free for it.
      await new Promise(process.nextTick);
      await new Promise((resolve) => setImmediate(resolve));
    }
    replies.push(thread.run(count));
    expect(await Promise.all(replies)).toEqual([added, added, added, added, added, counted(5)]);
    expect(messages().reduce((sum, each) => sum + each, 0)).toBe(6);
  });

  it("refuses one of more than five hundred operations, which go together, and none of its neighbours", async () => {
    const { file, thread } = await openThread();
    openHandle(file).exec(
      `CREATE TRIGGER refuses AFTER INSERT ON numbers BEGIN SELECT raise(ABORT, 'refused') WHERE new.number = 3; END`,
    );
    const replies = await Promise.all(Array.from({ length: 501 }, (_, index) => thread.run(add(index + 1))));
    expect(replies.filter((reply) => "error" in reply)).toHaveLength(1);
    expect(await thread.run(count)).toEqual(counted(500));
  });

  it("tells failures as the driver does, each to the operation that has it", async () => {
    const { thread } = await openThread();
    const work = [thread.run(add(7)), thread.run(add(7)), thread.exec("none"), thread.run(add(8))].map((each) =>
      each.catch((error: unknown) => ({ error })),
    );
    const constraint = { code: "ERR_SQLITE_ERROR", errcode: 2067, message: expect.stringContaining("UNIQUE") };
    const syntax = { code: "ERR_SQLITE_ERROR", errcode: 1, message: expect.stringContaining("syntax error") };
    expect(await Promise.all(work)).toMatchObject([added, { error: constraint }, { error: syntax }, added]);
    const failed = await thread.run([["readNone", []]]);
    expect(failed).toMatchObject({ error: { message: expect.stringContaining("no such column") } });
  });

  it("keeps the process alive until the replies, and no longer", async () => {
    const { thread, refs, unrefs } = await openThread();
    for (const spied of [refs, unrefs]) spied.mockClear();
    const reply = thread.run(count);
    expect([refs.mock.calls.length, unrefs.mock.calls.length]).toEqual([1, 0]);
    await reply;
    expect([refs.mock.calls.length, unrefs.mock.calls.length]).toEqual([1, 1]);
  });

  it("keeps the process alive while what came during a message is under way", async () => {
    const { thread, worker, sent, unrefs } = await openThread();
    sent.mockImplementation(() => {});
    unrefs.mockClear();
    const replies = [1, 2].map(async (number) => {
      if (number === 2) await new Promise((resolve) => setImmediate(resolve));
      return thread.run(add(number));
    });
    await new Promise((resolve) => setImmediate(() => setImmediate(() => setImmediate(resolve))));
    const newest = () => sent.mock.calls.at(-1)?.[0];
    expect(newest()).toEqual([["run", add(1)]]);
    worker.emit("message", [[added]]);
    expect(unrefs).not.toHaveBeenCalled();
    await new Promise((resolve) => setImmediate(resolve));
    expect(newest()).toEqual([["run", add(2)]]);
    worker.emit("message", [[added]]);
    expect(unrefs).toHaveBeenCalledTimes(1);
    expect(await Promise.all(replies)).toEqual([added, added]);
  });

  it("says of what was sent to a thread that ended that nobody knows, and of the rest that nothing was stored", async () => {
    const { thread, worker, sent } = await openThread();
    // A message is under way for as long as the thread lives: what comes next waits.
    sent.mockImplementation(() => {});
    const sentOnes = [thread.run(add(1)), thread.run(add(2))];
    await new Promise((resolve) => setImmediate(resolve));
    worker.emit("error", new Error("no memory left"));
    const ended = worker.terminate();
    const waiting = thread.run(add(3));
    await ended;
    const error = (stored: string) => ({ error: { code: "CROSS_BORDER_THREAD_ENDED", stored } });
    expect(await waiting).toMatchObject(error("nothing"));
    expect(await thread.run(count)).toMatchObject(error("nothing"));
    await thread.close();
    expect(await Promise.all(sentOnes)).toMatchObject([error("unknown"), error("unknown")]);
  });

  it("ends when it is closed, after what was asked for before", async () => {
    const { thread, worker } = await openThread();
    const exited = new Promise((resolve) => worker.once("exit", resolve));
    const last = thread.run(add(1));
    await thread.close();
    expect(await last).toEqual(added);
    expect(await exited).toBe(0);
  });

  it("ends, and says why, where the file can't be opened", async () => {
    await expect(SqliteThread.open(`${newFile()}/none/payments.db`)).rejects.toMatchObject({
      name: "JournalError",
      message: expect.stringMatching(/^SqliteJournal could not open the file: .*\(SQLITE_CANTOPEN\)/),
    });
  });

  it("says what to do on a Node without node:sqlite", async () => {
    const reply = [[undefined, { message: "", code: "CROSS_BORDER_NO_SQLITE" }]];
    const sent = vi.spyOn(Worker.prototype, "postMessage").mockImplementation(function (this: Worker) {
      this.emit("message", reply);
    });
    onTestFinished(() => sent.mockRestore());
    await expect(SqliteThread.open(newFile())).rejects.toMatchObject({
      name: "ConfigError",
      message:
        `SqliteJournal: Node ${process.versions.node} has no node:sqlite. Use Node 22.22.3, 24.15 or newer, ` +
        "pass an open better-sqlite3 database in place of the path, or use PostgresJournal.",
    });
    await (sent.mock.contexts[0] as Worker).terminate();
  });
});

it.skipIf(nodeSqlite === undefined)("says so where a journal's file can't be closed", async () => {
  const journal = await SqliteJournal.open(newFile());
  const { close } = SqliteThread.prototype;
  vi.spyOn(SqliteThread.prototype, "close").mockImplementationOnce(async function (this: SqliteThread) {
    await close.call(this);
    throw Object.assign(new Error("driver"), { code: "ERR_SQLITE_ERROR", errcode: 778 });
  });
  expect(await failure(journal.close())).toMatchObject({
    name: "JournalError",
    message: expect.stringMatching(/could not close the file.*SQLITE_IOERR/),
  });
});
