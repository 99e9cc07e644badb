import type { PostgresTables } from "./postgres-tables.js";

/** What statements about one key take, with PostgreSQL's types. The first is the key. */
const inputs = {
  begin: {
    ...{ key: "text", service: "text", gateway: "text" },
    ...{ phase: "text", settled: "boolean", data: "text", ttl_ms: "bigint" },
    ...{ nonce: "text", owner: "text", lease_ms: "bigint" },
  },
  read: { key: "text" },
  acquire: { key: "text", nonce: "text", owner: "text", lease_ms: "bigint" },
  renew: { key: "text", epoch: "bigint", nonce: "text", lease_ms: "bigint" },
  write: {
    ...{ key: "text", epoch: "bigint", nonce: "text", revision: "bigint" },
    ...{ phase: "text", settled: "boolean", data: "text", ttl_ms: "bigint" },
  },
  replaceQuote: {
    ...{ key: "text", epoch: "bigint", nonce: "text", revision: "bigint" },
    ...{ phase: "text", settled: "boolean", data: "text", ttl_ms: "bigint" },
    ...{ new_nonce: "text", owner: "text", lease_ms: "bigint", in_time: "boolean" },
  },
  release: { key: "text", epoch: "bigint", nonce: "text" },
} satisfies Record<string, Readonly<Record<string, string>>>;

const textColumns = ["data"] as const;
export type TextColumn = (typeof textColumns)[number];
/** What no JSON contains as it is. */
export const textSeparator = "\u0001";
const separator = `chr(${textSeparator.charCodeAt(0)})`;

export type KeyedName = keyof typeof inputs;
export type KeyedInput<Name extends KeyedName> = Readonly<
  Record<keyof (typeof inputs)[Name], string | number | boolean | null | undefined>
>;

export interface KeyedStatement {
  /** For one key: takes the input's values, in the order of `columns`. */
  readonly alone: string;
  readonly columns: readonly string[];
  /**
   * For many keys, none of them twice: takes a JSON array of inputs without their `texts`, and for each of these columns the texts of all inputs,
   * with a separator before each. It returns a row for each key whose row was there and not locked by somebody else, with its `key` where the
   * statement applied to it. It never waits for a row, and so never for another one of its kind.
   */
  readonly together: string;
  /** Columns of long texts, which hold JSON themselves: in the JSON of an input, each of their quotes would be escaped, and read again. */
  readonly texts: readonly TextColumn[];
  /** Whether a key without a row in the result of `together` may have been locked. */
  readonly skipsLocked: boolean;
}

export interface PostgresStatements {
  readonly keyed: Readonly<Record<KeyedName, KeyedStatement>>;
  readonly acquireAbandoned: string;
  readonly list: string;
  readonly listPhase: string;
  readonly counts: string;
  readonly pruneQuoted: string;
  readonly pruneSettled: string;
}

/** What each statement does, to complete "could not". */
export const postgresWork: Readonly<Record<KeyedName | Exclude<keyof PostgresStatements, "keyed">, string>> = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  renew: "renew a lease",
  write: "store a state",
  replaceQuote: "store a state in place of a quote",
  release: "release a lease",
  list: "list flows",
  listPhase: "list flows",
  counts: "count flows",
  pruneQuoted: "delete old quotes",
  pruneSettled: "prune old flows",
};

// For this statement's own transaction only, so that it works in any pool, and behind a pooler. Stricter settings are kept.
const durably = `set_config('synchronous_commit', CASE
  WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
  ELSE current_setting('synchronous_commit') END, true) AS durably`;

const milliseconds = (time: string): string => `floor(extract(epoch FROM f.${time}) * 1000)::bigint AS ${time}_ms`;
const after = (column: string, from = "clock_timestamp()"): string => `${from} + ${column} * interval '1 millisecond'`;
const isFree = "(f.lease_until IS NULL OR f.lease_until <= clock_timestamp())";
/** The clock may have been set back. */
const oldestMs =
  "greatest(0, floor(extract(epoch FROM clock_timestamp() - min(f.created_at)) * 1000))::bigint AS oldest_ms";
const isOwned = "f.epoch = i.epoch AND f.nonce = i.nonce AND f.pruned_at IS NULL";
/** Takes the service, and the gateway, which is empty for all of them. */
const isInScope = "f.service = $1 AND ($2 = '' OR f.gateway = $2)";

