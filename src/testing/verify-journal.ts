import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { clock } from "../core/clock.js";
import type { CheckTable } from "../core/parse.js";
import type { Journal } from "../flows/journal.js";
import { assertSame, done, fixtureOf, type JournalWorld, journalLaws, open } from "./journal-laws.js";
import { aCount, aFunction, assertGiven, checkLaws, type Laws, notChecked } from "./laws.js";

export interface VerifyJournalOptions {
  /**
   * Opens another handle of the same store, as another process would have. Without it, the laws about two owners are checked
   * with one handle only.
   */
  readonly openSecond?: () => Promise<Journal>;
  /** Opens the same store again, after the first handle was closed. Without it, what outlives a handle is not checked. */
  readonly reopen?: () => Promise<Journal>;
  /**
   * The duration of the leases that the laws wait for, about ten times, in milliseconds. It must be much longer than the slowest
   * call. Default: 250.
   */
  readonly shortLeaseMs?: number;
  /** Advances time, for a journal that has its own clock. Default: waits. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How many workers compete. Default: 8. */
  readonly workers?: number;
  /** For how many flows they compete. Default: 50. */
  readonly flows?: number;
}

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
 * Checks every law of the interface `Journal` on your own journal, with any test runner or none.
 *
 * You must give it a separate store, never one with real flows, since it takes over abandoned flows and leaves its own. You can run
 * it again. It doesn't kill processes or make disks fail. To find rare failures, raise `flows`.
 *
 * @param open Opens the journal to check, which is closed at the end.
 * @throws {BrokenLawError} The first law that is broken. `cause` shows what was expected.
 *
 * @example
 * await verifyJournal(() => MyJournal.open(url), { openSecond: () => MyJournal.open(url), reopen: () => MyJournal.open(url) });
 */
export async function verifyJournal(
  open: () => Promise<Journal>,
  options: VerifyJournalOptions = {},
): Promise<JournalReport> {
  assertGiven("verifyJournal", journalOptions, options);
  const { openSecond, reopen, shortLeaseMs: shortMs = 250, wait = sleep, workers = 8, flows = 50 } = options;
  const journal = await open();
  const opened = [journal];
  try {
    const second = (await openSecond?.()) ?? journal;
    if (second !== journal) opened.push(second);
    // Keys of a later run follow those of earlier ones, so that nothing left behind by them is abandoned in this one.
    const run = `verify ${clock.wallMs().toString(36).padStart(9, "0")} ${randomBytes(4).toString("hex")}`;
    const canWaitForDays = options.wait !== undefined;
    const world = { journal, second, shortMs, wait, canWaitForDays, workers, flows };
    const laws = { ...journalLaws, ...(reopen && reopenLaw(opened, reopen)) };
    const held = await checkLaws(laws, (index) => ({ ...world, key: `${run} ${String(index).padStart(2, "0")} ` }));
    return { held, notChecked: notChecked(options, needs, ...neverChecked) };
  } finally {
    for (const handle of opened) await handle.close();
  }
}

const needs = {
  openSecond: "two handles of one store",
  reopen: "what outlives a handle",
  wait: "that quotes are deleted a day after their end",
};
const neverChecked = [
  "what outlives a killed process or a failing disk: needs processes and disks that fail",
  "processes that call at the same moment, and have clocks of their own: needs an openSecond that asks another process, on another machine",
];

const reopenLaw = (opened: Journal[], reopen: () => Promise<Journal>): Laws<JournalWorld> => ({
  async "states, epochs and leases outlive their handle"(world) {
    const { journal, key, begin, lease, present } = fixtureOf(world);
    await journal.write(key, await begin(key, open()), open("the claim", "claimed"));
    const before = await present(key);
    for (const handle of opened.splice(0)) await handle.close();
    const again = await reopen();
    opened.push(again);
    assertSame(await again.read(key), before);
    assert.equal(await again.acquire(key, lease()), undefined, "the lease outlives the handle");
    assert.equal(await again.write(key, before, done()), true);
  },
});
