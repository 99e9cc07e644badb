import type { Event, Flow } from "../../src/flows/core/state.js";
import { isOutcome } from "../../src/flows/core/steps.js";

// The journal of the model: one row, and the writes that change it. A world's rules can be loosened, one at a time.

export interface Row {
  readonly flow: Flow;
  /** What is left of a flow that was pruned. */
  readonly pruned: boolean;
  readonly epoch: number;
  readonly nonce: number;
  readonly revision: number;
  readonly leased: boolean;
  /** A quote's time is over. */
  readonly expired: boolean;
}

export interface Message {
  readonly do: "begin" | "acquire" | "write" | "replaceQuote";
  readonly nonce: number;
  readonly flow?: Flow;
  /** Of the row that it replaces, and of its owner. */
  readonly epoch: number;
  readonly revision: number;
  /** The nonce of the quote that was read. */
  readonly seen: number;
  readonly inTime: boolean;
  /** Who decides by it, and whether that needs proof. */
  readonly operator: number;
  readonly proof: boolean;
}

/** A rule of the journal that doesn't hold. */
export type LooseRule = "revision" | "owner" | "inTime" | "tombstone";

export function isOpen(flow: Flow): boolean {
  return flow.phase !== "quoted" && !isOutcome(flow);
}

/** The row after a write, `again` if the write had been done before, or nothing if it is refused. */
export function afterMessage(
  row: Row | undefined,
  m: Message,
  isFree: boolean,
  loose?: string,
): Row | "again" | undefined {
  const { nonce, flow } = m;
  const isRepetition = (revision: number): boolean =>
    row?.nonce === nonce && row.flow === flow && row.revision === revision;
  if (m.do === "begin") {
    if (isRepetition(1)) return "again";
    return row || !flow ? undefined : newRow(flow, 1, nonce, 1);
  }
  if (row === undefined || row.pruned) return undefined;
  if (m.do === "acquire") {
    if (row.nonce === nonce) return "again";
    return isFree ? { ...row, epoch: row.epoch + 1, nonce, leased: true } : undefined;
  }
  if (flow === undefined) return undefined;
  if (m.do === "write") {
    if (loose !== "owner" && (row.epoch !== m.epoch || row.nonce !== nonce)) return undefined;
    if (isRepetition(m.revision + 1)) return "again";
    if (loose !== "revision" && row.revision !== m.revision) return undefined;
    return { ...row, flow, revision: row.revision + 1, leased: row.leased && isOpen(flow) };
  }
  if (isRepetition(m.revision + 1)) return "again";
  if (row.epoch !== m.epoch || row.nonce !== m.seen) return undefined;
  if (loose === "revision" ? row.flow.phase !== "quoted" : row.revision !== m.revision) return undefined;
  if (m.inTime && row.expired && loose !== "inTime") return undefined;
  return newRow(flow, row.epoch + 1, nonce, row.revision + 1);
}

function newRow(flow: Flow, epoch: number, nonce: number, revision: number): Row {
  return { flow, pruned: false, epoch, nonce, revision, leased: isOpen(flow), expired: false };
}

/** What a read answers, or a write that found a row in its place. */
export function entryOf(row: Row | undefined): EventBody {
  if (row?.pruned) return { is: "pruned" };
  return { is: "entry", entry: row && { flow: row.flow, revision: row.revision, isExpired: row.expired } };
}

export function owned({ flow, revision, expired }: Row): EventBody {
  return { is: "owned", entry: { flow, revision, isExpired: expired } };
}

type Distributed<E> = E extends Event ? Omit<E, "nowMs"> : never;
/** An event without its time. */
export type EventBody = Distributed<Event>;
