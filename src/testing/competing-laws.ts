import assert from "node:assert/strict";
import { clock, sleep } from "../timing/clock.js";
import { checkHistory, describeUnexplained } from "./history/check-history.js";
import { CompetingClient } from "./history/competing-client.js";
import { type HistoryEvent, toOperations } from "./history/history.js";
import { recordedJournal } from "./history/recorded-journal.js";
import {
  abandon,
  assertSame,
  defined,
  done,
  type LawFixture,
  lease,
  longMs,
  open,
  pick,
  scopeOf,
  times,
} from "./law-fixture.js";

/** For all competing workers together, in real time. */
const patienceMs = 60_000;

export async function contention({ journal, second, prefix, workers, flows }: LawFixture): Promise<void> {
  const rounds = 5;
  const keys = times(Math.max(1, Math.ceil(flows / 10)), (index) => `${prefix}${index}`);
  for (const key of keys) await abandon(journal, key, scopeOf(prefix), "0");
  const owners = new Map<string, number>();
  const epochs = new Set<string>();
  const work = async (worker: number, key: string): Promise<boolean> => {
    const handle = pick(worker, journal, second);
    const entry = await handle.acquire(key, lease(longMs));
    if (entry === undefined) return false;
    assert.equal(owners.get(key), undefined, "a flow has two owners");
    owners.set(key, worker);
    assert.equal(epochs.has(`${entry.epoch} ${key}`), false, "an epoch was given twice");
    epochs.add(`${entry.epoch} ${key}`);
    const now = await handle.read(key);
    assertSame([now?.epoch, now?.nonce, now?.data], [entry.epoch, entry.nonce, entry.data]);
    assert.equal(await handle.write(key, entry, open(String(Number(entry.data) + 1))), true);
    owners.delete(key);
    await handle.release(key, entry);
    return true;
  };
  let giveUpAt = clock.monotonicMs() + patienceMs;
  const workMuch = async (worker: number): Promise<void> => {
    for (const key of times(rounds, () => keys).flat()) {
      while (!(await work(worker, key))) {
        assert.equal(clock.monotonicMs() < giveUpAt, true, "nobody gets a released flow");
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
    const entry = defined(await journal.read(key));
    assertSame([entry.data, entry.epoch], [String(rounds * workers), rounds * workers + 1]);
    assert.equal(await journal.write(key, entry, done()), true);
  }
}

export async function histories({
  journal,
  second,
  prefix,
  workers,
  flows,
  wait,
  leaveOpen,
}: LawFixture): Promise<void> {
  const events: HistoryEvent[] = [];
  const record = (event: HistoryEvent) => void events.push(event);
  let count = 0;
  // Two flows at a time, so that each has many clients.
  const nextKey = (): string => {
    count += 1;
    return `${prefix}${Math.floor(count / 120)} ${count % 2}`;
  };
  const work = async (worker: number): Promise<void> => {
    const name = `client ${worker}`;
    const recording = { client: name, record, nowMs: () => clock.monotonicMs() };
    const recorded = recordedJournal(pick(worker, journal, second), recording);
    const scope = scopeOf(prefix);
    const client = new CompetingClient({
      ...{ journal: recorded, name, scopeOf: () => scope, nextKey, shortMs: 30, random: Math.random },
    });
    for (let index = 1; index <= 2 * flows; index += 1) {
      await client.act();
      // Some leases and quotes end meanwhile.
      if (index % 10 === 0) await wait(5);
    }
  };
  await Promise.all(times(workers, work));
  const { unexplained } = checkHistory(toOperations(events));
  const first = unexplained.find(({ operations }) => operations.length > 0);
  if (first !== undefined) assert.fail(describeUnexplained(first));
  if (unexplained.length > 0) leaveOpen(`${unexplained.length} histories have too many orders: needs fewer workers`);
}
