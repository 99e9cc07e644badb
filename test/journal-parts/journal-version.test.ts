import { expect, it } from "vitest";
import { assertKnownVersion, newestOf, outdatedFlow, pendingOf } from "../../src/journals/journal-version.js";

const migrations = ["2", "3", "4"];

it("counts migrations from version 2 on", () => {
  expect(newestOf(migrations)).toBe(4);
  expect([0, 2, 3, 4].map((version) => pendingOf(migrations, version))).toEqual([migrations, ["3", "4"], ["4"], []]);
});

it("knows the versions from 2 to the newest, and 0 where there are no tables", () => {
  for (const version of [0, 2, 3]) assertKnownVersion("SqliteJournal", version, 3);
  expect(() => assertKnownVersion("SqliteJournal", 4, 3)).toThrow(
    "SqliteJournal: the tables have version 4, and this release of cross-border-payments knows 3. Use the newer release.",
  );
  expect(() => assertKnownVersion("PostgresJournal", 1, 3)).toThrow(
    expect.objectContaining({
      code: "journal_outdated",
      message:
        "PostgresJournal: the tables have version 1, and this release of cross-border-payments reads what releases from 0.2.0 on began. " +
        'Finish the flows of 0.1.0 with release 0.2.0 first: see "Flows of 0.1.0" in docs/migration.md. Nothing was changed.',
    }),
  );
  expect(outdatedFlow("SqliteJournal", 'k"1')).toMatchObject({
    code: "journal_outdated",
    message: expect.stringMatching(/^SqliteJournal: release 0\.1\.0 began the flow of key "k\\"1", and /),
  });
});
