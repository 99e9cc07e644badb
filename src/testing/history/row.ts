import {
  finalPhases,
  type JournalEntry,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type ObservedLease,
  type PruneOptions,
  type ScopeFilter,
  type StateId,
} from "../../flows/journal.js";
import { isRepetition } from "../../flows/journal-arguments.js";
import { compareKeys } from "../../flows/state/flow-key.js";
import type { JournalCall, Told } from "./history.js";
import { roundingMs, type Span, type When } from "./journal-time.js";

const times = ["createdAtMs", "updatedAtMs", "expiresAtMs", "leaseUntilMs", "prunedAtMs"] as const;
type Times = { readonly [Name in (typeof times)[number]]?: Span | undefined };

/** An entry whose times are known as far as somebody was told them, or by when they were stored. */
export interface Row extends Omit<JournalEntry, keyof Times | "isExpired" | "isOverlong" | "incarnation">, Times {}

/** What may be there. */
type Rows = readonly (Row | undefined)[];

/** What a call may come to. */
interface Outcomes {
  /** What is there afterwards where it is done. Empty: it can't be done. */
  readonly done: Rows;
  /** Whether it can change nothing, and say so. */
  readonly isRefused: boolean;
}

/** What may be there after a call, if it told this. */
export function rowsAfter(row: Row | undefined, call: JournalCall, when: When, told: Told): Rows {
  const { done, isRefused } = outcomesOf(row, call, when);
  const rows = told.isDone ? done : isRefused ? [row] : [];
  return told.entry === undefined ? rows : rows.flatMap((each) => asTold(each, told.entry, when.shown));
}

/** What may be there after a call of which nobody knows what it told, where it changes something. */
export function rowsChanged(row: Row | undefined, call: JournalCall, when: When): Rows {
  return call.name === "read" ? [] : outcomesOf(row, call, when).done.filter((each) => each !== row);
}

function outcomesOf(row: Row | undefined, call: JournalCall, when: When): Outcomes {
  const now = when.stored;
  switch (call.name) {
    case "begin": {
      if (row !== undefined) return refused;
      const { key, scope, state, lease } = call;
      const first = { key, scope, epoch: 0, revision: 0, createdAtMs: now };
      return done(leased({ ...first, ...stored(first, state, now) }, state.settled, lease, now));
    }
    case "read":
      return row === undefined ? refused : done(row);
    case "acquire":
      return acquired(row, call.lease, when, call.observed);
    case "acquireAbandoned":
      return isWanted(row, call.scope, call.after) ? acquired(row, call.lease, when) : refused;
    case "renew":
      if (!isOwned(row, call.id) || row.leaseUntilMs === undefined) return refused;
      return done({ ...row, ...extended(call.leaseMs, now) });
    case "write":
      return written(row, call.id, call.state, call.leaseMs, now);
    case "replaceQuote": {
      if (!isQuote(row, call.id)) return refused;
      const { state, lease, expired } = call;
      const isExpired = isOver(row.expiresAtMs, when.checked);
      const isNot = { possibly: !isExpired.certainly, certainly: !isExpired.possibly };
      const isMet = expired === undefined ? always : expired ? isExpired : isNot;
      return choice(isMet, leased({ ...row, ...stored(row, state, now) }, state.settled, lease, now));
    }
    case "fenceQuote":
      if (!isQuote(row, call.id)) return refused;
      return done({ ...row, epoch: row.epoch + 1, revision: row.revision + 1, nonce: call.nonce });
    case "release":
      return done(isOwned(row, call.id) ? { ...row, ...noLease } : row);
    case "prune":
      return choice({ possibly: isPruned(row, call.options), certainly: false }, prunedRow(row, call.options, now));
    case "restore":
      return done(row);
  }
}

/** Whether something is so, by what is known of the time. */
interface Truth {
  readonly possibly: boolean;
  readonly certainly: boolean;
}

const always: Truth = { possibly: true, certainly: true };
const refused: Outcomes = { done: [], isRefused: true };
const noLease = { leaseUntilMs: undefined, leaseMs: undefined };

function done(row: Row | undefined): Outcomes {
  return choice(always, row);
}

function choice({ possibly, certainly }: Truth, row: Row | undefined): Outcomes {
  return { done: possibly ? [row] : [], isRefused: !certainly };
}

function acquired(row: Row | undefined, lease: LeaseRequest, when: When, observed?: ObservedLease): Outcomes {
  if (row === undefined || row.prunedAtMs !== undefined) return refused;
  const isFree = row.leaseUntilMs === undefined ? always : isOver(row.leaseUntilMs, when.checked);
  const isSeen = isLeasedAs(row, observed);
  const isGranted = {
    possibly: isFree.possibly || isSeen.possibly,
    certainly: isFree.certainly || isSeen.certainly,
  };
  return choice(isGranted, leased(row, false, lease, when.stored));
}

function written(
  row: Row | undefined,
  id: StateId,
  state: JournalState,
  leaseMs: number | undefined,
  now: Span,
): Outcomes {
  if (isRepetition(row, id, state)) return done(row);
  if (!isOwned(row, id) || row.revision !== id.revision) return refused;
  if (leaseMs !== undefined && row.leaseUntilMs === undefined) return refused;
  const { scope = row.scope, incarnationMark = row.incarnationMark } = state;
  const next = { ...row, ...stored(row, state, now), scope, incarnationMark };
  if (state.settled) return done({ ...next, ...noLease });
  return done(leaseMs === undefined ? next : { ...next, ...extended(leaseMs, now) });
}

