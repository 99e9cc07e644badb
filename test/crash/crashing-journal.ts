import type { Journal } from "cross-border-payments/flow";
import type { CrashPoints } from "./crash-points.js";

/** Methods that write. What they store is a part of their point's name. */
const writes: ReadonlySet<PropertyKey> = new Set(["begin", "acquire", "renew", "write", "release"]);

/**
 * A journal with a crash point before, during, and after each of its writes: `write:claimed:before` and so on. An error that is thrown
 * before stands for a disk that stored nothing; one that is thrown after, for a disk that stored everything and then failed.
 */
export function crashingJournal(journal: Journal, points: CrashPoints): Journal {
  const around = async (name: string, key: string, call: () => Promise<unknown>): Promise<unknown> => {
    points.passDisk(`${name}:before`, key);
    const pending = call();
    if (points.isAt(`${name}:during`, key)) setImmediate(() => points.pass(`${name}:during`, key));
    const result = await pending;
    points.passDisk(`${name}:after`, key);
    return result;
  };
  return new Proxy(journal, {
    get(target, method) {
      const original: unknown = Reflect.get(target, method, target);
      if (typeof original !== "function") return original;
      return (...given: readonly unknown[]) => {
        const call = () => Reflect.apply(original, target, given);
        if (!writes.has(method)) return call();
        // A quote that is replaced has a phase, too, and comes first.
        const phase: unknown = given.map((argument) => Reflect.get(Object(argument), "phase")).findLast(Boolean);
        return around([method, phase].filter(Boolean).join(":"), String(given[0]), call);
      };
    },
  });
}
