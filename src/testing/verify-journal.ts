import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { clock } from "../core/clock.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isFunction, isPositiveInteger } from "../core/parse.js";
import type { Journal } from "../flows/journal.js";
import { Laws } from "./broken-law-error.js";
import { laws } from "./journal-laws.js";
import { assertSame, begin, defined, done, lease, open } from "./law-fixture.js";

export interface VerifyJournalOptions {
  /**
   * Opens another handle of the same store, as another process would have. Without it, the laws about two owners are checked
   * with one handle only.
   */
  readonly openSecond?: () => Promise<Journal>;
  /** Opens the same store again, after the first handle was closed. Without it, what outlives a handle is not checked. */
  readonly reopen?: () => Promise<Journal>;
  /** The lease whose end is waited for, about twenty times, in milliseconds. It must be longer than the slowest call. Default: 250. */
  readonly shortLeaseMs?: number;
  /** Lets time pass, for a journal with a clock of its own. Default: waits. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How many workers compete. Default: 8. */
  readonly workers?: number;
  /** For how many flows they compete. Default: 50. */
  readonly flows?: number;
}

const aFunction = { accepts: isFunction, wanted: "a function" };
const aCount = { accepts: isPositiveInteger, wanted: "a whole number above 0" };
const journalOptions: CheckTable<VerifyJournalOptions> = {
  openSecond: aFunction,
  reopen: aFunction,
  shortLeaseMs: aCount,
  wait: aFunction,
  workers: aCount,
  flows: aCount,
};

/** What `verifyJournal` found when no law is broken. */
export interface JournalReport {
  /** The laws that held, in the order in which they were checked. */
  readonly held: readonly string[];
  /** What could not be checked, and what it needs. */
  readonly notChecked: readonly string[];
}

/**
 * Checks every law of the interface `Journal` on a journal of your own, with any test runner or none.
 *
 * It leaves flows behind: give it a store of its own, never one with real flows, since it takes over whatever is abandoned. It may run
 * again on the same store. It does not kill processes or make disks fail. What goes wrong in one call of hundreds may need more than the
 * default of `flows`.
 *
 * @param open Opens the journal to check, which is closed at the end.
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 *
 * @example
 * await verifyJournal(() => MyJournal.open(url), { openSecond: () => MyJournal.open(url), reopen: () => MyJournal.open(url) });
 */
export async function verifyJournal(
  open: () => Promise<Journal>,
  options: VerifyJournalOptions = {},
): Promise<JournalReport> {
  assertOptions(
    journalOptions,
    options,
    "the options",
    (message) => new InvalidArgumentError(`verifyJournal: ${message}`),
  );
  const checked = new Laws();
  const journal = await open();
  const opened = [journal];
  try {
    const second = (await options.openSecond?.()) ?? journal;
    if (second !== journal) opened.push(second);
    // Keys of a later run follow those of earlier ones, so that nothing left behind by them is abandoned in this one.
    const run = `verify ${clock.wallMs().toString(36).padStart(9, "0")} ${randomBytes(4).toString("hex")}`;
    for (const [index, [name, check]] of laws.entries()) {
      const prefix = `${run} ${String(index).padStart(2, "0")} `;
      await checked.law(name, () => check(toFixture(journal, second, prefix, options)));
    }
    const { reopen } = options;
    if (reopen !== undefined) {
      await checked.law("states, epochs and leases outlive their handle", () =>
        outlive(opened, reopen, `${run} reopen `),
      );
      await checked.law("a handle that was closed fails, or tells the truth", () =>
        closed(journal, opened, `${run} closed`),
      );
    }
  } finally {
    for (const handle of opened) await handle.close();
  }
  return { held: checked.held, notChecked: notChecked(options) };
}

function toFixture(journal: Journal, second: Journal, prefix: string, options: VerifyJournalOptions) {
  const { shortLeaseMs: shortMs = 250, wait = sleep, workers = 8, flows = 50 } = options;
  // Clocks of databases tick apart from timers.
  const outliveShortLease = async (): Promise<void> => {
    await wait(shortMs + 50);
  };
  const canWaitForDays = options.wait !== undefined;
  return { journal, second, prefix, shortMs, outliveShortLease, wait, canWaitForDays, workers, flows };
}

async function outlive(opened: Journal[], reopen: () => Promise<Journal>, prefix: string): Promise<void> {
  const state = open("the claim", "claimed");
  const [journal] = opened;
  assert.ok(journal);
  const first = await begin(journal, prefix, open(), lease());
  await journal.release(prefix, first);
  const taken = defined(await journal.acquire(prefix, lease()));
  await journal.write(prefix, taken, state);
  const before = await journal.read(prefix);
  for (const handle of opened.splice(0)) await handle.close();
  const again = await reopen();
  opened.push(again);
  assertSame(await again.read(prefix), before);
  assert.equal(await again.acquire(prefix, lease()), undefined, "the lease outlives the handle");
  assert.equal(await again.write(prefix, first, state), false, "the epoch outlives the handle");
  assert.equal(await again.write(prefix, taken, done()), false, "the revision outlives the handle");
  assert.equal(await again.write(prefix, { ...taken, revision: 2 }, done()), true);
}

/** What swallows its errors takes every flow for one that is not there, or is somebody else's. */
async function closed(journal: Journal, [again]: readonly Journal[], prefix: string): Promise<void> {
  assert.ok(again);
  const entry = await begin(again, prefix, open(), lease());
  const assertTold = async <T>(work: () => Promise<T>, truth: T): Promise<void> => {
    const told = (async () => work())().catch(() => truth);
    assertSame(await Promise.race([told, sleep(1000, truth)]), truth);
  };
  await assertTold(() => journal.read(prefix), entry);
  await assertTold(() => journal.list({ scope: entry.scope, limit: 1 }), { entries: [entry], counts: [] });
  await assertTold(() => journal.write(prefix, entry, done()), true);
  // Some open a connection again.
  await journal.close().catch(() => undefined);
}

function notChecked({ openSecond, reopen, wait }: VerifyJournalOptions): string[] {
  return [
    ...(openSecond === undefined ? ["two handles of one store: needs openSecond"] : []),
    ...(reopen === undefined ? ["what outlives a handle: needs reopen"] : []),
    ...(wait === undefined ? ["that quotes are deleted a day after their end: needs wait"] : []),
    "what outlives a killed process or a failing disk: needs processes and disks that fail",
    "processes that call at the same moment, and have clocks of their own: needs an openSecond that asks another process, on another machine",
  ];
}
