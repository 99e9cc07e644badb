import { CrossBorderError, JournalError } from "../core/errors.js";
import type { Row } from "./entry-of-row.js";

type Stored = "nothing" | "unknown";

interface Meaning {
  /** What failed. */
  readonly text: string;
  /** What to do. */
  readonly fix?: string;
  /** Of a failure without an SQLSTATE: `nothing` if it is one of connecting, so that the statement was never sent. */
  readonly stored?: Stored;
  /** Stands for a driver's error that has no code. */
  readonly code?: string;
}

const untrusted = "Pass its authority: sslmode=verify-full&sslrootcert=FILE in the URL, or ssl: { ca } for a pool.";
const checkServer = "Check the server, its load, and the network.";

/** By SQLSTATE, otherwise by Node's code, otherwise by the text of `pg`. The first row that matches counts. */
const meanings: readonly (readonly [pattern: RegExp, meaning: Meaning])[] = [
  [/^08/, { text: "the connection failed, or a pooler refused it", fix: "The pooler's or server's log says why." }],
  [/^28P01$/, { text: "the database rejected the user name or the password", fix: "Check both." }],
  [
    /^28/,
    {
      text: "the database doesn't admit this user from this host, or not without TLS",
      fix: "Check the user name and the server's pg_hba.conf. To use TLS, add ?sslmode=verify-full to the URL, or ssl: true to the pool.",
    },
  ],
  [/^3D000$/, { text: "the database doesn't exist", fix: "Check its name at the end of the URL, or create it." }],
  [/^3F000$|^42P01$/, { text: "its tables are missing", fix: "Create them with the SQL that schema() returns." }],
  [/^42501$/, { text: "the database user lacks a permission", fix: "Grant what the SQL of schema() grants." }],
  [/^25006$/, { text: "the server is read-only, such as a standby", fix: "Connect to the primary." }],
  [/^40|^55P03$/, { text: "other transactions were in the way" }],
  [/^53100$/, { text: "the server's disk is full" }],
  [/^53300$/, { text: "the server has no connections left", fix: "Use smaller pools, or raise max_connections." }],
  [/^53/, { text: "the server has no resources left" }],
  [/^57P0[123]$/, { text: "the server is shutting down or starting" }],
  [/^57014$/, { text: "the statement was canceled" }],
  [/^58|^XX/, { text: "the server failed", fix: "Its log says why." }],
  [/^[0-9A-DF-Z][0-9A-Z]{4}$/, { text: "the database refused" }],
  [
    /^IN_TRANSACTION$/,
    { text: "a transaction is open on a connection of the pool", fix: "Give the store a pool of its own." },
  ],
  [
    /^ECONNREFUSED$/,
    { text: "nothing listens at the database's host and port", fix: "Check both in the URL.", stored: "nothing" },
  ],
  [
    /^(?:ENOTFOUND|EAI_AGAIN)$/,
    { text: "the database's host name can't be resolved", fix: "Check it in the URL.", stored: "nothing" },
  ],
  [
    /^(?:EHOSTUNREACH|ENETUNREACH)$/,
    { text: "there is no route to the database", fix: checkServer, stored: "nothing" },
  ],
  [
    /^ENOENT$/,
    {
      text: "a file that connecting needs is missing",
      fix: "Check the socket's path, and sslrootcert, sslcert, and sslkey.",
      stored: "nothing",
    },
  ],
  [
    /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_UNTRUSTED)/,
    { text: "the database's certificate is not trusted", fix: untrusted, stored: "nothing" },
  ],
  [
    /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/,
    {
      text: "the database's certificate is for another host",
      fix: "Connect to a host name that the certificate has.",
      stored: "nothing",
    },
  ],
  [
    /^CERT_/,
    {
      text: "the database's certificate is not valid",
      fix: "Renew it, and check this machine's clock.",
      stored: "nothing",
    },
  ],
  [
    /client password must be a /,
    {
      text: "the database asks for a password, and none was given",
      fix: "Put it into the URL (postgresql://user:password@host/database), the pool's options, or PGPASSWORD.",
      stored: "nothing",
      code: "NO_PASSWORD",
    },
  ],
  [
    /server does not support SSL connections$/,
    {
      text: "the database doesn't use TLS, and the URL or the pool requires it",
      fix: "Turn on ssl at the server, or remove sslmode (or ssl).",
      stored: "nothing",
      code: "NO_TLS",
    },
  ],
  [
    /error establishing an SSL connection$/,
    {
      text: "what listens at the database's port is not PostgreSQL",
      fix: "Check host and port.",
      stored: "nothing",
      code: "NO_TLS",
    },
  ],
  [
    /after calling end on the pool$/,
    {
      text: "the pool has been ended",
      fix: "End it after everything that uses it is closed.",
      stored: "nothing",
      code: "POOL_ENDED",
    },
  ],
  [
    /^timeout exceeded when trying to connect$/,
    {
      text: "the pool had no connection in time",
      fix: `Check the pool's size, and whether each client is released. ${checkServer}`,
      stored: "nothing",
      code: "TIMEOUT",
    },
  ],
  [
    /^Connection terminated due to connection timeout$/,
    { text: "the database did not respond in time", fix: checkServer, stored: "nothing", code: "TIMEOUT" },
  ],
  [/^Query read timeout$/, { text: "the database did not respond in time", fix: checkServer, code: "TIMEOUT" }],
  [/^Connection terminated/, { text: "the connection to the database ended", fix: checkServer, code: "CLOSED" }],
];

