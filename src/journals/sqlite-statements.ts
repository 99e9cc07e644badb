// SQLite reads its clock once per statement, after it has the lock: a lease counts from when it is granted.
const nowMs = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";
const isExpired = `(expires_at_ms IS NOT NULL AND expires_at_ms <= ${nowMs})`;
const isFree = `(lease_until_ms IS NULL OR lease_until_ms <= ${nowMs})`;
/** Release 0.2 stores neither its leases' lengths nor whose they are. */
const leaseMs = "iif(lease_nonce = nonce AND lease_until_ms IS NOT NULL, lease_ms, NULL)";
const isOverlong = `(lease_nonce = nonce AND lease_until_ms > ${nowMs} + lease_ms)`;
/** The clock may have been set back. */
const oldestMs = `max(0, ${nowMs} - min(created_at_ms)) AS oldest_ms`;
/** Takes a lease as it was observed. */
const isObserved = "(epoch = ? AND nonce = ? AND revision = ? AND lease_until_ms = ?)";
/** Takes the service, and twice the gateway, which is empty for all of them. */
const isInScope = "service = ? AND (? = '' OR gateway = ?)";
const isOwned = "key = ? AND epoch = ? AND nonce = ? AND pruned_at_ms IS NULL";

const columns = `key, service, gateway, epoch, nonce, revision, owner, lease_until_ms, ${leaseMs} AS lease_ms,
  ${isOverlong} AS is_overlong, incarnation_mark, created_at_ms, updated_at_ms,
  expires_at_ms, ${isExpired} AS is_expired, pruned_at_ms, phase, settled, data, evidence`;
/** Takes the nonce, the owner, the nonce and the lease twice. */
const lease = `epoch = epoch + 1, nonce = ?, owner = ?, lease_nonce = ?, lease_until_ms = ${nowMs} + ?, lease_ms = ?`;
/** Takes the phase, whether it is settled, the data, the evidence, and for how long it holds or null. */
const state = `phase = ?, settled = ?, data = ?, evidence = ?, updated_at_ms = ${nowMs}, expires_at_ms = ${nowMs} + ?,
  revision = revision + 1`;
/** Takes the mark, the service and the gateway, each of which null leaves as it is. */
const moved = `incarnation_mark = coalesce(?, incarnation_mark), service = coalesce(?, service), gateway = coalesce(?, gateway)`;

const listed = (which: string): string => `SELECT ${columns} FROM flows ${which} AND ${isInScope} ORDER BY key LIMIT ?`;
const isSettled = "INDEXED BY flows_settled WHERE settled = 1 AND pruned_at_ms IS NULL";
const isUnsettled = "INDEXED BY flows_unsettled WHERE settled = 0 AND pruned_at_ms IS NULL";

/**
 * Parameters are in the order of the question marks: better-sqlite3 has no numbered ones. What changes one known row returns none of it:
 * for `RETURNING`, SQLite makes a table in memory each time, a third of the statement's cost.
 */