const detailsWithoutState = `f.service, f.gateway, f.epoch, f.nonce, f.revision, f.owner, ${milliseconds("lease_until")},
  ${milliseconds("created_at")}, ${milliseconds("updated_at")}, ${milliseconds("expires_at")}, ${milliseconds("pruned_at")},
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS read_at_ms`;
const details = `${detailsWithoutState}, f.phase, f.settled::int AS settled, f.data`;
const columns = `f.key, ${details}`;

const stateAt = (time: string): string => `phase = i.phase, settled = i.settled, data = i.data,
  updated_at = ${time}, expires_at = ${after("i.ttl_ms")}, revision = f.revision + 1`;
const isReplaced = `${isOwned} AND f.revision = i.revision`;
const isLeaseless = "(i.settled OR i.phase = 'quoted')";

type UpdateParts = readonly [set: string, where: string, returning: readonly string[]];

/** Updates of one row: what is set, where, and what comes back beside its key. */
const updates = {
  acquire: [
    `epoch = f.epoch + 1, nonce = i.nonce, owner = i.owner, lease_until = ${after("i.lease_ms")}`,
    `f.pruned_at IS NULL AND f.phase <> 'quoted' AND ${isFree}`,
    [details],
  ],
  renew: [`lease_until = ${after("i.lease_ms")}`, `${isOwned} AND f.lease_until IS NOT NULL`, []],
  write: [
    `${stateAt("clock_timestamp()")}, lease_until = CASE WHEN NOT i.settled THEN f.lease_until END`,
    `${isReplaced} AND f.phase <> 'quoted'`,
    [],
  ],
  replaceQuote: [
    // A server that is stopped within the statement reads a later time here than where it finds that the quote is valid.
    `${stateAt("least(clock_timestamp(), CASE WHEN i.in_time THEN f.expires_at END)")}, epoch = f.epoch + 1,
      nonce = i.new_nonce, owner = i.owner, lease_until = CASE WHEN NOT ${isLeaseless} THEN ${after("i.lease_ms")} END`,
    `${isReplaced} AND f.phase = 'quoted' AND (NOT i.in_time OR f.expires_at > clock_timestamp())`,
    [],
  ],
  release: ["lease_until = NULL", isOwned, []],
} satisfies Partial<Record<KeyedName, UpdateParts>>;

type UpdateName = keyof typeof updates;

export function postgresStatements({ flows }: PostgresTables): PostgresStatements {
  const updated = Object.entries<UpdateParts>(updates).map(([name, update]) => [
    name,
    updateOf(flows, name as KeyedName, update),
  ]);
  return {
    keyed: { ...(Object.fromEntries(updated) as Record<UpdateName, KeyedStatement>), ...others(flows) },
    acquireAbandoned: `WITH next AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase <> 'quoted' AND f.key > $3 AND ${isFree} AND ${isInScope}
        ORDER BY f.key LIMIT 1 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET epoch = f.epoch + 1, nonce = $4, owner = $5, lease_until = ${after("$6::bigint")}
      FROM next WHERE f.key = next.key RETURNING ${columns}, ${durably}`,
    list: ofServer(`SELECT ${columns} FROM ${flows} AS f WHERE f.pruned_at IS NULL AND f.key > $3 AND ${isInScope}
      ORDER BY f.key LIMIT $4`),
    listPhase:
      ofServer(`(SELECT ${columns} FROM ${flows} AS f WHERE f.settled_phase = $5 AND f.key > $3 AND ${isInScope}
        ORDER BY f.key LIMIT $4)
      UNION ALL (SELECT ${columns} FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase = $5 AND f.key > $3 AND ${isInScope}
        ORDER BY f.key LIMIT $4)
      ORDER BY key LIMIT $4`),
    counts: ofServer(`SELECT f.service, f.gateway, f.phase, f.settled::int AS settled, count(*) AS flows,
        count(*) FILTER (WHERE NOT f.settled AND f.phase <> 'quoted' AND ${isFree}) AS unowned, ${oldestMs}
      FROM ${flows} AS f WHERE f.pruned_at IS NULL GROUP BY f.service, f.gateway, f.phase, f.settled`),
    pruneQuoted: `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
        WHERE f.settled_phase = 'quoted' AND f.key > $1 AND f.expires_at < clock_timestamp() - interval '1 day'
          AND f.expires_at < to_timestamp($2::float8 / 1000)
        ORDER BY f.key LIMIT $3 FOR UPDATE SKIP LOCKED)
      DELETE FROM ${flows} AS f USING old WHERE f.key = old.key RETURNING f.key, ${durably}`,
    pruneSettled: `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
        WHERE f.settled_phase = $4 AND f.key > $1 AND f.updated_at < to_timestamp($2::float8 / 1000)
        ORDER BY f.key LIMIT $3 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET data = '', lease_until = NULL, pruned_at = clock_timestamp()
      FROM old WHERE f.key = old.key RETURNING f.key, ${durably}`,
  };
}

