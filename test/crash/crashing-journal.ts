import type { Journal } from "cross-border-payments/flow";
import type { CrashPoints } from "./crash-points.js";

export interface CrashingJournal {
  readonly journal: Journal;
  readonly claimTimesMs: readonly number[];
}

/** Methods that write, and what their points are called; those that store a state have its phase in the name. */
const writes: Readonly<Record<string, (phase: string) => string>> = {
  begin: (phase) => `begin:${phase}`,
  acquire: () => "acquire",
  renew: () => "renew",
  write: (phase) => `write:${phase}`,
  replaceQuote: (phase) => `replace-quote:${phase}`,
  fenceQuote: () => "fence-quote",
  release: () => "release",
};

/**
 * A journal with a crash point before, during and after each of its writes: `write:claimed:before` and so on. An error that is
 * thrown before stands for a disk that stored nothing; one that is thrown after, for a disk that stored everything and then failed.
 *
 * What is passed on is whatever the journal was given: workers of another release have another interface.
 */
export function crashingJournal(journal: Journal, points: CrashPoints): CrashingJournal {
  const claimTimesMs: number[] = [];
  const around = async (name: string, key: string, call: () => Promise<unknown>): Promise<unknown> => {
    const startMs = performance.now();
    await points.wait(`${name}:before`, key);
    points.passDisk(`${name}:before`, key);
    const pending = call();
    if (points.isAt(`${name}:during`, key)) setImmediate(() => points.pass(`${name}:during`, key));
    const result = await pending;
    points.passDisk(`${name}:after`, key);
    if (name === "write:claimed") claimTimesMs.push(performance.now() - startMs);
    return result;
  };
  const crashing = new Proxy(journal, {
    get(target, method) {
      const original: unknown = Reflect.get(target, method, target);
      if (typeof original !== "function") return original;
      const call = (given: readonly unknown[]) => Reflect.apply(original, target, given);
      if (method === "acquireAbandoned") {
        return async (...given: readonly unknown[]) => {
          const entry = await call(given);
          if (entry !== undefined) points.passDisk("acquireAbandoned:after", entry.key);
          return entry;
        };
      }
      const nameOf = writes[String(method)];
      if (nameOf === undefined) return (...given: readonly unknown[]) => call(given);
      return (...given: readonly unknown[]) => around(nameOf(phaseIn(given)), String(given[0]), () => call(given));
    },
  });
  return { journal: crashing, claimTimesMs };
}

/** Of the state that is to be stored, which comes behind the entry that it replaces. */
function phaseIn(given: readonly unknown[]): string {
  const phases = given.map((argument) => Reflect.get(Object(argument), "phase"));
  return String(phases.findLast((phase) => typeof phase === "string") ?? "");
}
