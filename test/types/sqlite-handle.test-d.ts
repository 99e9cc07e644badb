import type { SqliteDatabase } from "cross-border-payments/journal/sqlite";
import { describe, expectTypeOf, it } from "vitest";

/** As `@types/better-sqlite3` declares it. */
interface BetterSqlite3Statement<Parameters extends unknown[], Result> {
  all(...params: Parameters): Result[];
  run(...params: Parameters): { changes: number; lastInsertRowid: number | bigint };
}

interface BetterSqlite3Database {
  exec(source: string): this;
  // biome-ignore lint/complexity/noBannedTypes: as it is declared there.
  prepare<BindParameters extends unknown[] | {} = unknown[], Result = unknown>(
    source: string,
  ): BindParameters extends unknown[]
    ? BetterSqlite3Statement<BindParameters, Result>
    : BetterSqlite3Statement<[BindParameters], Result>;
}

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
    expectTypeOf<BetterSqlite3Database>().toExtend<SqliteDatabase>();
    expectTypeOf<NodeSqliteDatabase>().toExtend<SqliteDatabase>();
  });

  it("has statements that say how many rows they changed", () => {
    expectTypeOf<{
      exec(sql: string): void;
      prepare(sql: string): { all(): unknown[] };
    }>().not.toExtend<SqliteDatabase>();
  });
});
