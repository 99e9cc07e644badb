import { JournalError } from "../../errors/errors.js";
import { uniqueId } from "../../platform/unique-id.js";
import { sleep } from "../../timing/clock.js";
import { now, type Timestamp } from "../../timing/timestamp.js";
import { type FlowContext, leaseRequest } from "../flow-context.js";
import { FlowPausedError } from "../flow-paused-error.js";
import type { FlowScope, JournalEntry, LeaseRequest } from "../journal.js";
import type { FlowState } from "../state/flow-state.js";
import { isCertainlyRefused, isUnstorable, unsettledWrite } from "./journal-failure.js";
import { LeaseLost } from "./lease.js";

export interface OwnedEntry {
  readonly entry: JournalEntry;
  readonly askedAt: Timestamp;
}

/** Stores a flow that is not there yet. `isMine` is false when there is one already: then it is that one, unchanged. */
export async function beginEntry(
  context: FlowContext,
  key: string,
  scope: FlowScope,
  state: FlowState,
): Promise<OwnedEntry & { readonly isMine: boolean }> {
  const stored = await context.codec.encode(key, scope, state);
  const lease = leaseRequest(context);
  const askedAt = now();
  const entry = await owning(key, state, async () => {
    const begun = await retryJournal(() => context.journal.begin(key, scope, stored, lease));
    assertEntryOf(key, begun.entry);
    return begun.entry;
  });
  // It may have been an earlier try that stored it, whose response was lost.
  return { entry, askedAt, isMine: entry.nonce === lease.nonce };
}

/** What a journal of somebody's own returns is worked on under its key: with another one, its money would be taken twice. */
function assertEntryOf(key: string, entry: JournalEntry): void {
  if (entry.key === key) return;
  throw new JournalError(`begin of key ${JSON.stringify(key)} returned an entry of another key`, { stored: "unknown" });
}

/**
 * Leases a flow; `undefined` when another process has it.
 *
 * @param seen the flow as it was just read: a lease that has been seen unchanged for its whole length is over.
 */
export function acquireEntry(context: FlowContext, key: string, seen?: JournalEntry): Promise<OwnedEntry | undefined> {
  const observed = seen && context.leaseObserver.observed(seen);
  return lease(context, key, (request) => context.journal.acquire(key, request, observed));
}

/** Stores a state in place of a quote; `undefined` when the quote is certainly no longer as it was seen, and never replaced by this. */
export async function replaceQuote(
  context: FlowContext,
  seen: JournalEntry,
  scope: FlowScope,
  state: FlowState,
  expired: boolean | undefined,
): Promise<OwnedEntry | undefined> {
  const stored = await context.codec.encode(seen.key, scope, state);
  return owning(seen.key, state, async () => {
    const wanted = leaseRequest(context);
    const askedAt = now();
    const replace = () => context.journal.replaceQuote(seen.key, seen, stored, wanted, expired);
    const entry = (await retryJournal(replace)) ?? (await fence(context, seen));
    return entry?.nonce === wanted.nonce ? { entry, askedAt } : undefined;
  });
}

/**
 * What became of a quote that takes no money, before anybody is told so: the entry that is there. That a quote has expired, or not, is no
 * certain refusal of a replacement: one that is still on its way may find the journal's clock set back. So a quote that is as it was seen
 * becomes another one first.
 */
export async function fence({ journal }: FlowContext, seen: JournalEntry): Promise<JournalEntry | undefined> {
  try {
    const present = await retryJournal(() => journal.read(seen.key));
    if (!isAsSeen(present, seen)) return present;
    const nonce = uniqueId();
    const fenced = await retryJournal(() => journal.fenceQuote(seen.key, seen, nonce));
    if (fenced !== undefined) return fenced;
    // It was changed meanwhile, by this fence or by somebody else.
    const changed = await retryJournal(() => journal.read(seen.key));
    if (!isAsSeen(changed, seen)) return changed;
  } catch (cause) {
    throw unsettledWrite(seen.key, cause);
  }
  throw unsettledWrite(seen.key);
}

function isAsSeen(present: JournalEntry | undefined, { nonce, revision }: JournalEntry): boolean {
  return present?.nonce === nonce && present.revision === revision;
}

/** From the moment on that this write may have been stored, any process may take the money: the flow owns the payment. */
async function owning<T>(key: string, { phase }: FlowState, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (phase !== "funds-requested" || isCertainlyRefused(error)) throw error;
    throw new FlowPausedError(key, { cause: error });
  }
}

/** An owner whose response was lost knows by the nonce whether the flow is its own. */
async function lease(
  context: FlowContext,
  key: string,
  request: (lease: LeaseRequest) => Promise<JournalEntry | undefined>,
): Promise<OwnedEntry | undefined> {
  const wanted = leaseRequest(context);
  const askedAt = now();
  let tries = 0;
  const entry = await retryJournal(() => {
    tries += 1;
    return request(wanted);
  });
  if (entry !== undefined) return { entry, askedAt };
  if (tries === 1) return undefined;
  const present = await retryJournal(() => context.journal.read(key));
  return present?.nonce === wanted.nonce ? { entry: present, askedAt } : undefined;
}

/**
 * What failed, stored or not, is tried again: with the same nonce, epoch and revision it stores the same. If nothing helps, an error of a
 * try that may have stored it is thrown rather than one of a try that has not.
 */
export async function retryJournal<T>(work: () => Promise<T>): Promise<T> {
  let uncertain: unknown;
  for (let tries = 0; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof LeaseLost) throw error;
      if (!isCertainlyRefused(error)) uncertain ??= error;
      const delayMs = isUnstorable(error) ? undefined : retryDelaysMs[tries];
      if (delayMs === undefined) throw uncertain ?? error;
      await sleep(delayMs);
    }
  }
}

const retryDelaysMs = [50, 200];
