import { CrossBorderError, JournalError } from "../core/errors.js";
import { fileReplaced, inTransaction, replacedAtCommit } from "./sqlite-engine.js";

/** `code` of the error of an operation whose thread is gone. Its `stored` says whether the thread can have had it. */
export const threadEnded = "CROSS_BORDER_THREAD_ENDED";

const replaced =
  "its file, or one of the two beside it, was deleted or replaced while it was open, or can't be looked at any more. What was stored before may be in " +
  "neither file: find out who did that, then open the journal again";

const resultNames: ReadonlyMap<number, string> = new Map([
  [5, "SQLITE_BUSY"],
  [6, "SQLITE_LOCKED"],
  [7, "SQLITE_NOMEM"],
  [8, "SQLITE_READONLY"],
  [10, "SQLITE_IOERR"],
  [11, "SQLITE_CORRUPT"],
  [13, "SQLITE_FULL"],
  [14, "SQLITE_CANTOPEN"],
  [26, "SQLITE_NOTADB"],
]);

const meanings: ReadonlyMap<string | undefined, string> = new Map([
  [
    "SQLITE_BUSY",
    "another process has the file locked. Raise busyTimeoutMs, or find the one that keeps the file to itself",
  ],
  ["SQLITE_LOCKED", "the table is locked by another user of the same handle"],
  ["SQLITE_NOMEM", "there is no memory left"],
  ["SQLITE_READONLY", "the file or its folder can't be written to"],
  ["SQLITE_IOERR", "the disk failed"],
  ["SQLITE_CORRUPT", "the file is damaged"],
  ["SQLITE_FULL", "there is no space left for it"],
  ["SQLITE_CANTOPEN", "the file can't be opened. Its folder must exist, and be writable"],
  ["SQLITE_NOTADB", "the file is not a SQLite database"],
  [fileReplaced, replaced],
  [replacedAtCommit, replaced],
  [
    threadEnded,
    "the thread that has the file ended, such as for lack of memory. Open the journal again, in a new process if this goes on",
  ],
  [inTransaction, "a transaction is open on the handle that was passed in, and nothing would be durable"],
]);

/** Such as `SQLITE_FULL`, from node:sqlite's number or better-sqlite3's string; an extended code gives the code that it extends. */
export function sqliteResult(error: unknown): string | undefined {
  // Whatever threw it: an error of another realm, as Node's own are in a vm context, is no Error here.
  const number: unknown = Reflect.get(Object(error), "errcode");
  if (typeof number === "number") return resultNames.get(number & 0xff);
  const text: unknown = Reflect.get(Object(error), "code");
  return /^(?:SQLITE_[A-Z]+|CROSS_BORDER_\w+)/.exec(String(text))?.[0];
}

/** A driver's error as a `JournalError`. `work` completes "could not". */
export function sqliteFailure(error: unknown, work: string): CrossBorderError {
  if (error instanceof CrossBorderError) return error;
  const result = sqliteResult(error);
  const meaning = meanings.get(result) ?? "the database refused";
  return new JournalError(
    `SqliteJournal could not ${work}: ${meaning}${result?.startsWith("SQLITE_") ? ` (${result})` : ""}.`,
    {
      cause: error,
      stored: storedBy(error, result),
    },
  );
}

// After a failed flush nobody knows what is on the disk. Memory can be lacking once a commit is in the log, which whoever reads that after a crash finds.
function storedBy(error: unknown, result: string | undefined): "nothing" | "unknown" {
  if (result === threadEnded) return Reflect.get(Object(error), "stored") === "unknown" ? "unknown" : "nothing";
  return ["SQLITE_IOERR", "SQLITE_NOMEM", replacedAtCommit].includes(String(result)) ? "unknown" : "nothing";
}
