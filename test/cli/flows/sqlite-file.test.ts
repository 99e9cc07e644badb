import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { expect, it, onTestFinished } from "vitest";
import { openSqliteFile } from "../../../src/cli/flows/sqlite-file.js";
import { newFile, nodeSqlite, withoutSqlite } from "../../journals/sqlite-fixture.js";

/** A project with a better-sqlite3 of this code, or with none. */
function newProject(betterSqlite3?: string): string {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-project-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  if (betterSqlite3 === undefined) return folder;
  const installed = join(folder, "node_modules", "better-sqlite3");
  mkdirSync(installed, { recursive: true });
  writeFileSync(join(installed, "index.js"), betterSqlite3);
  return folder;
}

const options = { migrate: false };
const lease = { nonce: "n", owner: "program", leaseMs: 60_000 };
const state = { phase: "paid", settled: true, data: "{}" };

it.skipIf(nodeSqlite === undefined)(
  `goes by the better-sqlite3 of the working directory where Node has no SQLite, and closes its handle${withoutSqlite}`,
  async () => {
    const path = newFile();
    const program = await SqliteJournal.open(path);
    await program.begin("order-42", { service: "service.example", gateway: "alpha-bank" }, state, lease);
    await program.close();
    const folder = newProject(`
      const { DatabaseSync } = require("node:sqlite");
      module.exports = class Database extends DatabaseSync {
        constructor(path, { fileMustExist }) {
          if (!fileMustExist) throw new Error("a file would be made");
          super(path);
        }
      };`);
    const { journal, close } = await openSqliteFile(path, options, { hasNodeSqlite: false, folder });
    expect(await journal.read("order-42")).toMatchObject({ key: "order-42", phase: "paid" });
    // SQLite removes its log when the last handle is closed.
    expect(readdirSync(join(path, ".."))).toContain("payments.db-wal");
    await close();
    expect(readdirSync(join(path, ".."))).toEqual(["payments.db"]);
  },
);

it.skipIf(nodeSqlite === undefined)(
  `closes the handle of a file that is not to be migrated${withoutSqlite}`,
  async () => {
    const folder = newProject('module.exports = require("node:sqlite").DatabaseSync;');
    const path = newFile();
    await expect(openSqliteFile(path, options, { hasNodeSqlite: false, folder })).rejects.toThrow("migrate is false");
    expect(readdirSync(join(path, ".."))).toEqual(["payments.db"]);
  },
);

it("says how to go on where there is no better-sqlite3 either", async () => {
  const opened = openSqliteFile("payments.db", options, { hasNodeSqlite: false, folder: newProject() });
  await expect(opened).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(
      /can't open a SQLite file\. .*better-sqlite3.*npx -p node@22 -p cross-border-payments cross-border flows/,
    ),
  });
});

it("names what is wrong with a better-sqlite3 that can't be loaded", async () => {
  const folder = newProject(`module.exports = function Database() {
    throw Object.assign(new Error("was compiled against a different Node.js version"), { code: "ERR_DLOPEN_FAILED" });
  };`);
  await expect(openSqliteFile("payments.db", options, { hasNodeSqlite: false, folder })).rejects.toMatchObject({
    code: "invalid_config",
    message: expect.stringMatching(/better-sqlite3, which is installed here.*compiled against.*npx -p node@22/),
  });
});

it("tells a file that SQLite can't open from a missing driver", async () => {
  const folder = newProject(`module.exports = function Database() {
    throw Object.assign(new Error("unable to open database file"), { code: "SQLITE_CANTOPEN" });
  };`);
  await expect(openSqliteFile("payments.db", options, { hasNodeSqlite: false, folder })).rejects.toMatchObject({
    code: "journal_failed",
    message: expect.stringContaining("SQLITE_CANTOPEN"),
  });
});
