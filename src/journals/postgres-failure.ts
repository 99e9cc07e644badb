import { CrossBorderError, JournalError } from "../errors/errors.js";
import type { Row } from "./entry-of-row.js";

const meanings: readonly (readonly [sqlState: RegExp, meaning: string])[] = [
  [/^08/, "the connection failed, or a pooler refused: its log says why"],
  [/^28/, "the database refused the login"],
  [/^3D000$/, "there is no such database"],
  [/^3F000$|^42P01$/, "its tables are missing"],
  [/^42501$/, "the database user lacks a permission"],
  [/^25006$/, "the server is read-only, such as a standby"],
  [/^40|^55P03$/, "other transactions were in the way"],
  [/^53100$/, "the server's disk is full"],
  [/^53/, "the server has no resources left"],
  [/^57P0[123]$/, "the server is shutting down or starting"],
  [/^57014$/, "the statement was cancelled"],
  [/^58|^XX/, "the server failed"],
];

// The statement was certainly not sent. Of all other failures without an SQLSTATE, nobody can tell how far the statement got.
const neverConnected = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|EHOSTUNREACH|ENETUNREACH)$/;

/** None begins with E, as the codes of Node do: `EPIPE` tells of a connection, and not of what the server did. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/** A driver's error as a `JournalError`. `work` completes "could not". */
export function postgresFailure(error: unknown, work: string): CrossBorderError {
  if (error instanceof CrossBorderError) return error;
  const sqlState = sqlStateOf(error);
  const code = sqlState ?? codeOf(error);
  const shown = code === undefined ? "" : ` (${code})`;
  return new JournalError(`PostgresJournal could not ${work}: ${meaningOf(sqlState)}${shown}.`, {
    cause: withoutText(error, code),
    stored: sqlState === undefined ? storedWithoutResponse(code) : storedAfter(sqlState, error),
  });
}

/** Whether a server in recovery has read this. A program may have booleans read as it likes, but 1 is 1. */
export function isOfReplica(row: unknown): boolean {
  return Number(Reflect.get(Object(row), "is_replica")) === 1;
}

/**
 * What a server in recovery has read may lag behind, so nothing follows from it.
 *
 * @throws {JournalError} `journal_replica`
 */
export function assertPrimary(row: Row | undefined, work: string): void {
  if (!isOfReplica(row)) return;
  throw new JournalError(
    `PostgresJournal could not ${work}: a server in recovery responded, such as a replica that lags behind. Send all of the journal's statements to the primary: not through a pool or a proxy that splits reads from writes.`,
    { code: "journal_replica" },
  );
}

/** How often a statement is tried that was rolled back in favour of others. */
export const maxAttempts = 10;

/** Rolled back in favour of another transaction, where the database's default isolation is stricter than READ COMMITTED. */
export function isRolledBack(error: unknown): boolean {
  return ["40001", "40P01"].includes(sqlStateOf(error) ?? "");
}

/** Whether only the statement failed, with nothing stored, so that parts of it may succeed. */
export function isOfOneStatement(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState !== undefined && storedAfter(sqlState, error) === "nothing" && !/^(?:28|3D|53300|57P)/.test(sqlState);
}

function meaningOf(sqlState: string | undefined): string {
  if (sqlState === undefined) return "the database can't be reached, or did not respond in time";
  return meanings.find(([pattern]) => pattern.test(sqlState))?.[1] ?? "the database refused";
}

function storedWithoutResponse(code: string | undefined): "nothing" | "unknown" {
  return code !== undefined && neverConnected.test(code) ? "nothing" : "unknown";
}

// A server that shuts down (57P01, 57P02), or whose disk or memory failed, may already have committed. 40003 says so itself: servers and
// proxies that speak PostgreSQL's protocol have it for a commit whose end they have not heard of.
function storedAfter(sqlState: string, error: unknown): "nothing" | "unknown" {
  return /^(?:57P0[12]|40003|58|XX|08)/.test(sqlState) || mayBePanic(sqlState, error) ? "unknown" : "nothing";
}

/**
 * A server that can't go on writing its log panics, and the commit may be in the part that it wrote: without room, files or memory, or on a
 * disk that became read-only. The same codes are of errors before any commit. Only the severity tells, a word of the server's language.
 */
function mayBePanic(sqlState: string, error: unknown): boolean {
  const severity: unknown = Reflect.get(Object(error), "severity");
  return typeof severity === "string" && !/^(?:ERROR|FATAL)$/.test(severity) && /^(?:53[0-2]|42501)/.test(sqlState);
}

// The messages of the server and the driver can quote values, names and addresses; the code says enough.
function withoutText(error: unknown, code: string | undefined): Error {
  const name = error instanceof Error ? error.name : typeof error;
  return Object.assign(new Error(`${name} of the database driver`), { code });
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string") return code;
  // Node throws one error for all addresses of a host name.
  const errors: unknown = Reflect.get(error, "errors");
  return Array.isArray(errors) ? codeOf(errors[0]) : undefined;
}
