import { ConfigError } from "../core/errors.js";

/** The version of the tables of this release. */
export const newest = 4;
/** That of release 0.3.0, the only one that is migrated. */
export const earlier = 3;

type JournalName = "PostgresJournal" | "SqliteJournal";

/** @throws {ConfigError} `journal_outdated` for tables of a release before 0.3.0; or the tables belong to a newer release than this one. */
export function assertKnownVersion(journal: JournalName, version: number): void {
  if (version > newest) {
    throw new ConfigError(
      `${journal}: the tables have version ${version}, and this release of cross-border-payments knows ${newest}. Use the newer release.`,
    );
  }
  if (version === 0 || version >= earlier) return;
  throw outdated(
    journal,
    `the tables have version ${version}`,
    "Open them with release 0.3.0 first, and finish the open flows",
  );
}

/** @param key of a flow that is open in the tables of release 0.3.0. */
export function openFlow(journal: JournalName, key: string): ConfigError {
  const what = `the flow of key ${JSON.stringify(key)} is open, and perhaps others`;
  return outdated(journal, what, "Run recover with release 0.3.0 until no flow is open");
}

function outdated(journal: JournalName, what: string, advice: string): ConfigError {
  return new ConfigError(
    `${journal}: ${what}, and this release of cross-border-payments reads settled and held flows of release 0.3.0 only. ` +
      `${advice}: see docs/journal-versions.md, "Before 0.4.0". Nothing was changed.`,
    { code: "journal_outdated" },
  );
}
