import { setImmediate } from "node:timers";
import { isOfOneStatement, postgresFailure, retrying } from "./postgres-failure.js";
import type { PostgresPool } from "./postgres-migrate.js";
import {
  type Changed,
  type ChangeName,
  type Input,
  type KeyedInput,
  type QueryName,
  type Row,
  type SqlStore,
  statementWork,
} from "./sql-journal.js";

/** A pool, which may prepare a statement that has a name. */
export interface OpenedPool {
  query(
    text: string,
    values: NonNullable<Parameters<PostgresPool["query"]>[1]>,
    name: string,
  ): Promise<{ readonly rows: unknown[] }>;
  readonly pool: PostgresPool;
  close(): Promise<void>;
}

/**
 * How many statements run at a time. Statements about many keys are few, so that more keys gather in each commit. Statements
 * about one key may wait for a locked row.
 */
const maxInFlight = { together: 2, alone: 4 };
const maxTogether = 100;

type KeyedName = ChangeName | "read";

interface Pending {
  readonly name: KeyedName;
  readonly input: KeyedInput;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Runs statements about single keys in batches. Everything that one turn of the event loop asks for is one statement. */
export class PostgresStore implements SqlStore {
  readonly journal = "PostgresJournal";
  readonly #pool: OpenedPool;
  readonly #keyed: ReturnType<typeof keyedStatements>;
  readonly #queries: ReturnType<typeof queryStatements>;
  /** The last work for each key. No batch holds a key twice, and this process runs nothing between a change and its reading. */
  readonly #turns = new Map<string, Promise<unknown>>();
  #queue: Pending[] = [];
  /** What a batch left out, or failed with. */
  readonly #alone: Pending[] = [];
  readonly #inFlight = { together: 0, alone: 0 };

  constructor(pool: OpenedPool, flows: string) {
    this.#pool = pool;
    this.#keyed = keyedStatements(flows);
    this.#queries = queryStatements(flows);
  }

  read(key: string): Promise<Row | undefined> {
    return this.#inTurn(key, () => this.#run("read", { key }));
  }

  change(name: ChangeName, input: KeyedInput): Promise<Changed> {
    const { key } = input;
    return this.#inTurn(key, async () => {
      const row = await this.#run(name, input);
      return row === undefined ? { isApplied: false, row: await this.#run("read", { key }) } : { isApplied: true, row };
    });
  }

  async query(name: QueryName, input: Input): Promise<readonly Row[]> {
    const { columns, text } = this.#queries[name];
    const values = columns.map((column) => input[column] ?? null);
    try {
      return (await retrying(() => this.#pool.query(text, values, name))).rows as Row[];
    } catch (error) {
      throw postgresFailure(error, statementWork[name]);
    }
  }

  async close(): Promise<void> {
    while (this.#turns.size > 0) await Promise.allSettled(this.#turns.values());
    await this.#pool.close();
  }

  #inTurn<T>(key: string, work: () => Promise<T>): Promise<T> {
    const mine = Promise.resolve(this.#turns.get(key)).then(work, work);
    const end = () => this.#turns.get(key) === mine && this.#turns.delete(key);
    this.#turns.set(key, mine);
    void mine.then(end, end);
    return mine;
  }

  /** The row that the statement returns for this key, after its commit. */
  #run(name: KeyedName, input: KeyedInput): Promise<Row | undefined> {
    return new Promise((resolve, reject) => {
      // Runs at the end of this turn of the event loop, so that later requests of the turn join the same statement.
      if (this.#queue.length === 0) setImmediate(() => this.#dispatch());
      this.#queue.push({ name, input, resolve, reject });
    });
  }

  #dispatch(): void {
    for (const pending of this.#alone.splice(0, maxInFlight.alone - this.#inFlight.alone))
      this.#start("alone", [pending]);
    while (this.#queue.length > 0 && this.#inFlight.together < maxInFlight.together) {
      const name = this.#queue[0]?.name;
      const batch = new Set(this.#queue.filter((pending) => pending.name === name).slice(0, maxTogether));
      this.#queue = this.#queue.filter((pending) => !batch.has(pending));
      const isIdle = this.#inFlight.together + this.#inFlight.alone === 0;
      this.#start(batch.size === 1 && isIdle ? "alone" : "together", [...batch]);
    }
  }

  #start(how: "alone" | "together", batch: readonly Pending[]): void {
    this.#inFlight[how] += 1;
    void this.#send(how, batch).then(() => {
      this.#inFlight[how] -= 1;
      this.#dispatch();
    });
  }

  async #send(how: "alone" | "together", batch: readonly Pending[]): Promise<void> {
    const name = batch[0]?.name ?? "read";
    const { columns, skipsLocked, [how]: text } = this.#keyed[name];
    const values = columns.map((column) => batch.map(({ input }) => input[column] ?? null));
    const send = () => this.#pool.query(text, values, `${name} ${how}`);
    try {
      const rows = (await (how === "alone" ? retrying(send) : send())).rows as Row[];
      const byKey = new Map(rows.map((row) => [row.free_key ?? row.key, row]));
      for (const pending of batch) {
        const row = byKey.get(pending.input.key);
        if (row === undefined && skipsLocked && how === "together") this.#alone.push(pending);
        else pending.resolve(row?.key === null ? undefined : row);
      }
    } catch (error) {
      if (how === "together" && isOfOneStatement(error)) return void this.#alone.push(...batch);
      for (const { reject } of batch) reject(postgresFailure(error, statementWork[name]));
    }
  }
}