/** What a statement reads, and whether a server in recovery read it: then there is a row even where it read none. */
function ofServer(select: string): string {
  return `SELECT server.is_replica, selected.* FROM (SELECT pg_is_in_recovery()::int AS is_replica) AS server
    LEFT JOIN LATERAL (${select}) AS selected ON true`;
}

function updateOf(flows: string, name: KeyedName, [set, where, returning]: UpdateParts): KeyedStatement {
  // Where a trigger has put the old row in the new one's place, the server counts that as updated. Without a key, nothing applied.
  const isNew = "revision" in inputs[name] ? "f.revision > i.revision" : "f.nonce = i.nonce";
  const row = [`CASE WHEN ${isNew} THEN f.key END AS key`, ...returning, durably].join(", ");
  const update = (from: string): string =>
    `UPDATE ${flows} AS f SET ${set} FROM ${from} WHERE f.key = i.key AND ${where} RETURNING ${row}`;
  return {
    columns: Object.keys(inputs[name]),
    alone: `WITH i AS (${inputAlone(name)}) ${update("i")}`,
    together: `WITH i AS MATERIALIZED (${inputTogether(name)}),
      free AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f WHERE f.key = ANY (ARRAY(SELECT i.key FROM i))
        ORDER BY f.key FOR NO KEY UPDATE SKIP LOCKED),
      done AS (${update("i JOIN free USING (key)")})
      SELECT done.*, free.key AS free_key FROM free LEFT JOIN done ON done.key = free.key`,
    texts: textsOf(name),
    skipsLocked: true,
  };
}

function others(flows: string): Record<"begin" | "read", KeyedStatement> {
  const insert = `INSERT INTO ${flows} AS f (key, service, gateway, phase, settled, data, epoch, revision, nonce, owner,
      lease_until, created_at, updated_at, expires_at)
    SELECT i.key, i.service, i.gateway, i.phase, i.settled, i.data, 1, 1, i.nonce, i.owner,
      CASE WHEN NOT ${isLeaseless} THEN ${after("i.lease_ms", "now.at")} END, now.at, now.at, ${after("i.ttl_ms", "now.at")}
    FROM i CROSS JOIN (SELECT clock_timestamp() AS at) AS now ORDER BY i.key COLLATE "C"
    ON CONFLICT (key) DO NOTHING RETURNING f.key, ${detailsWithoutState}, ${durably}`;
  const select = (where: string): string => ofServer(`SELECT ${columns} FROM ${flows} AS f WHERE ${where}`);
  return {
    begin: {
      columns: Object.keys(inputs.begin),
      alone: `WITH i AS (${inputAlone("begin")}) ${insert}`,
      together: `WITH i AS (${inputTogether("begin")}) ${insert}`,
      texts: textsOf("begin"),
      skipsLocked: false,
    },
    read: {
      columns: Object.keys(inputs.read),
      alone: select("f.key = $1"),
      together: select(`f.key = ANY (ARRAY(SELECT i.key FROM (${inputTogether("read")}) AS i))`),
      texts: [],
      skipsLocked: false,
    },
  };
}

function inputAlone(name: KeyedName): string {
  const values = Object.entries(inputs[name]).map(([column, type], index) => `$${index + 1}::${type} AS ${column}`);
  return `SELECT ${values.join(", ")}`;
}

function inputTogether(name: KeyedName): string {
  const texts = textsOf(name);
  const others = Object.entries<string>(inputs[name]).filter(([column]) => !texts.some((text) => text === column));
  const record = `json_to_recordset($1::json) AS (${others.map((column) => column.join(" ")).join(", ")})`;
  const lists = texts.map((_, index) => `unnest((string_to_array($${index + 2}::text, ${separator}))[2:])`);
  const names = [...others.map(([column]) => column), ...texts];
  return `SELECT * FROM ROWS FROM (${[record, ...lists].join(", ")}) AS input(${names.join(", ")})`;
}

function textsOf(name: KeyedName): readonly TextColumn[] {
  return textColumns.filter((column) => column in inputs[name]);
}
