import assert from "node:assert/strict";
import { clock, sleep } from "../core/clock.js";
import type { JournalEntry } from "../flows/journal.js";
import {
  abandon,
  assertSame,
  begin,
  done,
  type LawFixture,
  lease,
  longMs,
  open,
  pick,
  present,
  quote,
  scopeOf,
  times,
} from "./law-fixture.js";

/** For all competing workers together, in real time. */
const patienceMs = 60_000;

/** Each write is sent twice, through both handles, beside all that were sent before. */
export async function repeatedWrites({ journal, second, prefix, flows }: LawFixture): Promise<void> {
  const states = [...times(4, (index) => open(`state ${index}`)), done("the outcome", "paid")];
  const write = async (index: number): Promise<void> => {
    const key = `${prefix}${index}`;
    const { epoch, nonce } = await begin(journal, key, open("first"));
    const send = (revision: number, handle: number) =>
      pick(handle, journal, second).write(key, { epoch, nonce, revision }, states[revision - 1] ?? done());
    for (const revision of times(states.length, (at) => at + 1)) {
      const late = times(revision - 1, (at) => send(at + 1, at + index));
      const [one, other] = await Promise.all([send(revision, index), send(revision, index + 1)]);
      assertSame([one, other], [true, true], "a write, and its repetition");
      await Promise.all(late);
      const now = await present(second, key);
      assertSame([now.revision, now.data], [revision + 1, states[revision - 1]?.data], "a late write was stored");
    }
  };
  await Promise.all(times(flows, write));
}

/** Each of them calls while another process takes the flow over. */
export async function takenMeanwhile(fixture: LawFixture): Promise<void> {
  const { journal, second, prefix, shortMs, outliveShortLease, flows } = fixture;
  const keys = times(3 * flows, (index) => `${prefix}${index}`);
  const entries = await Promise.all(keys.map((key) => begin(journal, key, open("before"), lease(shortMs))));
  await outliveShortLease();
  const race = async (entry: JournalEntry, index: number): Promise<void> => {
    const { key } = entry;
    const late = [
      () => journal.renew(key, entry, longMs + 1000),
      () => journal.write(key, entry, open("late")),
      () => journal.release(key, entry),
    ][index % 3];
    const take = () => second.acquire(key, lease());
    const early = index % 2 === 0 ? take() : undefined;
    const [isDone, taken] = await Promise.all([late?.(), early ?? take()]);
    const now = await present(journal, key);
    if (taken !== undefined) assertSame(now, taken, "the new owner's flow was changed");
    if (index % 3 === 0) assert.equal(isDone, taken === undefined, "both have the lease, or neither");
    if (index % 3 === 1) assert.equal(isDone, now.data === "late", "a write was lost");
  };
  await Promise.all(entries.map(race));
}

export async function quoteAtItsEnd({ journal, second, prefix, shortMs, wait }: LawFixture): Promise<void> {
  const keys = times(60, (index) => `${prefix}${String(index).padStart(2, "0")}`);
  const quotes = await Promise.all(keys.map((key) => begin(journal, key, quote(shortMs))));
  // From before the end of their time until after it.
  await wait(Math.max(0, shortMs - keys.length / 2));
  for (const [index, { key, expiresAtMs, ...quoted }] of quotes.entries()) {
    await wait(1);
    const confirming = { lease: lease(), inTime: true };
    const isConfirmed = await pick(index, journal, second).write(key, quoted, open("confirmed"), confirming);
    const { data, updatedAtMs } = await present(journal, key);
    assert.equal(isConfirmed, data === "confirmed");
    if (isConfirmed) assert.ok(updatedAtMs <= Number(expiresAtMs), "it was confirmed after its end");
  }
}

/** Workers count up what is stored, as owners: a second owner, or a lost write, shows in the sum. */
export async function contention({ journal, second, prefix, workers, flows }: LawFixture): Promise<void> {
  const rounds = 5;
  const keys = times(Math.max(1, Math.ceil(flows / 10)), (index) => `${prefix}${index}`);
  for (const key of keys) await abandon(journal, key, scopeOf(prefix), "0");
  const owners = new Map<string, number>();
  const work = async (worker: number, key: string): Promise<boolean> => {
    const handle = pick(worker, journal, second);
    const entry = await handle.acquire(key, lease());
    if (entry === undefined) return false;
    assert.equal(owners.get(key), undefined, "a flow has two owners");
    owners.set(key, worker);
    assertSame(await handle.read(key), entry);
    assert.equal(await handle.write(key, entry, open(String(Number(entry.data) + 1))), true);
    owners.delete(key);
    await handle.release(key, entry);
    return true;
  };
  let giveUpAt = clock.monotonicMs() + patienceMs;
  const workMuch = async (worker: number): Promise<void> => {
    for (const key of times(rounds, () => keys).flat()) {
      while (!(await work(worker, key))) {
        assert.ok(clock.monotonicMs() < giveUpAt, "nobody gets a released flow");
        await sleep(1);
      }
    }
  };
  try {
    await Promise.all(times(workers, workMuch));
  } finally {
    // When one has failed, the others stop waiting for it.
    giveUpAt = 0;
  }
  for (const key of keys) {
    const entry = await present(journal, key);
    assertSame([entry.data, entry.epoch], [String(rounds * workers), rounds * workers + 1]);
    assert.equal(await journal.write(key, entry, done()), true);
  }
}