/** What the statements about single keys take. The first is the key. */
const inputs: Readonly<Record<KeyedName, string>> = {
  begin: "key service gateway phase settled data ttl_ms nonce owner lease_ms",
  read: "key",
  acquire: "key nonce owner lease_ms",
  renew: "key epoch nonce lease_ms",
  write: "key epoch nonce revision phase settled data ttl_ms",
  replaceQuote: "key epoch nonce revision phase settled data ttl_ms new_nonce owner lease_ms in_time",
  release: "key epoch nonce",
};
const columnsOf = (name: KeyedName) => inputs[name].split(" ");

const types: Readonly<Record<string, string>> = {
  ...{ settled: "boolean", in_time: "boolean" },
  ...{ epoch: "bigint", revision: "bigint", ttl_ms: "bigint", lease_ms: "bigint" },
};

const milliseconds = (time: string): string => `floor(extract(epoch FROM f.${time}) * 1000)::bigint AS ${time}_ms`;
const after = (column: string, from = "clock_timestamp()"): string => `${from} + ${column} * interval '1 millisecond'`;
const isFree = "(f.lease_until IS NULL OR f.lease_until <= clock_timestamp())";
/** The clock may have been set back. */
const oldestMs =
  "greatest(0, floor(extract(epoch FROM clock_timestamp() - min(f.created_at)) * 1000))::bigint AS oldest_ms";
const isOwned = "f.epoch = i.epoch AND f.nonce = i.nonce AND f.pruned_at IS NULL";
const isInScope = "f.service = @service AND (@gateway = '' OR f.gateway = @gateway)";

const detailsWithoutState = `f.service, f.gateway, f.epoch, f.nonce, f.revision, f.owner, ${milliseconds("lease_until")},
  ${milliseconds("created_at")}, ${milliseconds("updated_at")}, ${milliseconds("expires_at")}, ${milliseconds("pruned_at")},
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS read_at_ms`;
const details = `${detailsWithoutState}, f.phase, f.settled::int AS settled, f.data`;
const columns = `f.key, ${details}`;

const stateAt = (time: string): string => `phase = i.phase, settled = i.settled, data = i.data,
  updated_at = ${time}, expires_at = ${after("i.ttl_ms")}, revision = f.revision + 1`;
const isReplaced = `${isOwned} AND f.revision = i.revision`;
const isLeaseless = "(i.settled OR i.phase = 'quoted')";

/** Changes to an existing row, with its assignments, its condition, and the returned columns. */
const updates: Readonly<Record<Exclude<ChangeName, "begin">, readonly [set: string, where: string, row: string]>> = {
  acquire: [
    `epoch = f.epoch + 1, nonce = i.nonce, owner = i.owner, lease_until = ${after("i.lease_ms")}`,
    `f.pruned_at IS NULL AND f.phase <> 'quoted' AND ${isFree}`,
    columns,
  ],
  renew: [`lease_until = ${after("i.lease_ms")}`, `${isOwned} AND f.lease_until IS NOT NULL`, "f.key"],
  write: [
    `${stateAt("clock_timestamp()")}, lease_until = CASE WHEN NOT i.settled THEN f.lease_until END`,
    `${isReplaced} AND f.phase <> 'quoted'`,
    "f.key",
  ],
  replaceQuote: [
    // If the server stalls within the statement, it reads a later time here than when it checks that the quote is valid.
    `${stateAt("least(clock_timestamp(), CASE WHEN i.in_time THEN f.expires_at END)")}, epoch = f.epoch + 1,
      nonce = i.new_nonce, owner = i.owner, lease_until = CASE WHEN NOT ${isLeaseless} THEN ${after("i.lease_ms")} END`,
    `${isReplaced} AND f.phase = 'quoted' AND (NOT i.in_time OR f.expires_at > clock_timestamp())`,
    "f.key",
  ],
  release: ["lease_until = NULL", isOwned, "f.key"],
};

/**
 * Statements about single keys, by name. They take arrays, one for each input column, and return a row for each key. If a
 * statement `skipsLocked`, `together` leaves out rows that another session has locked.
 */
