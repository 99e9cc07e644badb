import { clock } from "../core/clock.js";
import { CrossBorderError } from "../core/errors.js";
import type { Reporter } from "../events/reporter.js";
import type { Journal } from "./journal.js";

/** The journal, which reports how long it takes for each thing that it is asked for, if anybody wants to know. */
export function timedJournal(journal: Journal, methods: readonly (keyof Journal)[], reporter: Reporter): Journal {
  if (!reporter.wants("journal")) return journal;
  const timed = methods.map((operation) => [
    operation,
    async (...given: readonly unknown[]): Promise<unknown> => {
      const startedAtMs = clock.monotonicMs();
      const durationMs = (): number => clock.monotonicMs() - startedAtMs;
      try {
        const result: unknown = await Reflect.apply(Reflect.get(journal, operation), journal, given);
        reporter.emit("journal", { operation, durationMs: durationMs() });
        return result;
      } catch (error) {
        const code = error instanceof CrossBorderError ? error.code : "_OTHER";
        reporter.emit("journal", { operation, durationMs: durationMs(), code });
        throw error;
      }
    },
  ]);
  // Every method that a flow calls is in the table.
  return Object.fromEntries(timed) as Journal;
}
