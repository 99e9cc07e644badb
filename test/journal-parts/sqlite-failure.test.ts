import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ConfigError } from "../../src/core/errors.js";
import { sqliteFailure, sqliteResult } from "../../src/journals/sqlite-failure.js";

const driverError = (properties: object) => Object.assign(new Error("of CH9300762011623852957"), properties);

/** As either driver tells it, and what follows. */
it.each([
  [5, "SQLITE_BUSY", "another process has the file locked", "nothing"],
  [6, "SQLITE_LOCKED", "locked by another user of the same handle", "nothing"],
  [7, "SQLITE_NOMEM", "no memory left", "unknown"],
  [8, "SQLITE_READONLY", "can't be written to", "nothing"],
  [10, "SQLITE_IOERR", "the disk failed", "unknown"],
  [11, "SQLITE_CORRUPT", "the file is damaged", "nothing"],
  [13, "SQLITE_FULL", "no space left", "nothing"],
  [14, "SQLITE_CANTOPEN", "can't be opened", "nothing"],
  [26, "SQLITE_NOTADB", "not a SQLite database", "nothing"],
])("tells result %i, %s", (errcode, name, meaning, stored) => {
  const errors = [{ errcode }, { errcode: errcode + 3 * 256 }, { code: name }, { code: `${name}_MORE` }].map(
    driverError,
  );
  for (const error of errors) {
    const failure = sqliteFailure(error, "read a flow");
    expect(failure).toMatchObject({ name: "JournalError", stored });
    expect(failure.message).toContain(`SqliteJournal could not read a flow: `);
    expect(failure.message).toContain(meaning);
    expect(failure.message).toMatch(new RegExp(`\\(${name}\\)\\.$`));
  }
});

it.each([
  ["CROSS_BORDER_FILE_REPLACED", "deleted or replaced while it was open", {}, "nothing"],
  ["CROSS_BORDER_FILE_REPLACED_AT_COMMIT", "deleted or replaced while it was open", {}, "unknown"],
  ["CROSS_BORDER_IN_TRANSACTION", "a transaction is open", {}, "nothing"],
  ["CROSS_BORDER_THREAD_ENDED", "the thread that has the file ended", { stored: "nothing" }, "nothing"],
  ["CROSS_BORDER_THREAD_ENDED", "the thread that has the file ended", { stored: "unknown" }, "unknown"],
])("tells %s without a result of SQLite", (code, meaning, properties, stored) => {
  const failure = sqliteFailure(driverError({ code, ...properties }), "read a flow");
  expect(failure).toMatchObject({ stored, message: expect.stringContaining(meaning) });
  expect(failure.message).not.toContain("(");
});

it.each([
  ["an unknown result", driverError({ errcode: 4 })],
  ["another code", driverError({ code: "ERR_SQLITE_BUSY" })],
  ["no code", driverError({})],
  ["what is no error", "SQLITE_IOERR"],
  ["nothing", undefined],
])("takes %s for a refusal", (_, thrown) => {
  expect(sqliteResult(thrown)).toBeUndefined();
  expect(sqliteFailure(thrown, "read a flow")).toMatchObject({
    stored: "nothing",
    message: "SqliteJournal could not read a flow: the database refused.",
  });
});

it("tells the result of an error of another realm, as node:sqlite's are in a vm context", () => {
  const thrown: unknown = runInNewContext('Object.assign(new Error("disk I/O error"), { errcode: 1034 })');
  expect(thrown).not.toBeInstanceOf(Error);
  expect(sqliteFailure(thrown, "store a state")).toMatchObject({ stored: "unknown" });
});

it("names a result that it has no words for", () => {
  const { message } = sqliteFailure(driverError({ code: "SQLITE_MISUSE" }), "read a flow");
  expect(message).toBe("SqliteJournal could not read a flow: the database refused (SQLITE_MISUSE).");
});

it("leaves the library's own errors as they are", () => {
  const own = new ConfigError("mine");
  expect(sqliteFailure(own, "read a flow")).toBe(own);
});