export const sqliteStatements = {
  begin: `INSERT INTO flows (key, service, gateway, epoch, nonce, owner, lease_nonce, lease_until_ms, lease_ms,
      phase, settled, data, evidence, created_at_ms, updated_at_ms, expires_at_ms)
    VALUES (?, ?, ?, 1, ?, ?, ?, iif(?, NULL, ${nowMs} + ?), ?, ?, ?, ?, ?, ${nowMs}, ${nowMs}, ${nowMs} + ?)
    ON CONFLICT (key) DO NOTHING`,
  read: `SELECT ${columns} FROM flows WHERE key = ?`,
  acquire: `UPDATE flows SET ${lease} WHERE key = ? AND pruned_at_ms IS NULL AND ${isFree} RETURNING ${columns}`,
  acquireAbandoned: `UPDATE flows SET ${lease}
    WHERE key = (SELECT key FROM flows ${isUnsettled} AND key > ? AND ${isFree} AND ${isInScope} ORDER BY key LIMIT 1)
    RETURNING ${columns}`,
  acquireObserved: `UPDATE flows SET ${lease} WHERE key = ? AND pruned_at_ms IS NULL AND (${isFree} OR ${isObserved})
    RETURNING ${columns}`,
  overlong: listed(`${isUnsettled} AND key > ? AND ${isOverlong}`),
  renew: `UPDATE flows SET lease_until_ms = ${nowMs} + ?, lease_ms = ?, lease_nonce = nonce
    WHERE ${isOwned} AND lease_until_ms IS NOT NULL`,
  write: `UPDATE flows SET ${state}, ${moved}, lease_until_ms = iif(?, NULL, lease_until_ms)
    WHERE ${isOwned} AND revision = ?`,
  writeAndRenew: `UPDATE flows SET ${state}, ${moved}, lease_until_ms = iif(?, NULL, ${nowMs} + ?), lease_ms = ?,
      lease_nonce = nonce
    WHERE ${isOwned} AND revision = ? AND lease_until_ms IS NOT NULL`,
  replaceQuote: `UPDATE flows SET ${state}, epoch = epoch + 1, nonce = ?, owner = ?, lease_nonce = ?,
      lease_until_ms = iif(?, NULL, ${nowMs} + ?), lease_ms = ?
    WHERE ${isOwned} AND revision = ? AND phase = 'quoted' AND coalesce(?, ${isExpired}) = ${isExpired}`,
  fenceQuote: `UPDATE flows SET epoch = epoch + 1, revision = revision + 1, nonce = ?
    WHERE ${isOwned} AND revision = ? AND phase = 'quoted'`,
  release: `UPDATE flows SET lease_until_ms = NULL WHERE ${isOwned}`,
  list: listed("WHERE pruned_at_ms IS NULL AND key > ?"),
  listPhase: `SELECT * FROM (${listed(`${isSettled} AND phase = ? AND key > ?`)})
    UNION ALL SELECT * FROM (${listed(`${isUnsettled} AND phase = ? AND key > ?`)}) ORDER BY key LIMIT ?`,
  counts: `SELECT phase, count(*) AS flows FROM flows ${isSettled} AND ${isInScope} GROUP BY phase
    UNION ALL SELECT phase, count(*) AS flows FROM flows ${isUnsettled} AND ${isInScope} GROUP BY phase`,
  scopes: `SELECT service, gateway, sum(settled = 0 AND pruned_at_ms IS NULL) AS open,
      sum(phase = 'held' AND pruned_at_ms IS NULL) AS held, sum(phase = 'paid') AS paid, sum(pruned_at_ms IS NULL) AS flows
    FROM flows GROUP BY service, gateway ORDER BY service, gateway`,
  backlog: `SELECT service, gateway, phase, count(*) AS flows, sum(${isFree}) AS unowned, ${oldestMs} FROM flows ${isUnsettled}
    GROUP BY service, gateway, phase
    UNION ALL SELECT service, gateway, phase, count(*), 0, ${oldestMs} FROM flows ${isSettled} AND phase = 'held'
    GROUP BY service, gateway`,
  pruneQuoted: `DELETE FROM flows WHERE key IN (SELECT key FROM flows ${isSettled}
      AND phase = 'quoted' AND key > ? AND expires_at_ms < ? ORDER BY key LIMIT ?) RETURNING key`,
  pruneSettled: `UPDATE flows SET data = '', evidence = iif(?, evidence, ''), pruned_at_ms = ${nowMs}
    WHERE key IN (SELECT key FROM flows ${isSettled} AND phase = ? AND key > ? AND updated_at_ms < ? ORDER BY key LIMIT ?)
    RETURNING key`,
};

export type SqliteStatementName = keyof typeof sqliteStatements;

/** What each statement does, to complete "could not". */
export const sqliteWork: Readonly<Record<SqliteStatementName, string>> = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireObserved: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  overlong: "list flows",
  renew: "renew a lease",
  write: "store a state",
  writeAndRenew: "store a state",
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
