import type { PostgresTables } from "./postgres-tables.js";

/** What statements about one key take, with PostgreSQL's types. The first is the key. */
const inputs = {
  begin: {
    ...{ key: "text", service: "text", gateway: "text" },
    ...{ phase: "text", settled: "boolean", data: "text", evidence: "text", ttl_ms: "bigint" },
    ...{ nonce: "text", owner: "text", lease_ms: "bigint" },
  },
  read: { key: "text" },
  acquire: {
    ...{ key: "text", nonce: "text", owner: "text", lease_ms: "bigint" },
    ...{ seen_epoch: "bigint", seen_nonce: "text", seen_revision: "bigint", seen_until_ms: "bigint" },
  },
  renew: { key: "text", epoch: "bigint", nonce: "text", lease_ms: "bigint" },
  write: {
    ...{ key: "text", epoch: "bigint", nonce: "text", revision: "bigint" },
    ...{ phase: "text", settled: "boolean", data: "text", evidence: "text", ttl_ms: "bigint", lease_ms: "bigint" },
    ...{ incarnation_mark: "text", service: "text", gateway: "text" },
  },
  replaceQuote: {
    ...{ key: "text", epoch: "bigint", nonce: "text", revision: "bigint" },
    ...{ phase: "text", settled: "boolean", data: "text", evidence: "text", ttl_ms: "bigint" },
    ...{ new_nonce: "text", owner: "text", lease_ms: "bigint", expired: "boolean" },
  },
  fenceQuote: { key: "text", epoch: "bigint", nonce: "text", revision: "bigint", new_nonce: "text" },
  release: { key: "text", epoch: "bigint", nonce: "text" },
} satisfies Record<string, Readonly<Record<string, string>>>;

const textColumns = ["data", "evidence"] as const;
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
  readonly overlong: string;
  readonly list: string;
  readonly listPhase: string;
  readonly counts: string;
  readonly scopes: string;
  readonly backlog: string;
  readonly pruneQuoted: string;
  readonly pruneSettled: string;
}

/** What each statement does, to complete "could not". */
export const postgresWork: Readonly<Record<KeyedName | Exclude<keyof PostgresStatements, "keyed">, string>> = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  overlong: "list flows",
  renew: "renew a lease",
  write: "store a state",
  replaceQuote: "store a state in place of a quote",
  fenceQuote: "fence a quote",
  release: "release a lease",
  list: "list flows",
  listPhase: "list flows",
  counts: "count flows",
  scopes: "count flows",
  backlog: "count flows",
  pruneQuoted: "delete old quotes",
  pruneSettled: "prune old flows",
};

// For this statement's own transaction only, so that it works in any pool, and behind a pooler. Stricter settings are kept.
const durably = `set_config('synchronous_commit', CASE
  WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
  ELSE current_setting('synchronous_commit') END, true) AS durably`;

const milliseconds = (time: string): string => `floor(extract(epoch FROM f.${time}) * 1000)::bigint AS ${time}_ms`;
const after = (column: string, from = "clock_timestamp()"): string => `${from} + ${column} * interval '1 millisecond'`;
const isExpired = "(f.expires_at IS NOT NULL AND f.expires_at <= clock_timestamp())";
const isFree = "(f.lease_until IS NULL OR f.lease_until <= clock_timestamp())";
/** The clock may have been set back. */
const oldestMs =
  "greatest(0, floor(extract(epoch FROM clock_timestamp() - min(f.created_at)) * 1000))::bigint AS oldest_ms";
/** Release 0.2 stores neither its leases' lengths nor whose they are. */
const leaseMs = "CASE WHEN f.lease_nonce = f.nonce AND f.lease_until IS NOT NULL THEN f.lease_ms END";
const isOverlong = `coalesce(f.lease_nonce = f.nonce AND f.lease_until > ${after("f.lease_ms")}, false)`;
const isObserved = `coalesce(f.epoch = i.seen_epoch AND f.nonce = i.seen_nonce AND f.revision = i.seen_revision
  AND floor(extract(epoch FROM f.lease_until) * 1000) = i.seen_until_ms, false)`;
const isOwned = "f.epoch = i.epoch AND f.nonce = i.nonce AND f.pruned_at IS NULL";
/** Takes the service, and the gateway, which is empty for all of them. */
const isInScope = "f.service = $1 AND ($2 = '' OR f.gateway = $2)";

