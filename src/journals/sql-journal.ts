import { ConfigError, InvalidArgumentError, JournalError } from "../core/errors.js";
import {
  assertFlowKey,
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalList,
  type JournalQuery,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type PhaseCount,
  type PruneOptions,
  type PruneReport,
  type ScopeFilter,
  type StateId,
} from "../flows/journal.js";

/** What each statement does, to complete "could not". Both databases have the same statements, and the same names for their parameters. */
export const statementWork = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  renew: "renew a lease",
  write: "store a state",
  release: "release a lease",
  list: "list flows",
  listPhase: "list flows",
  counts: "count flows",
  pruneQuoted: "delete old quotes",
  pruneSettled: "prune old flows",
};

export type StatementName = keyof typeof statementWork;
export type ChangeName = "begin" | "acquire" | "renew" | "write" | "release";
export type QueryName = Exclude<StatementName, ChangeName | "read">;

/** A row as either database returns it. Numbers can be strings or BigInts, and booleans can be 0 and 1. */
export type Row = Readonly<Record<string, unknown>>;
/** Parameters by name. */
export type Input = Readonly<Record<string, string | number | boolean | null>>;
export type KeyedInput = Input & { readonly key: string };
/** Whether a change applied, and the current row. For `begin`, the row has no stored state. */
export type Changed = { readonly isApplied: boolean; readonly row: Row | undefined };

/** A database that runs the statements. */
export interface SqlStore {
  readonly journal: "PostgresJournal" | "SqliteJournal";
  read(key: string): Promise<Row | undefined>;
  change(name: ChangeName, input: KeyedInput): Promise<Changed>;
  query(name: QueryName, input: Input): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** How many flows `prune` deletes or empties at a time, so that others aren't kept waiting. */
const sliceSize = 500;

/** A journal over the statements of a database. */
export class SqlJournal implements Journal {
  readonly #open: SqlStore;
  #isClosed = false;

  /** @internal */
  protected constructor(store: SqlStore) {
    this.#open = store;
  }

