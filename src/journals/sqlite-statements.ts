// SQLite reads its clock once per statement, after it has the lock: a lease counts from when it is granted.
const nowMs = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";
const isFree = `(lease_until_ms IS NULL OR lease_until_ms <= ${nowMs})`;
/** Takes the service, and twice the gateway, which is empty for all of them. */
const isInScope = "service = ? AND (? = '' OR gateway = ?)";
const isOwned = "key = ? AND epoch = ? AND nonce = ? AND pruned_at_ms IS NULL";

const columns = `key, service, gateway, epoch, nonce, revision, owner, lease_until_ms, created_at_ms, updated_at_ms,
  expires_at_ms, pruned_at_ms, phase, settled, data, ${nowMs} AS read_at_ms`;
/** Takes the nonce, the owner, and the lease. */
const lease = `epoch = epoch + 1, nonce = ?, owner = ?, lease_until_ms = ${nowMs} + ?`;
/** Takes the phase, whether it is settled, the data, and for how long it holds or null. */
const state = `phase = ?, settled = ?, data = ?, updated_at_ms = ${nowMs}, expires_at_ms = ${nowMs} + ?,
  revision = revision + 1`;

const listed = (which: string): string => `SELECT ${columns} FROM flows ${which} AND ${isInScope} ORDER BY key LIMIT ?`;
const isSettled = "INDEXED BY flows_settled WHERE settled = 1 AND pruned_at_ms IS NULL";
const isUnsettled = "INDEXED BY flows_unsettled WHERE settled = 0 AND pruned_at_ms IS NULL";

/** The clock may have been set back. */
const counted = (unowned: string, which: string): string => `SELECT service, gateway, phase, settled, count(*) AS flows,
    ${unowned} AS unowned, max(0, ${nowMs} - min(created_at_ms)) AS oldest_ms
  FROM flows ${which} GROUP BY service, gateway, phase, settled`;

/**
 * Parameters are in the order of the question marks: better-sqlite3 has no numbered ones. What changes one known row returns none of it:
 * for `RETURNING`, SQLite makes a table in memory each time, a third of the statement's cost.
 */
export const sqliteStatements = {
  begin: `INSERT INTO flows (key, service, gateway, epoch, revision, nonce, owner, lease_until_ms,
      phase, settled, data, created_at_ms, updated_at_ms, expires_at_ms)
    VALUES (?, ?, ?, 1, 1, ?, ?, iif(?, NULL, ${nowMs} + ?), ?, ?, ?, ${nowMs}, ${nowMs}, ${nowMs} + ?)
    ON CONFLICT (key) DO NOTHING`,
  read: `SELECT ${columns} FROM flows WHERE key = ?`,
  acquire: `UPDATE flows SET ${lease} WHERE key = ? AND pruned_at_ms IS NULL AND phase <> 'quoted' AND ${isFree}`,
  acquireAbandoned: `UPDATE flows SET ${lease}
    WHERE key = (SELECT key FROM flows ${isUnsettled} AND phase <> 'quoted' AND key > ? AND ${isFree} AND ${isInScope}
      ORDER BY key LIMIT 1)
    RETURNING ${columns}`,
  renew: `UPDATE flows SET lease_until_ms = ${nowMs} + ? WHERE ${isOwned} AND lease_until_ms IS NOT NULL`,
  write: `UPDATE flows SET ${state}, lease_until_ms = iif(?, NULL, lease_until_ms)
    WHERE ${isOwned} AND revision = ? AND phase <> 'quoted'`,
  replaceQuote: `UPDATE flows SET ${state}, epoch = epoch + 1, nonce = ?, owner = ?,
      lease_until_ms = iif(?, NULL, ${nowMs} + ?)
    WHERE ${isOwned} AND revision = ? AND phase = 'quoted' AND (? = 0 OR expires_at_ms > ${nowMs})`,
  release: `UPDATE flows SET lease_until_ms = NULL WHERE ${isOwned}`,
  list: listed("WHERE pruned_at_ms IS NULL AND key > ?"),
  listPhase: `SELECT * FROM (${listed(`${isSettled} AND phase = ? AND key > ?`)})
    UNION ALL SELECT * FROM (${listed(`${isUnsettled} AND phase = ? AND key > ?`)}) ORDER BY key LIMIT ?`,
  counts: `${counted(`sum(phase <> 'quoted' AND ${isFree})`, isUnsettled)} UNION ALL ${counted("0", isSettled)}`,
  pruneQuoted: `DELETE FROM flows WHERE key IN (SELECT key FROM flows ${isSettled}
      AND phase = 'quoted' AND key > ? AND expires_at_ms < min(?, ${nowMs} - 86400000) ORDER BY key LIMIT ?) RETURNING key`,
  pruneSettled: `UPDATE flows SET data = '', lease_until_ms = NULL, pruned_at_ms = ${nowMs}
    WHERE key IN (SELECT key FROM flows ${isSettled} AND phase = ? AND key > ? AND updated_at_ms < ? ORDER BY key LIMIT ?)
    RETURNING key`,
};

export type SqliteStatementName = keyof typeof sqliteStatements;

/** What each statement does, to complete "could not". */
export const sqliteWork: Readonly<Record<SqliteStatementName, string>> = {
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