const detailsWithoutState = `f.service, f.gateway, f.epoch, f.nonce, f.revision, f.owner, ${milliseconds("lease_until")},
  ${leaseMs} AS lease_ms, ${isOverlong}::int AS is_overlong, f.incarnation_mark,
  ${milliseconds("created_at")}, ${milliseconds("updated_at")}, ${milliseconds("expires_at")},
  ${isExpired}::int AS is_expired, ${milliseconds("pruned_at")}`;
const details = `${detailsWithoutState}, f.phase, f.settled::int AS settled, f.data, f.evidence`;
const columns = `f.key, ${details}`;

const stateAt = (time: string): string => `phase = i.phase, settled = i.settled, data = i.data, evidence = i.evidence,
  updated_at = ${time}, expires_at = ${after("i.ttl_ms")}, revision = f.revision + 1`;
const length = "lease_ms = i.lease_ms, lease_nonce = i.nonce";
const isReplaced = `${isOwned} AND f.revision = i.revision`;

/** Text that only one history of one cluster has: a server that was promoted has another timeline. A standby has none yet, and does not fail. */
export const incarnationOfServer = `(SELECT system_identifier::text FROM pg_control_system()) || '/' ||
  left(pg_walfile_name(CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_lsn() END), 8)`;
/** The same of the table's own file: a table that a dump was restored into has another one. A view and a partitioned table have none. */
const incarnationOfTable = (flows: string): string => `coalesce(pg_relation_filenode('${flows}'::regclass)::text, '')`;

type UpdateParts = readonly [set: string, where: string, returning: readonly string[]];

/** Updates of one row: what is set, where, and what comes back beside its key. */
const updatesOf = (incarnation: string) =>
  ({
    acquire: [
      `epoch = f.epoch + 1, nonce = i.nonce, owner = i.owner, lease_until = ${after("i.lease_ms")}, ${length}`,
      `f.pruned_at IS NULL AND (${isFree} OR ${isObserved})`,
      [details, incarnation],
    ],
    renew: [`lease_until = ${after("i.lease_ms")}, ${length}`, `${isOwned} AND f.lease_until IS NOT NULL`, []],
    write: [
      `${stateAt("clock_timestamp()")}, lease_until = CASE WHEN i.settled THEN NULL ELSE coalesce(${after("i.lease_ms")}, f.lease_until) END,
        lease_ms = coalesce(i.lease_ms, f.lease_ms),
        lease_nonce = CASE WHEN i.lease_ms IS NULL THEN f.lease_nonce ELSE i.nonce END,
        incarnation_mark = coalesce(i.incarnation_mark, f.incarnation_mark),
        service = coalesce(i.service, f.service), gateway = coalesce(i.gateway, f.gateway)`,
      `${isReplaced} AND (i.lease_ms IS NULL OR f.lease_until IS NOT NULL)`,
      [],
    ],
    replaceQuote: [
      // A server that is stopped within the statement reads a later time here than where it finds that the quote has not expired.
      `${stateAt("least(clock_timestamp(), CASE WHEN i.expired = false THEN f.expires_at END)")}, epoch = f.epoch + 1, nonce = i.new_nonce, owner = i.owner,
        lease_until = CASE WHEN i.settled THEN NULL ELSE ${after("i.lease_ms")} END,
        lease_ms = i.lease_ms, lease_nonce = i.new_nonce`,
      `${isReplaced} AND f.phase = 'quoted' AND coalesce(i.expired, ${isExpired}) = ${isExpired}`,
      [detailsWithoutState, incarnation],
    ],
    fenceQuote: [
      "epoch = f.epoch + 1, revision = f.revision + 1, nonce = i.new_nonce",
      `${isReplaced} AND f.phase = 'quoted'`,
      [details],
    ],
    release: ["lease_until = NULL", isOwned, []],
  }) satisfies Partial<Record<KeyedName, UpdateParts>>;

type UpdateName = keyof ReturnType<typeof updatesOf>;