const otherFailure: Meaning = { text: "the database can't be reached, or did not respond in time", fix: checkServer };

/** None begins with E, as the codes of Node do: `EPIPE` tells of a connection, and not of what the server did. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/** A driver's error as a `JournalError`. `work` completes "could not". */
export function postgresFailure(error: unknown, work: string): CrossBorderError {
  if (error instanceof CrossBorderError) return error;
  const sqlState = sqlStateOf(error);
  const { message, code, stored = "unknown" } = explain(error);
  return new JournalError(`PostgresJournal could not ${work}: ${message}`, {
    cause: withoutText(error, code),
    stored: sqlState === undefined ? stored : storedAfter(sqlState, error),
  });
}

/** A driver's error as one of the token store, whose code the client shows. */
export function tokenStoreFailure(error: unknown): Error {
  if (error instanceof CrossBorderError) return error;
  const { message, code } = explain(error);
  const failure = new Error(`PostgresTokenStore: ${message}`, { cause: withoutText(error, code) });
  return Object.assign(failure, code !== undefined && { code });
}

/** `pg` has one class for a connection of its own, and one for a connection of a pool. Only a pool connects again. */
export function isSingleClient(value: unknown): boolean {
  return "connectionParameters" in Object(value);
}

function explain(error: unknown): Meaning & { readonly message: string } {
  const given = codeOf(error);
  const key = given ?? (error instanceof Error ? error.message : "");
  const meaning = meanings.find(([pattern]) => pattern.test(key))?.[1] ?? otherFailure;
  const code = given ?? meaning.code;
  const shown = code === undefined ? "" : ` (${code})`;
  const fix = meaning.fix === undefined ? "" : ` ${meaning.fix}`;
  return { ...meaning, ...(code !== undefined && { code }), message: `${meaning.text}${shown}.${fix}` };
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

// A server that shuts down (57P01, 57P02), or whose disk or memory failed, may already have committed. 40003 says so itself: servers and
// proxies that speak PostgreSQL's protocol have it for a commit whose end they have not heard of.
function storedAfter(sqlState: string, error: unknown): Stored {
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
  return Object.assign(new Error(`${name} of the database driver`), code !== undefined && { code });
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string") return code;
  // Node throws one error for all addresses of a host name.
  const errors: unknown = Reflect.get(error, "errors");
  return Array.isArray(errors) ? codeOf(errors[0]) : undefined;
}
