import { setImmediate } from "node:timers";
import { isOfOneStatement, postgresFailure, retrying } from "./postgres-failure.js";
import type { PostgresPool } from "./postgres-migrate.js";
import {
  type Changed,
  type ChangeName,
  type Input,
  type KeyedInput,
  type Row,
  type SqlStore,
  type StatementName,
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
 * How many statements run at a time. Those about many keys are few, so that more keys gather in each commit. Those about one key
 * may wait for a locked row.
 */
const maxInFlight = { together: 2, alone: 4 };
const maxTogether = 100;

/** What every flow asks for goes in one statement, so that more shares a commit. */
type JoinedName = "begin" | "read" | "write";

interface Pending {
  readonly name: JoinedName;
  readonly input: KeyedInput;
  readonly resolve: (row: Row | undefined) => void;
  readonly reject: (error: Error) => void;
}

/** Everything that one turn of the event loop begins, reads, or writes is one statement. */
export class PostgresStore implements SqlStore {
  readonly journal = "PostgresJournal";
  readonly #pool: OpenedPool;
  readonly #joined: ReturnType<typeof joinedStatement>;
  readonly #queries: ReturnType<typeof queryStatements>;
  /** The last work for each key. No batch holds a key twice, and this process runs nothing between a change and its reading. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #queue: Pending[] = [];
  /** What a batch left out, or failed with. */
  readonly #alone: Pending[] = [];
  readonly #inFlight = { together: 0, alone: 0 };

  constructor(pool: OpenedPool, flows: string) {
    this.#pool = pool;
    this.#joined = joinedStatement(flows);
    this.#queries = queryStatements(flows);
  }

  read(key: string): Promise<Row | undefined> {
    return this.#inTurn(key, () => this.#join("read", { key }));
  }

  change(name: ChangeName, input: KeyedInput): Promise<Changed> {
    const { key } = input;
    return this.#inTurn(key, async () => {
      const isJoined = name === "begin" || name === "write";
      const row = isJoined ? await this.#join(name, input) : (await this.query(name, input))[0];
      return row === undefined
        ? { isApplied: false, row: await this.#join("read", { key }) }
        : { isApplied: true, row };
    });
  }

  async query(name: Exclude<StatementName, JoinedName>, input: Input): Promise<readonly Row[]> {
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
  #join(name: JoinedName, input: KeyedInput): Promise<Row | undefined> {
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
      this.#start("together", this.#queue.splice(0, maxTogether));
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
    const given = batch.map(({ name, input }): Input => ({ name, ...input }));
    // Reading alone needs no right to write.
    const isRead = batch.every(({ name }) => name === "read");
    const columns = isRead ? ["key"] : inputs;
    const values = columns.map((column) => given.map((input) => input[column] ?? (column in types ? null : "")));
    const name = isRead ? "read" : how;
    const send = () => this.#pool.query(this.#joined[name], values, name);
    try {
      const rows = (await (how === "alone" ? retrying(send) : send())).rows as Row[];
      const byKey = new Map(rows.map((row) => [row.asked_key, row]));
      for (const pending of batch) {
        const row = byKey.get(pending.input.key);
        const isLocked = pending.name === "write" && row?.free_key === null;
        if (isLocked && how === "together") this.#alone.push(pending);
        else pending.resolve(row?.key || row?.written_key ? row : undefined);
      }
    } catch (error) {
      if (how === "together" && isOfOneStatement(error)) return void this.#alone.push(...batch);
      for (const { name, reject } of batch) reject(postgresFailure(error, statementWork[name]));
    }
  }
}

/** The columns of what goes together. A flow that is only read has but a key. */
const inputs =
  "name key service gateway phase settled data ttl_ms nonce owner lease_ms epoch revision new_nonce in_time".split(" ");

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
const isInScope = "f.service = @service AND (@gateway = '' OR f.gateway = @gateway)";

const detailsWithoutState = `f.service, f.gateway, f.epoch, f.nonce, f.revision, f.owner, ${milliseconds("lease_until")},
  ${milliseconds("created_at")}, ${milliseconds("updated_at")}, ${milliseconds("expires_at")}, ${milliseconds("pruned_at")},
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS read_at_ms`;
const details = `${detailsWithoutState}, f.phase, f.settled::int AS settled, f.data`;
const columns = `f.key, ${details}`;

/**
 * Begins, reads, and writes flows, in one statement that takes arrays. It returns a row for each. `together` leaves out rows that
 * another session has locked. If the server stalls within it, the time of an update is later than that of the check of a quote.
 */