function keyedStatements(flows: string) {
  const update = (name: Exclude<ChangeName, "begin">) => {
    const [set, where, row] = updates[name];
    const change = (from: string) =>
      `UPDATE ${flows} AS f SET ${set} FROM ${from} WHERE f.key = i.key AND ${where} RETURNING ${row}`;
    return {
      columns: columnsOf(name),
      skipsLocked: true,
      alone: `WITH i AS MATERIALIZED (${inputOf(name)}) ${change("i")}`,
      together: `WITH i AS MATERIALIZED (${inputOf(name)}),
        free AS MATERIALIZED (
          SELECT f.key FROM ${flows} AS f WHERE f.key = ANY ($1) ORDER BY f.key FOR NO KEY UPDATE SKIP LOCKED),
        done AS (${change("i JOIN free USING (key)")})
        SELECT done.*, free.key AS free_key FROM free LEFT JOIN done ON done.key = free.key`,
    };
  };
  const begin = `WITH i AS MATERIALIZED (${inputOf("begin")})
    INSERT INTO ${flows} AS f (key, service, gateway, phase, settled, data, epoch, revision, nonce, owner,
      lease_until, created_at, updated_at, expires_at)
    SELECT i.key, i.service, i.gateway, i.phase, i.settled, i.data, 1, 1, i.nonce, i.owner,
      CASE WHEN NOT ${isLeaseless} THEN ${after("i.lease_ms", "now.at")} END, now.at, now.at, ${after("i.ttl_ms", "now.at")}
    FROM i CROSS JOIN (SELECT clock_timestamp() AS at) AS now ORDER BY i.key COLLATE "C"
    ON CONFLICT (key) DO NOTHING RETURNING f.key, ${detailsWithoutState}`;
  const read = `SELECT ${columns} FROM ${flows} AS f WHERE f.key = ANY ($1)`;
  return {
    begin: { columns: columnsOf("begin"), alone: begin, together: begin, skipsLocked: false },
    read: { columns: columnsOf("read"), alone: read, together: read, skipsLocked: false },
    acquire: update("acquire"),
    renew: update("renew"),
    write: update("write"),
    replaceQuote: update("replaceQuote"),
    release: update("release"),
  };
}

function inputOf(name: ChangeName): string {
  const columns = columnsOf(name);
  const arrays = columns.map((column, index) => `$${index + 1}::${types[column] ?? "text"}[]`);
  return `SELECT * FROM unnest(${arrays.join(", ")}) AS input(${columns.join(", ")})`;
}

/** The other statements, by name. */
function queryStatements(flows: string) {
  const isFound = `f.key > @after AND ${isInScope} ORDER BY f.key LIMIT @limit`;
  const old = (where: string) => `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
    WHERE f.key > @after AND ${where} ORDER BY f.key LIMIT @limit FOR UPDATE SKIP LOCKED)`;
  const before = "to_timestamp(@before::float8 / 1000)";
  return {
    acquireAbandoned: positional(`WITH next AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase <> 'quoted' AND f.key > @after AND ${isFree} AND ${isInScope}
        ORDER BY f.key LIMIT 1 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET epoch = f.epoch + 1, nonce = @nonce, owner = @owner, lease_until = ${after("@lease_ms::bigint")}
      FROM next WHERE f.key = next.key RETURNING ${columns}`),
    list: positional(`SELECT ${columns} FROM ${flows} AS f WHERE f.pruned_at IS NULL AND ${isFound}`),
    listPhase: positional(`(SELECT ${columns} FROM ${flows} AS f WHERE f.settled_phase = @phase AND ${isFound})
      UNION ALL (SELECT ${columns} FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase = @phase AND ${isFound})
      ORDER BY key LIMIT @limit`),
    counts: positional(`SELECT f.service, f.gateway, f.phase, f.settled::int AS settled, count(*) AS flows,
        count(*) FILTER (WHERE NOT f.settled AND f.phase <> 'quoted' AND ${isFree}) AS unowned, ${oldestMs}
      FROM ${flows} AS f WHERE f.pruned_at IS NULL GROUP BY f.service, f.gateway, f.phase, f.settled`),
    pruneQuoted: positional(`${old(`f.settled_phase = 'quoted'
        AND f.expires_at < clock_timestamp() - interval '1 day' AND f.expires_at < ${before}`)}
      DELETE FROM ${flows} AS f USING old WHERE f.key = old.key RETURNING f.key`),
    pruneSettled: positional(`${old(`f.settled_phase = @phase AND f.updated_at < ${before}`)}
      UPDATE ${flows} AS f SET data = '', lease_until = NULL, pruned_at = clock_timestamp()
      FROM old WHERE f.key = old.key RETURNING f.key`),
  };
}

/** Replaces names with numbered parameters, in the order of `columns`. */
function positional(named: string) {
  const columns = [...new Set(Array.from(named.matchAll(/@(\w+)/g), ([, column = ""]) => column))];
  return { columns, text: named.replace(/@(\w+)/g, (_, column: string) => `$${columns.indexOf(column) + 1}`) };
}