function stored({ revision }: Pick<StateId, "revision">, state: JournalState, now: Span) {
  const { phase, settled, data, evidence, quoteTtlMs } = state;
  const expiresAtMs = quoteTtlMs === undefined ? undefined : later(now, quoteTtlMs);
  return { phase, settled, data, evidence, updatedAtMs: now, expiresAtMs, revision: revision + 1 };
}

function leased(row: Omit<Row, "nonce" | "owner">, settled: boolean, lease: LeaseRequest, now: Span): Row {
  const { owner, nonce, leaseMs } = lease;
  return { ...row, ...(settled ? noLease : extended(leaseMs, now)), epoch: row.epoch + 1, nonce, owner };
}

function extended(leaseMs: number, now: Span) {
  return { leaseUntilMs: later(now, leaseMs), leaseMs };
}

function later([earliest, latest]: Span, ms: number): Span {
  return [earliest + ms, latest + ms];
}

function isOwned(row: Row | undefined, { epoch, nonce }: LeaseId): row is Row {
  return row?.epoch === epoch && row.nonce === nonce && row.prunedAtMs === undefined;
}

function isQuote(row: Row | undefined, id: StateId): row is Row {
  return isOwned(row, id) && row.phase === "quoted" && row.revision === id.revision;
}

function isWanted(row: Row | undefined, { service, gateway }: ScopeFilter, after = ""): row is Row {
  if (row === undefined || row.settled || compareKeys(row.key, after) <= 0) return false;
  return row.scope.service === service && (gateway ?? row.scope.gateway) === row.scope.gateway;
}

function isPruned(row: Row | undefined, { settledBeforeMs = 0, quotedBeforeMs = 0 }: PruneOptions): boolean {
  if (row === undefined || row.prunedAtMs !== undefined) return false;
  if (row.phase === "quoted") return isBefore(row.expiresAtMs, quotedBeforeMs);
  const isFinal = (finalPhases as readonly string[]).includes(row.phase);
  return isFinal && isBefore(row.updatedAtMs, settledBeforeMs);
}

function prunedRow(row: Row | undefined, { keep }: PruneOptions, now: Span): Row | undefined {
  if (row === undefined || row.phase === "quoted") return undefined;
  return { ...row, data: "", evidence: keep === "evidence" ? row.evidence : "", prunedAtMs: now };
}

function isBefore(span: Span | undefined, ms: number): boolean {
  return span !== undefined && span[0] - roundingMs < ms;
}

function isLeasedAs({ epoch, nonce, revision, leaseUntilMs }: Row, observed: ObservedLease | undefined): Truth {
  const isSame = epoch === observed?.epoch && nonce === observed.nonce && revision === observed.revision;
  if (!isSame || leaseUntilMs === undefined) return { possibly: false, certainly: false };
  const [earliest, latest] = leaseUntilMs;
  const at = observed.leaseUntilMs;
  return { possibly: isIn(leaseUntilMs, at), certainly: earliest === latest && earliest === at };
}

/** Whether a time has come. */
function isOver(end: Span | undefined, [earliest, latest]: Span): Truth {
  if (end === undefined) return { possibly: false, certainly: false };
  return { possibly: end[0] - roundingMs <= latest, certainly: end[1] + roundingMs <= earliest };
}

function isIn([earliest, latest]: Span, ms: number): boolean {
  return earliest - roundingMs <= ms && ms <= latest + roundingMs;
}

const texts = [
  ...(["key", "epoch", "nonce", "revision", "phase", "settled", "data", "evidence"] as const),
  ...(["owner", "incarnationMark"] as const),
];

/** What is there, with the times that were told of it; nothing if it can't be what was told. */
function asTold(row: Row | undefined, entry: JournalEntry | undefined, now: Span): Rows {
  if (row === undefined || entry === undefined) return row === entry ? [row] : [];
  const { service, gateway } = row.scope;
  const isSame = texts.every((name) => row[name] === entry[name]);
  if (!isSame || entry.scope.service !== service || entry.scope.gateway !== gateway) return [];
  // A fence leaves the lease to nobody whose length would be known.
  if (entry.leaseMs !== undefined && entry.leaseMs !== row.leaseMs) return [];
  const { expiresAtMs, leaseUntilMs, leaseMs = 0 } = row;
  if (!mayBe(isOver(expiresAtMs, now), entry.isExpired)) return [];
  const isInLength = leaseUntilMs === undefined ? always : isOver(leaseUntilMs, later(now, leaseMs));
  if (!mayBe(isInLength, !entry.isOverlong)) return [];
  const told = new Map<string, Span>();
  for (const name of times) {
    const [span, ms] = [row[name], entry[name]];
    if ((span === undefined) !== (ms === undefined)) return [];
    if (span === undefined || ms === undefined) continue;
    if (!isIn(span, ms)) return [];
    told.set(name, [ms, ms]);
  }
  return [{ ...row, ...Object.fromEntries(told) }];
}

function mayBe({ possibly, certainly }: Truth, told: boolean): boolean {
  return told ? possibly : !certainly;
}
