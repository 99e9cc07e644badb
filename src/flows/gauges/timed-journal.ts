import { CrossBorderError } from "../../errors/errors.js";
import type { Reporter } from "../../events/reporter.js";
import { clock } from "../../timing/clock.js";
import { journalMethods } from "../checked-journal.js";
import type { Journal } from "../journal.js";

/** The journal, which reports how long it takes for each thing that it is asked for, where anybody wants to know. */
export function timedJournal(journal: Journal, reporter: Reporter): Journal {
  if (!reporter.wants("journal")) return journal;
  const methods = journalMethods.map((name) => [
    name,
    (...given: readonly unknown[]): Promise<unknown> =>
      timed(reporter, name, () => Reflect.apply(Reflect.get(journal, name), journal, given)),
  ]);
  // Every method of a journal is in the table.
  return Object.fromEntries(methods) as Journal;
}

async function timed(reporter: Reporter, operation: string, work: () => unknown): Promise<unknown> {
  const startedAtMs = clock.monotonicMs();
  const durationMs = (): number => clock.monotonicMs() - startedAtMs;
  try {
    const result = await work();
    reporter.emit("journal", { operation, durationMs: durationMs() });
    return result;
  } catch (error) {
    const code = error instanceof CrossBorderError ? error.code : "_OTHER";
    reporter.emit("journal", { operation, durationMs: durationMs(), code });
    throw error;
  }
}
