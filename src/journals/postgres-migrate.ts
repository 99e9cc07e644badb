import { sleep } from "../core/clock.js";
import type { Check } from "../core/parse.js";
import { sqlStateOf } from "./postgres-failure.js";

/** What a journal needs of a pool: `Pool` of `pg`, or one like it. */
export interface PostgresPool {
  query(
    text: string,
    values?: (string | number | boolean | null | (string | number | boolean | null)[])[],
  ): Promise<{ readonly rows: unknown[] }>;
}

/** `pg` has one class for a connection of its own, and one for a connection of a pool. Only a pool connects again. */
export function isSingleClient(value: unknown): boolean {
  return "connectionParameters" in Object(value);
}

/** A table, and what makes or changes it. */
export interface Migration {
  readonly schema: string;
  /** Its name in SQL, quoted. */
  readonly table: string;
  /** Statements of PL/pgSQL, which find out whether there is anything to do. */
  readonly steps: string;
}

/** A name that can stand in SQL between double quotes as it is, with room for what is appended to it. */
export const postgresName: Check = {
  accepts: (value) => typeof value === "string" && /^[A-Za-z_][A-Za-z0-9_]{0,39}$/.test(value),
  expected: "1 to 40 letters, digits and underscores, the first of them no digit",
};

/** Selects a row if a table is there. `to_regclass` may read the connection's cache, as it was before this process waited for a lock. */
export function selectTable(schema: string, name: string): string {
  return `SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '${schema}' AND c.relname = '${name}'`;
}

/** Runs a migration once, however many processes start at the same time. */
export async function migrate(pool: PostgresPool, migration: Migration): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return void (await pool.query(migrationText(migration)));
    } catch (error) {
      // A backup may hold the table's lock. A migration that waits for it blocks all other sessions, so it waits briefly and often.
      if (sqlStateOf(error) !== "55P03" || attempt === 10) throw error;
    }
    await sleep(500);
  }
}

/** What a migration runs, in one transaction, or a database administrator does, who also grants a role the use of the tables. */
export function migrationText({ schema, table, steps }: Migration, grants: readonly string[] = []): string {
  return `BEGIN ISOLATION LEVEL READ COMMITTED;
SET LOCAL lock_timeout = '2s';
SELECT pg_advisory_xact_lock(hashtextextended('cross-border-payments ${table}', 0));
DO $steps$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_namespace WHERE nspname = '${schema}') THEN
    CREATE SCHEMA "${schema}";
  END IF;
${steps}
END $steps$;
${grants.map((grant) => `GRANT ${grant};\n`).join("")}COMMIT;
`;
}
