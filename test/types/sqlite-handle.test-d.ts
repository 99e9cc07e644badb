import type BetterSqlite3 from "better-sqlite3";
import type { SqliteDatabase } from "cross-border-payments/journal/sqlite";
import { describe, expectTypeOf, it } from "vitest";

/** As `@types/node` declares `DatabaseSync`. */
interface NodeSqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): {
    all(...parameters: (null | number | bigint | string | Uint8Array)[]): Record<string, unknown>[];
    run(...parameters: (null | number | bigint | string | Uint8Array)[]): {
      changes: number | bigint;
      lastInsertRowid: number | bigint;
    };
  };
}

describe("a handle that SqliteJournal.open takes", () => {
  it("can be better-sqlite3's, or node:sqlite's, as they are typed", () => {
    expectTypeOf<BetterSqlite3.Database>().toExtend<SqliteDatabase>();
    expectTypeOf<NodeSqliteDatabase>().toExtend<SqliteDatabase>();
  });

  it("has statements that say how many rows they changed", () => {
    expectTypeOf<{
      exec(sql: string): void;
      prepare(sql: string): { all(): unknown[] };
    }>().not.toExtend<SqliteDatabase>();
  });
});