/** @param canTellIncarnation whether the server evaluates `incarnationOfServer`. */
export function postgresStatements({ flows }: PostgresTables, canTellIncarnation: boolean): PostgresStatements {
  // Of its own in the statement, so that it is evaluated once and not for each row.
  const known = `${incarnationOfServer} || '/' || ${incarnationOfTable(flows)}`;
  const incarnation = `(SELECT ${canTellIncarnation ? known : "NULL::text"}) AS incarnation`;
  const updates = Object.entries(updatesOf(incarnation));
  const updated = updates.map(([name, update]) => [name, updateOf(flows, name as KeyedName, update)]);
  return {
    keyed: {
      ...(Object.fromEntries(updated) as Record<UpdateName, KeyedStatement>),
      ...others(flows, incarnation),
    },
    acquireAbandoned: `WITH next AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.key > $3 AND ${isFree} AND ${isInScope}
        ORDER BY f.key LIMIT 1 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET epoch = f.epoch + 1, nonce = $4, owner = $5, lease_until = ${after("$6::bigint")},
        lease_ms = $6::bigint, lease_nonce = $4
      FROM next WHERE f.key = next.key RETURNING ${columns}, ${incarnation}, ${durably}`,
    overlong: ofServer(`SELECT ${columns} FROM ${flows} AS f
      WHERE NOT f.settled AND f.pruned_at IS NULL AND f.key > $3 AND ${isOverlong} AND ${isInScope} ORDER BY f.key LIMIT $4`),
    list: ofServer(`SELECT ${columns} FROM ${flows} AS f WHERE f.pruned_at IS NULL AND f.key > $3 AND ${isInScope}
      ORDER BY f.key LIMIT $4`),
    listPhase:
      ofServer(`(SELECT ${columns} FROM ${flows} AS f WHERE f.settled_phase = $5 AND f.key > $3 AND ${isInScope}
        ORDER BY f.key LIMIT $4)
      UNION ALL (SELECT ${columns} FROM ${flows} AS f
        WHERE NOT f.settled AND f.pruned_at IS NULL AND f.phase = $5 AND f.key > $3 AND ${isInScope}
        ORDER BY f.key LIMIT $4)
      ORDER BY key LIMIT $4`),
    counts: ofServer(`SELECT f.settled_phase AS phase, count(*) AS flows FROM ${flows} AS f
      WHERE f.settled_phase IS NOT NULL AND ${isInScope} GROUP BY f.settled_phase
      UNION ALL SELECT f.phase, count(*) FROM ${flows} AS f
      WHERE NOT f.settled AND f.pruned_at IS NULL AND ${isInScope} GROUP BY f.phase`),
    scopes:
      ofServer(`SELECT f.service, f.gateway, count(*) FILTER (WHERE NOT f.settled AND f.pruned_at IS NULL) AS open,
        count(*) FILTER (WHERE f.settled_phase = 'held') AS held, count(*) FILTER (WHERE f.phase = 'paid') AS paid,
        count(*) FILTER (WHERE f.pruned_at IS NULL) AS flows
      FROM ${flows} AS f GROUP BY f.service, f.gateway ORDER BY f.service, f.gateway`),
    backlog:
      ofServer(`SELECT f.service, f.gateway, f.phase, count(*) AS flows, count(*) FILTER (WHERE ${isFree}) AS unowned, ${oldestMs}
      FROM ${flows} AS f WHERE NOT f.settled AND f.pruned_at IS NULL GROUP BY f.service, f.gateway, f.phase
      UNION ALL SELECT f.service, f.gateway, f.phase, count(*), 0, ${oldestMs}
      FROM ${flows} AS f WHERE f.settled_phase = 'held' GROUP BY f.service, f.gateway, f.phase`),
    pruneQuoted: `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
        WHERE f.settled_phase = 'quoted' AND f.key > $1 AND f.expires_at < to_timestamp($2::float8 / 1000)
        ORDER BY f.key LIMIT $3 FOR UPDATE SKIP LOCKED)
      DELETE FROM ${flows} AS f USING old WHERE f.key = old.key RETURNING f.key, ${durably}`,
    pruneSettled: `WITH old AS MATERIALIZED (SELECT f.key FROM ${flows} AS f
        WHERE f.settled_phase = $4 AND f.key > $1 AND f.updated_at < to_timestamp($2::float8 / 1000)
        ORDER BY f.key LIMIT $3 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET data = '', evidence = CASE WHEN $5::boolean THEN f.evidence ELSE '' END,
        pruned_at = clock_timestamp()
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

function others(flows: string, incarnation: string): Record<"begin" | "read", KeyedStatement> {
  const insert = `INSERT INTO ${flows} AS f (key, service, gateway, phase, settled, data, evidence, epoch, nonce, owner,
      lease_nonce, lease_ms, lease_until, created_at, updated_at, expires_at)
    SELECT i.key, i.service, i.gateway, i.phase, i.settled, i.data, i.evidence, 1, i.nonce, i.owner,
      i.nonce, i.lease_ms, CASE WHEN i.settled THEN NULL ELSE ${after("i.lease_ms", "now.at")} END, now.at, now.at, ${after("i.ttl_ms", "now.at")}
    FROM i CROSS JOIN (SELECT clock_timestamp() AS at) AS now ORDER BY i.key COLLATE "C"
    ON CONFLICT (key) DO NOTHING RETURNING f.key, ${detailsWithoutState}, ${incarnation}, ${durably}`;
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
