import assert from "node:assert/strict";
import { clock } from "../timing/clock.js";
import { checkHistory, describeUnexplained } from "./history/check-history.js";
import { CompetingClient } from "./history/competing-client.js";
import { type HistoryEvent, toOperations } from "./history/history.js";
import { recordedJournal } from "./history/recorded-journal.js";
import { type LawFixture, pick, scopeOf, times } from "./law-fixture.js";

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
