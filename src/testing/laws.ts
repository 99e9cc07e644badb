import assert from "node:assert/strict";
import { docsPage } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isFunction, isPositiveInteger, parseOptions } from "../core/parse.js";

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

/** Laws by name. Each checks a world. */
export type Laws<World> = Readonly<Record<string, (world: World) => Promise<void>>>;

/**
 * Checks laws one after the other, up to the first that is broken.
 *
 * @returns their names.
 */
export async function checkLaws<World>(laws: Laws<World>, worldOf: (index: number) => World): Promise<string[]> {
  for (const [index, [law, check]] of Object.entries(laws).entries()) {
    try {
      await check(worldOf(index));
    } catch (error) {
      throw new BrokenLawError(law, error);
    }
  }
  return Object.keys(laws);
}

/** The same laws for a world of another type. `run` opens the world for each law. */
export function mapLaws<World, Given>(
  laws: Laws<World>,
  run: (check: Laws<World>[string], given: Given) => Promise<void>,
): Laws<Given> {
  const entries = Object.entries(laws).map(([law, check]) => [law, (given: Given) => run(check, given)]);
  return Object.fromEntries(entries);
}

/** What needs an option that is missing, and the rest of what wasn't checked. */
export function notChecked(options: object, needs: Readonly<Record<string, string>>, ...rest: string[]): string[] {
  const missing = Object.entries(needs).filter(([name]) => Reflect.get(options, name) === undefined);
  return [...missing.map(([name, what]) => `${what}: needs ${name}`), ...rest];
}

export const aFunction = { accepts: isFunction, expected: "a function" };
export const aCount = { accepts: isPositiveInteger, expected: "a whole number above 0" };

export function assertGiven<Given>(verify: string, table: CheckTable<Given>, given: Given, what = "the options"): void {
  parseOptions(table, given, what, (message) => new InvalidArgumentError(`${verify}: ${message}`));
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
 * A law's calls go to a store in memory first (`record`), then to the store to check (`compare`), which must reply the same. They go
 * through both handles in turn. What was asked of a key is repeated through the other handle, as after a lost reply, and then the key
 * is read.
 */
export function comparing<Store extends object>(toComparable: () => (reply: unknown, method: string) => unknown) {
  const expected: unknown[] = [];
  const asking = (isRight: boolean, store: Store, second: Store): Store => {
    const comparable = toComparable();
    let calls = 0;
    const call = async (method: string, ...given: unknown[]): Promise<unknown> => {
      const at = calls++;
      const replies: unknown[] = [];
      const ask = async (index: number, name: string, values: readonly unknown[]) => {
        const handle: object = pick(index, store, second);
        const reply: unknown = await Reflect.apply(Reflect.get(handle, name), handle, values);
        replies.push(comparable(reply, name));
        return reply;
      };
      const reply = await ask(at, method, given);
      if (typeof given[0] === "string" && method !== "read") {
        await ask(at + 1, method, given);
        await ask(at, "read", given.slice(0, 1));
      }
      const text = `${method}(${JSON.stringify(given).slice(1, 300)})`;
      if (isRight) expected[at] = replies;
      else assert.deepEqual({ call: text, replies }, { call: text, replies: expected[at] });
      return reply;
    };
    const get = (_: Store, method: string | symbol) => call.bind(undefined, String(method));
    return new Proxy(store, { get });
  };
  return {
    record: (store: Store) => asking(true, store, store),
    compare: (store: Store, second: Store) => asking(false, store, second),
  };
}

/** Returns which of many parallel attempts succeeds. Exactly one must. */
export function onlyWinner<T>(all: readonly T[], isDone: (result: T) => boolean = Boolean): number {
  const winners = [...all.keys()].filter((index) => isDone(all[index] as T));
  assert.equal(winners.length, 1, `${winners.length} of ${all.length} at once succeeded`);
  return Number(winners[0]);
}
