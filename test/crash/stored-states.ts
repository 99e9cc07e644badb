import pg from "pg";
import type { JournalPlace } from "./worker-messages.js";

/** A state of a key's row, in the order in which they were stored. */
export interface StoredState {
  readonly key: string;
  readonly epoch: number;
  readonly nonce: string;
  readonly revision: number;
  readonly phase: string;
  readonly owner: string;
  readonly isLeased: boolean;
}

const columns = "key, epoch, nonce, revision, phase, owner";

const sqliteTriggers = ["INSERT", "UPDATE"].map(
  (event) => `CREATE TRIGGER IF NOT EXISTS keep_${event} AFTER ${event} ON flows BEGIN
    INSERT INTO stored_states (${columns}, leased)
      VALUES (NEW.key, NEW.epoch, NEW.nonce, NEW.revision, NEW.phase, NEW.owner, NEW.lease_until_ms IS NOT NULL);
  END;`,
);

const sqlite = `CREATE TABLE IF NOT EXISTS stored_states (number INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, epoch INTEGER, nonce TEXT,
    revision INTEGER, phase TEXT, owner TEXT, leased INTEGER);
  ${sqliteTriggers.join("\n")}`;

const postgres = (schema: string) => `
  SELECT pg_advisory_xact_lock(hashtext('stored_states'));
  SET LOCAL search_path = "${schema}";
  CREATE TABLE IF NOT EXISTS stored_states (number bigserial PRIMARY KEY, key text, epoch integer, nonce text, revision integer, phase text,
    owner text, leased boolean);
  CREATE OR REPLACE FUNCTION keep_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO "${schema}".stored_states (${columns}, leased)
      VALUES (NEW.key, NEW.epoch, NEW.nonce, NEW.revision, NEW.phase, NEW.owner, NEW.lease_until IS NOT NULL);
    RETURN NEW;
  END $$;
  DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_trigger WHERE tgname = 'keep_state' AND tgrelid = '${schema}.cross_border_flows'::regclass) THEN
      CREATE TRIGGER keep_state AFTER INSERT OR UPDATE ON cross_border_flows FOR EACH ROW EXECUTE FUNCTION keep_state();
    END IF;
  END $$;`;

/** From now on the database keeps every state of the journal's rows. */
export async function keepStates({ kind, place, schema = "public" }: JournalPlace): Promise<void> {
  if (kind === "sqlite") onSqlite(place, (database) => database.exec(sqlite));
  else await onPostgres(place, postgres(schema));
}

/** Each key's row is changed by one after another, so that the numbers are in the order of its changes. */
export async function storedStates({ kind, place, schema = "public" }: JournalPlace): Promise<readonly StoredState[]> {
  const query = (table: string) => `SELECT ${columns}, leased FROM ${table} ORDER BY number`;
  const rows =
    kind === "sqlite"
      ? onSqlite(place, (database) => database.prepare(query("stored_states")).all())
      : await onPostgres(place, query(`"${schema}".stored_states`));
  return rows.map(({ leased, ...row }) => ({ ...row, isLeased: Boolean(leased) }));
}

type Row = Omit<StoredState, "isLeased"> & { readonly leased: unknown };

interface Database {
  exec(script: string): void;
  prepare(query: string): { all(): Row[] };
  close(): void;
}

function onSqlite<T>(file: string, work: (database: Database) => T): T {
  const sqlite: { readonly DatabaseSync: new (path: string) => Database } = Object(
    process.getBuiltinModule("node:sqlite"),
  );
  const database = new sqlite.DatabaseSync(file);
  try {
    database.exec("PRAGMA busy_timeout = 20000");
    return work(database);
  } finally {
    database.close();
  }
}

/** Several statements at once are one transaction. */
async function onPostgres(url: string, script: string): Promise<Row[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query<Row>(script)).rows;
  } finally {
    await client.end();
  }
}