function joinedStatement(flows: string) {
  const arrays = inputs.map((column, index) => `$${index + 1}::${types[column] ?? "text"}[]`);
  const lease = `CASE WHEN NOT (i.settled OR i.phase = 'quoted') THEN ${after("i.lease_ms")} END`;
  const ofQuote = "i.new_nonce <> ''";
  const alone = `WITH i AS MATERIALIZED (SELECT * FROM unnest(${arrays.join(", ")}) AS input(${inputs.join(", ")})),
    begun AS (INSERT INTO ${flows} AS f (key, service, gateway, phase, settled, data, epoch, revision, nonce, owner,
        lease_until, created_at, updated_at, expires_at)
      SELECT i.key, i.service, i.gateway, i.phase, i.settled, i.data, 1, 1, i.nonce, i.owner,
        ${lease}, now.at, now.at, ${after("i.ttl_ms", "now.at")}
      FROM i CROSS JOIN (SELECT clock_timestamp() AS at) AS now WHERE i.name = 'begin' ORDER BY i.key COLLATE "C"
      ON CONFLICT (key) DO NOTHING RETURNING f.key, ${detailsWithoutState}, NULL AS phase, NULL::int AS settled, NULL AS data),
    free AS MATERIALIZED (SELECT f.key FROM ${flows} AS f JOIN i USING (key) WHERE i.name = 'write'
      ORDER BY f.key FOR NO KEY UPDATE OF f),
    written AS (UPDATE ${flows} AS f SET phase = i.phase, settled = i.settled, data = i.data,
        updated_at = least(clock_timestamp(), CASE WHEN i.in_time THEN f.expires_at END), expires_at = ${after("i.ttl_ms")},
        revision = f.revision + 1, epoch = f.epoch + (${ofQuote})::int,
        nonce = CASE WHEN ${ofQuote} THEN i.new_nonce ELSE f.nonce END,
        owner = CASE WHEN ${ofQuote} THEN i.owner ELSE f.owner END,
        lease_until = CASE WHEN ${ofQuote} THEN ${lease} WHEN NOT i.settled THEN f.lease_until END
      FROM i JOIN free USING (key) WHERE i.name = 'write' AND f.key = i.key
        AND f.epoch = i.epoch AND f.nonce = i.nonce AND f.revision = i.revision AND f.pruned_at IS NULL
        AND (f.phase = 'quoted') = (${ofQuote}) AND (NOT i.in_time OR f.expires_at > clock_timestamp())
      RETURNING f.key)
    SELECT i.key AS asked_key, free.key AS free_key, written.key AS written_key, found.*
    FROM i LEFT JOIN free USING (key) LEFT JOIN written USING (key) LEFT JOIN (
      SELECT * FROM begun UNION ALL SELECT ${columns} FROM ${flows} AS f JOIN i USING (key) WHERE i.name = 'read'
    ) AS found ON found.key = i.key`;
  const read = `SELECT f.key AS asked_key, ${columns} FROM ${flows} AS f WHERE f.key = ANY ($1)`;
  return { read, alone, together: alone.replace("FOR NO KEY UPDATE OF f", "$& SKIP LOCKED") };
}

/** The other statements, by name. */
function queryStatements(flows: string) {
  const isFound = `f.key > @after AND ${isInScope} ORDER BY f.key LIMIT @limit`;
  const old = (where: string) => `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
    WHERE f.key > @after AND ${where} ORDER BY f.key LIMIT @limit FOR UPDATE SKIP LOCKED)`;
  const leased = `epoch = f.epoch + 1, nonce = @nonce, owner = @owner, lease_until = ${after("@lease_ms::bigint")}`;
  const isOwned = "f.key = @key AND f.epoch = @epoch AND f.nonce = @nonce AND f.pruned_at IS NULL";
  const before = "to_timestamp(@before::float8 / 1000)";
  return {
    acquire:
      positional(`UPDATE ${flows} AS f SET ${leased} WHERE f.key = @key AND f.pruned_at IS NULL AND f.phase <> 'quoted'
      AND ${isFree} RETURNING ${columns}`),
    renew: positional(`UPDATE ${flows} AS f SET lease_until = ${after("@lease_ms::bigint")}
      WHERE ${isOwned} AND f.lease_until IS NOT NULL RETURNING f.key`),
    release: positional(`UPDATE ${flows} AS f SET lease_until = NULL WHERE ${isOwned} RETURNING f.key`),
    acquireAbandoned: positional(`WITH next AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase <> 'quoted' AND f.key > @after AND ${isFree} AND ${isInScope}
        ORDER BY f.key LIMIT 1 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET ${leased} FROM next WHERE f.key = next.key RETURNING ${columns}`),
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
