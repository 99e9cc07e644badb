import assert from "node:assert/strict";
import { docsPage } from "../core/describe.js";

/** A function or a class of yours breaks a law that it must keep. `cause` is what was found. */
export class BrokenLawError extends Error {
  override readonly name = "BrokenLawError";
  /** The law, in words. */
  readonly law: string;
  /** The address of the page about it. */
  readonly docUrl = docsPage("testing.md#your-own-parts");

  constructor(law: string, cause: unknown) {
    const found = cause instanceof Error ? cause.message : String(cause);
    super(`Broken: ${law}.\n${found}`, { cause });
    this.law = law;
  }
}

/** A law, and what checks it. */
export type Law<Fixture> = readonly [name: string, check: (fixture: Fixture) => Promise<void>];

/** Laws that are checked one after the other, up to the first that is broken. */
export class Laws {
  readonly held: string[] = [];

  async law<T>(law: string, keeps: () => Promise<T>): Promise<T> {
    try {
      const result = await keeps();
      this.held.push(law);
      return result;
    } catch (error) {
      throw new BrokenLawError(law, error);
    }
  }
}

/** Longer than any check takes. */
export const longMs = 600_000;

export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

export function pick<T>(index: number, one: T, other: T): T {
  return index % 2 === 0 ? one : other;
}

/**
 * Calls a right implementation first (`record`), then the one to check (`compare`), which must reply the same.
 *
 * @param toComparable makes what tells a reply from one that is as right, but differs.
 */
export function comparing<Store extends object>(toComparable: () => (reply: unknown, method: string) => unknown) {
  const replies: unknown[] = [];
  const telling = (tell: (call: string, at: number, reply: unknown) => void) => {
    const comparable = toComparable();
    let calls = 0;
    const call = async (store: object, name: string, given: readonly unknown[]): Promise<unknown> => {
      const at = calls++;
      const reply: unknown = await Reflect.apply(Reflect.get(store, name), store, given);
      tell(`${name}(${JSON.stringify(given).slice(1, 300)})`, at, comparable(reply, name));
      return reply;
    };
    return (store: Store): Store =>
      new Proxy(store, {
        get: (_, name) => {
          return (...given: readonly unknown[]) => call(store, String(name), given);
        },
      });
  };
  return {
    record: telling((_, at, reply) => {
      replies[at] = reply;
    }),
    compare: telling((call, at, reply) => assert.deepEqual({ call, reply }, { call, reply: replies[at] })),
  };
}

/** Which of many that try at once succeeds: exactly one. */
export function onlyWinner<T>(all: readonly T[], isDone: (result: T) => boolean): number {
  const winners = [...all.keys()].filter((index) => isDone(all[index] as T));
  assert.equal(winners.length, 1, `${winners.length} of ${all.length} at once succeeded`);
  return Number(winners[0]);
}
