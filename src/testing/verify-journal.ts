import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { clock } from "../core/clock.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isFunction, isPositiveInteger } from "../core/parse.js";
import type { Journal } from "../flows/journal.js";
import {
  assertSame,
  checkLikeMemory,
  done,
  fixtureOf,
  type JournalWorld,
  journalLaws,
  open,
  raceLaws,
} from "./journal-laws.js";
import { Laws } from "./laws.js";

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
  const { openSecond, reopen, shortLeaseMs: shortMs = 250, wait = sleep, workers = 8, flows = 50 } = options;
  const checked = new Laws();
  const journal = await open();
  const opened = [journal];
  try {
    const second = (await openSecond?.()) ?? journal;
    if (second !== journal) opened.push(second);
    // Keys of a later run follow those of earlier ones, so that nothing left behind by them is abandoned in this one.
    const run = `verify ${clock.wallMs().toString(36).padStart(9, "0")} ${randomBytes(4).toString("hex")}`;
    const canWaitForDays = options.wait !== undefined;
    const world = { journal, second, key: `${run} reopen `, shortMs, wait, canWaitForDays, workers, flows };
    for (const [index, [name, check]] of [...journalLaws, ...raceLaws].entries()) {
      const own = { ...world, key: `${run} ${String(index).padStart(2, "0")} ` };
      await checked.law(name, () => (index < journalLaws.length ? checkLikeMemory(check, own) : check(fixtureOf(own))));
    }
    if (reopen !== undefined) {
      await checked.law("states, epochs and leases outlive their handle", () => reopened(opened, reopen, world));
    }
  } finally {
    for (const handle of opened) await handle.close();
  }
  return { held: checked.held, notChecked: notChecked(options) };
}

async function reopened(opened: Journal[], reopen: () => Promise<Journal>, world: JournalWorld): Promise<void> {
  const { journal, key, begin, lease, present } = fixtureOf(world);
  const entry = await begin(key, open());
  await journal.write(key, entry, open("the claim", "claimed"));
  const before = await present(key);
  for (const handle of opened.splice(0)) await handle.close();
  const again = await reopen();
  opened.push(again);
  assertSame(await again.read(key), before);
  assert.equal(await again.acquire(key, lease()), undefined, "the lease outlives the handle");
  assert.equal(await again.write(key, entry, done()), false, "the revision outlives the handle");
  assert.equal(await again.write(key, before, done()), true);
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
