import { sleep } from "../core/clock.js";
import { CrossBorderError, JournalError } from "../core/errors.js";

/** What failed, and what to do. `code` stands for a driver's error that has none. */
type Meaning = readonly [pattern: RegExp, text: string, fix?: string, code?: string];

const checkServer = "Check the server, its load, and the network.";

/** What the server refused, by SQLSTATE. The first row that matches counts, here and in the other tables. */
const refusals: readonly Meaning[] = [
  [/^08/, "the connection failed, or a pooler refused it", "The pooler's or server's log says why."],
  [/^28P01$/, "the database rejected the user name or the password", "Check both."],
  [
    /^28/,
    "the database doesn't admit this user from this host, or not without TLS",
    "Check the user name and the server's pg_hba.conf. To use TLS, add ?sslmode=verify-full to the URL, or ssl: true to the pool.",
  ],
  [/^3D000$/, "the database doesn't exist", "Check its name at the end of the URL, or create it."],
  [/^3F000$|^42P01$/, "its tables are missing", "Create them with the SQL that schema() returns."],
  [/^42501$/, "the database user lacks a permission", "Grant what the SQL of schema() grants."],
  [/^25006$/, "the server is read-only, such as a standby", "Connect to the primary."],
  [/^40|^55P03$/, "other transactions were in the way"],
  [/^53300$/, "the server has no connections left", "Use smaller pools, or raise max_connections."],
  [/^53/, "the server has no disk or memory left"],
  [/^57P0/, "the server ended the connection, is shutting down, or is starting"],
  [/^57014$/, "the statement was canceled"],
  [/^58|^XX/, "the server failed", "Its log says why."],
  [/^[0-9A-DF-Z][0-9A-Z]{4}$/, "the database refused"],
];

/** Tells why no connection could be made, so nothing was sent. It reads the code from Node, or else the text from `pg`. */
const unsent: readonly Meaning[] = [
  [/^ECONNREFUSED$/, "nothing listens at the database's host and port", "Check both in the URL."],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "the database's host name can't be resolved", "Check it in the URL."],
  [
    /^ENOENT$/,
    "a file that connecting needs is missing",
    "Check the socket's path, and sslrootcert, sslcert, and sslkey.",
  ],
  [
    /^(?:DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT_|HOSTNAME_MISMATCH)/,
    "the database's certificate isn't trusted, isn't valid, or is for another host",
    "Pass its authority: sslmode=verify-full&sslrootcert=FILE in the URL, or ssl: { ca } for a pool.",
  ],
  [
    /client password must be a /,
    "the database asks for a password, and none was given",
    "Put it into the URL (postgresql://user:password@host/database), the pool's options, or PGPASSWORD.",
    "NO_PASSWORD",
  ],
  [
    /server does not support SSL connections$/,
    "the database doesn't use TLS, and the URL or the pool requires it",
    "Turn on ssl at the server, or remove sslmode (or ssl).",
    "NO_TLS",
  ],
  [
    /after calling end on the pool$/,
    "the pool has been ended",
    "End it after everything that uses it is closed.",
    "POOL_ENDED",
  ],
  [
    /^timeout exceeded when trying to connect$|^Connection terminated due to connection timeout$|^timeout expired$/,
    "there was no connection in time",
    `Check the pool's size, and whether each client is released. ${checkServer}`,
    "TIMEOUT",
  ],
];

/** What may have been carried out, by the text of `pg`. */
const lost: readonly Meaning[] = [
  [/^Query read timeout$/, "the database did not respond in time", checkServer, "TIMEOUT"],
  [/^Connection terminated/, "the connection to the database ended", checkServer, "CLOSED"],
  [/^/, "the database can't be reached, or did not respond in time", checkServer],
];

/** None begins with E, as the codes of Node do: `EPIPE` tells of a connection, and not of what the server did. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = codeOf(error);
  return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined;
}

/** A driver's error as a `JournalError`. `work` completes "could not". */
export function postgresFailure(error: unknown, work: string): CrossBorderError {
  if (error instanceof CrossBorderError) return error;
  const { message, cause, isStored } = explain(error);
  return new JournalError(`PostgresJournal could not ${work}: ${message}`, { cause, stored: isStored });
}

/** A driver's error as an error of the token store. The client shows its code. */
export function tokenStoreFailure(error: unknown): Error {
  if (error instanceof CrossBorderError) return error;
  const { message, cause, code } = explain(error);
  const failure = new Error(`PostgresTokenStore: ${message}`, { cause });
  return Object.assign(failure, code !== undefined && { code });
}

function explain(error: unknown) {
  const given = codeOf(error);
  const key = given ?? (error instanceof Error ? error.message : "");
  const [, text, fix, ownCode] = [...refusals, ...unsent, ...lost].find(([pattern]) => pattern.test(key)) ?? [];
  const code = given ?? ownCode;
  const message = `${text}${code === undefined ? "" : ` (${code})`}.${fix === undefined ? "" : ` ${fix}`}`;
  // The messages of the server and the driver can quote values, names and addresses, so only the code is shown.
  const name = error instanceof Error ? error.name : typeof error;
  const cause = Object.assign(new Error(`${name} of the database driver`), code !== undefined && { code });
  return { code, message, cause, isStored: storedAfter(sqlStateOf(error), key) };
}

/**
 * Whether the write may have been stored. A server that shuts down (57P01, 57P02) or loses its disk or memory may already have
 * committed. 40003 says so itself.
 */
function storedAfter(sqlState: string | undefined, key: string): "nothing" | "unknown" {
  if (sqlState !== undefined) return /^(?:57P0[12]|40003|53[12]|58|XX|08)/.test(sqlState) ? "unknown" : "nothing";
  return unsent.some(([pattern]) => pattern.test(key)) ? "nothing" : "unknown";
}

/** Whether only the statement failed, with nothing stored, so that parts of it may succeed. */
export function isOfOneStatement(error: unknown): boolean {
  const sqlState = sqlStateOf(error);
  return sqlState !== undefined && storedAfter(sqlState, "") === "nothing" && !/^(?:28|3D|53300|57P)/.test(sqlState);
}

/** How often a statement is tried that certainly changed nothing. */
export const maxAttempts = 10;

/** Sends again what was rolled back in favor of another transaction, or sent on a session that the server had ended since it was idle. */
export async function retrying<T>(send: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send();
    } catch (error) {
      const isRepeatable = /^(?:40001|40P01|57P05)$/.test(sqlStateOf(error) ?? "");
      if (!isRepeatable || attempt === maxAttempts) throw error;
    }
    await sleep(2 ** attempt * Math.random());
  }
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const code: unknown = Reflect.get(error, "code");
  if (typeof code === "string") return code;
  // Node throws one error for all addresses of a host name.
  const errors: unknown = Reflect.get(error, "errors");
  return Array.isArray(errors) ? codeOf(errors[0]) : undefined;
}