  async begin(
    key: string,
    scope: FlowScope,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    assertFlowKey(key);
    assertStorable(scope.service, scope.gateway, state.phase, state.data, lease.owner, lease.nonce);
    const { service, gateway } = scope;
    const stored = stateInput(state);
    const input = { key, service, gateway, ...stored, ...leaseInput(lease) };
    const { isApplied, row } = await this.#store.change("begin", input);
    // Such as a quote that was pruned at that moment.
    if (row === undefined) throw this.#failure(" could not store a new flow: the key was in use, and is free again.");
    const entry = toEntry(isApplied ? { ...row, ...stored } : row);
    const isRepeated = entry.revision === 1 && entry.epoch === 1 && entry.nonce === lease.nonce;
    return { entry, created: isApplied || (isRepeated && entry.prunedAtMs === undefined) };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    return optionalEntry(await this.#store.read(key));
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    const { isApplied, row } = await this.#store.change("acquire", { key, ...leaseInput(lease) });
    const entry = optionalEntry(row);
    // Its own repetition. A quote and a tombstone have no lease.
    const isOurs = entry?.nonce === lease.nonce && (entry.leaseUntilMs ?? 0) > entry.readAtMs;
    return isApplied || isOurs ? entry : undefined;
  }

  async acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined> {
    const input = { ...scopeInput(scope), after: after ?? "", ...leaseInput(lease) };
    return optionalEntry((await this.#store.query("acquireAbandoned", input))[0]);
  }

  async renew(key: string, { epoch, nonce }: LeaseId, leaseMs: number): Promise<boolean> {
    return (await this.#store.change("renew", { key, epoch, nonce, lease_ms: leaseMs })).isApplied;
  }

  async write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean> {
    assertStorable(state.phase, state.data);
    const { epoch, nonce, revision } = id;
    const { lease, inTime = false } = quote ?? {};
    // Without a quote, the owner and the lease stay.
    const replacing = { new_nonce: lease?.nonce ?? "", owner: lease?.owner ?? "", lease_ms: lease?.leaseMs ?? null };
    const input = { key, epoch, nonce, revision, ...stateInput(state), ...replacing, in_time: inTime };
    const { isApplied, row } = await this.#store.change("write", input);
    const owned = lease === undefined ? { epoch, nonce } : { epoch: epoch + 1, nonce: lease.nonce };
    return isApplied || isWritten(optionalEntry(row), { ...owned, revision: revision + 1 }, state);
  }

  async release(key: string, { epoch, nonce }: LeaseId): Promise<void> {
    await this.#store.change("release", { key, epoch, nonce });
  }

  async list({ scope, phase, after = "", limit, counts = false }: JournalQuery): Promise<JournalList> {
    const page = { ...scopeInput(scope), after, limit };
    const rows = await (phase === undefined
      ? this.#store.query("list", page)
      : this.#store.query("listPhase", { ...page, phase }));
    return {
      entries: rows.map(toEntry),
      counts: counts ? (await this.#store.query("counts", {})).map(toCount) : [],
    };
  }

  async prune({ settledBeforeMs, quotedBeforeMs }: PruneOptions): Promise<PruneReport> {
    const quoted = quotedBeforeMs === undefined ? 0 : await this.#eachSlice("pruneQuoted", { before: quotedBeforeMs });
    let settled = 0;
    for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {
      settled += await this.#eachSlice("pruneSettled", { before: Number(settledBeforeMs), phase });
    }
    return { settled, quoted };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#open.close();
  }

  async #eachSlice(name: "pruneQuoted" | "pruneSettled", input: Input): Promise<number> {
    let count = 0;
    for (let after = ""; ; ) {
      const rows = await this.#store.query(name, { ...input, after, limit: sliceSize });
      count += rows.length;
      if (rows.length < sliceSize) return count;
      after = lastKey(rows);
    }
  }

  get #store(): SqlStore {
    if (this.#isClosed) throw this.#failure(": the journal is closed.");
    return this.#open;
  }

  #failure(text: string): JournalError {
    return new JournalError(this.#open.journal + text);
  }
}

/** Databases cut text off at U+0000 or refuse it, and store all lone surrogates as one character. */
function assertStorable(...texts: readonly string[]): void {
  if (texts.every((text) => !text.includes("\0") && text.isWellFormed())) return;
  throw new InvalidArgumentError("a journal stores no U+0000, and no lone surrogates");
}

function stateInput({ phase, settled, data, quoteTtlMs }: JournalState) {
  return { phase, settled, data, ttl_ms: quoteTtlMs ?? null };
}

function leaseInput({ nonce, owner, leaseMs }: LeaseRequest) {
  return { nonce, owner, lease_ms: leaseMs };
}

/** An empty gateway stands for all of them. */
function scopeInput({ service, gateway = "" }: ScopeFilter) {
  return { service, gateway };
}

/** Whether an entry is what a write has stored. */
function isWritten(present: JournalEntry | undefined, next: StateId, state: JournalState): boolean {
  return (
    present?.epoch === next.epoch &&
    present.nonce === next.nonce &&
    present.revision === next.revision &&
    present.phase === state.phase &&
    present.settled === state.settled &&
    present.data === state.data
  );
}

function toEntry(row: Row): JournalEntry {
  return {
    key: String(row.key),
    scope: { service: String(row.service), gateway: String(row.gateway) },
    epoch: Number(row.epoch),
    nonce: String(row.nonce),
    revision: Number(row.revision),
    phase: String(row.phase),
    settled: Number(row.settled) === 1,
    data: String(row.data),
    createdAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
    readAtMs: Number(row.read_at_ms),
    expiresAtMs: optionalNumber(row.expires_at_ms),
    owner: String(row.owner),
    leaseUntilMs: optionalNumber(row.lease_until_ms),
    prunedAtMs: optionalNumber(row.pruned_at_ms),
  };
}

function optionalEntry(row: Row | undefined): JournalEntry | undefined {
  return row && toEntry(row);
}

function toCount({ service, gateway, phase, settled, flows, unowned, oldest_ms }: Row): PhaseCount {
  return {
    service: String(service),
    gateway: String(gateway),
    phase: String(phase),
    settled: Number(settled) === 1,
    flows: Number(flows),
    unowned: Number(unowned),
    oldestMs: Number(oldest_ms),
  };
}

function optionalNumber(value: unknown): number | undefined {
  return value === null || value === undefined ? undefined : Number(value);
}

/** The last of some rows' keys, by their UTF-8 bytes. */
function lastKey(rows: readonly Row[]): string {
  const keys = rows.map(({ key }) => Buffer.from(String(key)));
  return String(keys.sort(Buffer.compare).at(-1));
}

/** The tables belong to an older release, or have open flows. This release reads only settled and held flows of 0.3.0. */
export function outdated(journal: SqlStore["journal"], what: string): ConfigError {
  return new ConfigError(
    `${journal}: ${what}, and this release of cross-border-payments reads settled and held flows of release 0.3.0 only. ` +
      'Finish the open flows with release 0.3.0 first: see docs/journal-versions.md, "Before 0.4.0". Nothing was changed.',
    { code: "journal_outdated" },
  );
}
