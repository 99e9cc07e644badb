import { expect, it } from "vitest";
import { assertKnownVersion, openFlow } from "../../src/journals/journal-version.js";

it("knows the versions of this release and of 0.3.0, and 0 if there are no tables", () => {
  for (const version of [0, 3, 4]) assertKnownVersion("SqliteJournal", version);
  expect(() => assertKnownVersion("SqliteJournal", 5)).toThrow(
    "SqliteJournal: the tables have version 5, and this release of cross-border-payments knows 4. Use the newer release.",
  );
  for (const version of [1, 2]) {
    expect(() => assertKnownVersion("PostgresJournal", version)).toThrow(
      expect.objectContaining({
        code: "journal_outdated",
        message: expect.stringContaining(`version ${version}, and`),
      }),
    );
  }
  expect(openFlow("SqliteJournal", 'k"1')).toMatchObject({
    code: "journal_outdated",
    message: expect.stringMatching(/^SqliteJournal: the flow of key "k\\"1" is open, .* Nothing was changed\.$/),
  });
});
