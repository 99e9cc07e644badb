import { setTimeout as pause } from "node:timers/promises";
import type { Journal } from "cross-border-payments/flow";
import { CompetingClient } from "../../../src/testing/history/competing-client.js";
import { type HistoryEvent, type Operation, toOperations } from "../../../src/testing/history/history.js";
import { recordedJournal } from "../../../src/testing/history/recorded-journal.js";

export interface CompetitionOptions {
  readonly clients: number;
  readonly operationsEach: number;
  readonly random: () => number;
}

/** What clients in this process asked a journal for, and were told. */
export async function compete(
  journal: Journal,
  { clients, operationsEach, random }: CompetitionOptions,
): Promise<readonly Operation[]> {
  const events: HistoryEvent[] = [];
  let count = 0;
  const nextKey = (): string => {
    count += 1;
    return `flow ${Math.floor(count / 120)} ${random() < 0.5 ? "a" : "b"}`;
  };
  const record = (event: HistoryEvent) => void events.push(event);
  const work = async (_: unknown, index: number): Promise<void> => {
    const name = `client ${index}`;
    const recorded = recordedJournal(journal, { client: name, record, nowMs: () => performance.now() });
    const scope = { service: "https://service.example", gateway: "gateway" };
    const client = new CompetingClient({ journal: recorded, name, scopeOf: () => scope, nextKey, shortMs: 10, random });
    for (let index = 0; index < operationsEach; index += 1) await client.act();
  };
  await Promise.all(Array.from({ length: clients }, work));
  return toOperations(events);
}

/** A journal whose requests and responses take their time. */
export function distant(journal: Journal, random: () => number): Journal {
  return new Proxy(journal, {
    get(_, name) {
      const method: unknown = Reflect.get(journal, name);
      if (typeof method !== "function") return method;
      return async (...given: unknown[]) => {
        await pause(random() * 3);
        const result: unknown = await Reflect.apply(method, journal, given);
        await pause(random() * 3);
        return result;
      };
    },
  });
}
