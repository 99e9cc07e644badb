import { ConfigError } from "../errors/errors.js";

/** The version of the tables of release 0.2.0. Those of 0.1.0, which had version 1, are no longer read. */
export const firstMigrated = 2;

export function newestOf(migrations: readonly unknown[]): number {
  return firstMigrated + migrations.length - 1;
}

/** Those that have not run where tables have this version; 0 where there are none. */
export function pendingOf<Migration>(migrations: readonly Migration[], version: number): readonly Migration[] {
  return version === 0 ? migrations : migrations.slice(version - firstMigrated + 1);
}

type JournalName = "PostgresJournal" | "SqliteJournal";

/** @throws {ConfigError} `journal_outdated` for tables of release 0.1.0, and for those of a newer release than this one. */
export function assertKnownVersion(journal: JournalName, version: number, newest: number): void {
  if (version > newest) {
    throw new ConfigError(
      `${journal}: the tables have version ${version}, and this release of cross-border-payments knows ${newest}. Use the newer release.`,
    );
  }
  if (version !== 0 && version < firstMigrated) throw outdated(journal, `the tables have version ${version}`);
}

/** Release 0.2.0 goes on with the flows that 0.1.0 began, and leaves them without a scope. */
export function outdatedFlow(journal: JournalName, key: string): ConfigError {
  return outdated(journal, `release 0.1.0 began the flow of key ${JSON.stringify(key)}`);
}

function outdated(journal: JournalName, what: string): ConfigError {
  return new ConfigError(
    `${journal}: ${what}, and this release of cross-border-payments reads what releases from 0.2.0 on began. ` +
      'Finish the flows of 0.1.0 with release 0.2.0 first: see "Flows of 0.1.0" in docs/migration.md. Nothing was changed.',
    { code: "journal_outdated" },
  );
}
