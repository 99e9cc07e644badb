import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isTokenStore, type TokenStore } from "../auth/token-store.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isFunction, isPositiveInteger } from "../core/parse.js";
import { MemoryTokenStore } from "../tokens/memory-token-store.js";
import { comparing, type Law, Laws, longMs, onlyWinner, pick, times } from "./laws.js";

export interface VerifyTokenStoreOptions {
  /** Another handle of the same store, as another process would have. Without it, one handle plays both. */
  readonly second?: TokenStore;
  /** How long locks and values last whose end is waited for, in milliseconds. It must be longer than the slowest call. Default: 250. */
  readonly shortMs?: number;
  /** Lets time pass, for a store with a clock of its own. Default: waits. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How many workers compete. Default: 20. */
  readonly workers?: number;
}

const aCount = { accepts: isPositiveInteger, wanted: "a whole number above 0" };
const storeOptions: CheckTable<VerifyTokenStoreOptions> = {
  second: { accepts: isTokenStore, wanted: "a token store: an object with the methods read, lock, unlock and write" },
  shortMs: aCount,
  wait: { accepts: isFunction, wanted: "a function" },
  workers: aCount,
};

/** What `verifyTokenStore` found when no law is broken. */
export interface TokenStoreReport {
  /** The laws that held, in the order in which they were checked. */
  readonly held: readonly string[];
  /** What could not be checked, and what it needs. */
  readonly notChecked: readonly string[];
}

/**
 * Checks every law of the interface `TokenStore` on a store of your own, with any test runner or none. Keys are new ones in each run,
 * so it may run beside real tokens; what it leaves behind is gone after ten minutes.
 *
 * @throws {BrokenLawError} The first law that is broken; `cause` shows what was expected.
 *
 * @example
 * await verifyTokenStore(new MyTokenStore(connection), { second: new MyTokenStore(anotherConnection) });
 */
export async function verifyTokenStore(
  store: TokenStore,
  options: VerifyTokenStoreOptions = {},
): Promise<TokenStoreReport> {
  assertOptions(
    storeOptions,
    options,
    "the options",
    (message) => new InvalidArgumentError(`verifyTokenStore: ${message}`),
  );
  const { second = store, shortMs = 250, wait = sleep, workers = 20 } = options;
  const laws = new Laws();
  // Clocks of databases tick apart from timers.
  const outlive = async (): Promise<void> => {
    await wait(shortMs + 50);
  };
  for (const [index, [law, check]] of [...storeLaws, ...raceLaws].entries()) {
    const key = `verify-${randomUUID()}`;
    const fixture = { store, second, key, otherKey: `${key}-other`, shortMs, outlive, workers };
    await laws.law(law, () => (index < storeLaws.length ? checkLikeMemory(check, fixture) : check(fixture)));
  }
  return { held: laws.held, notChecked: notChecked(options) };
}

function notChecked({ second }: VerifyTokenStoreOptions): string[] {
  return [
    ...(second === undefined ? ["two handles of one store: needs second"] : []),
    "that values are encrypted, and bound to their keys",
    "what a failover or a restored backup of the store loses",
  ];
}

/** What a law is checked with. */
interface StoreFixture {
  readonly store: TokenStore;
  /** Another handle of the same store, or the same one if there is no other. */
  readonly second: TokenStore;
  /** Of this law alone. */
  readonly key: string;
  readonly otherKey: string;
  /** A lock or a value whose end is waited for. */
  readonly shortMs: number;
  /** Waits until what was to last for `shortMs` is over. */
  readonly outlive: () => Promise<void>;
  readonly workers: number;
}

/** Calls a store in memory, then the store to check, which must reply the same. Each version counts as the first, the second, and so on. */
async function checkLikeMemory(check: Law<StoreFixture>[1], fixture: StoreFixture): Promise<void> {
  let nowMs = 0;
  const { record, compare } = comparing<TokenStore>(() => {
    const versions: unknown[] = [];
    return (reply) => {
      const { value, version }: { value?: unknown; version?: unknown } = Object(reply);
      if (version === undefined) return reply;
      if (!versions.includes(version)) versions.push(version);
      return { value, version: `${typeof version} ${versions.indexOf(version)}` };
    };
  });
  const model = record(new MemoryTokenStore(() => nowMs));
  const outlive = async (): Promise<void> => {
    nowMs += fixture.shortMs + 50;
  };
  await check({ ...fixture, store: model, second: model, outlive });
  await check({ ...fixture, store: compare(fixture.store), second: compare(fixture.second) });
}

const versionOf = async (store: TokenStore, key: string) => (await store.read(key))?.version;

/** The laws of the interface `TokenStore`, as calls one after the other. */
const storeLaws: readonly Law<StoreFixture>[] = [
  [
    "write stores a value where there is none, and read returns it from any handle",
    async ({ store, second, key }) => {
      await store.read(key);
      await store.write(key, "first", longMs, undefined);
      await store.read(key);
      await second.read(key);
    },
  ],
  [
    "write stores only in place of the version that is there, and no version comes again",
    async ({ store, second, key }) => {
      await store.write(key, "first", longMs, undefined);
      await second.write(key, "second", longMs, undefined);
      const version = await versionOf(second, key);
      await second.write(key, "third", longMs, version);
      await store.write(key, "fourth", longMs, version);
      for (const handle of [second, store, second]) {
        await handle.write(key, "same", longMs, await versionOf(store, key));
      }
      await store.read(key);
    },
  ],
  [
    "write with a version stores nothing where there is no value",
    async ({ store, key, otherKey }) => {
      await store.write(otherKey, "another", longMs, undefined);
      await store.write(key, "value", longMs, await versionOf(store, otherKey));
      await store.read(key);
    },
  ],
  [
    "a value is gone after its time, and its version with it; each write gives another time",
    async ({ store, second, key, otherKey, shortMs, outlive }) => {
      await store.write(key, "first", longMs, undefined);
      const version = await versionOf(store, key);
      await second.write(key, "second", shortMs, version);
      await store.write(otherKey, "third", 20 * shortMs, undefined);
      await second.write(otherKey, "fourth", longMs, await versionOf(store, otherKey));
      await outlive();
      await second.read(key);
      await store.write(key, "late", longMs, version);
      await store.write(key, "fifth", longMs, undefined);
      await store.write(key, "late", longMs, version);
      await store.read(key);
      await store.read(otherKey);
    },
  ],
  [
    "values come back as they were written, whatever their characters, and up to 20,000 of them",
    async ({ store, second, key }) => {
      for (const text of ["", " \n\t\"'\\$1%s;--", "äöü € 𝄞", "x".repeat(20_000), '{"v":1}']) {
        await second.write(key, text, longMs, await versionOf(store, key));
        await store.read(key);
      }
    },
  ],
  [
    "a lock ends by itself; the holder locks again, which gives the lock another time",
    async ({ store, second, key, otherKey, shortMs, outlive }) => {
      await store.lock(key, "one", shortMs);
      await store.lock(key, "one", longMs);
      await store.lock(otherKey, "one", shortMs);
      await outlive();
      await second.lock(key, "two", longMs);
      await second.lock(otherKey, "two", longMs);
      await store.lock(otherKey, "one", longMs);
    },
  ],
  [
    "unlock frees a lock at once, for any other owner; by another owner it does nothing",
    async ({ store, second, key }) => {
      await store.unlock(key, "nobody");
      await store.lock(key, "one", longMs);
      await second.unlock(key, "two");
      await second.lock(key, "two", longMs);
      await store.unlock(key, "one");
      await second.lock(key, "two", longMs);
    },
  ],
  [
    "locks and values of one key leave each other alone, and so do keys",
    async ({ store, second, key, otherKey }) => {
      await store.lock(key, "one", longMs);
      await store.read(key);
      await second.write(key, "value", longMs, undefined);
      await second.lock(key, "two", longMs);
      await store.unlock(key, "one");
      await second.read(key);
      await second.read(otherKey);
      await store.lock(key, "one", longMs);
      await second.lock(otherKey, "two", longMs);
    },
  ],
];

/** Laws about many calls at once. */
const raceLaws: readonly Law<StoreFixture>[] = [
  [
    "of many that write with the same version, or where there is no value, exactly one stores",
    async ({ store, second, key, otherKey, shortMs, outlive, workers }) => {
      const race = async (name: string): Promise<void> => {
        const version = await versionOf(store, name);
        const write = (index: number) => pick(index, store, second).write(name, `by ${index}`, longMs, version);
        const winner = onlyWinner(await Promise.all(times(workers, write)), (isStored) => isStored);
        assert.equal((await store.read(name))?.value, `by ${winner}`);
      };
      for (const name of [key, key]) await race(name);
      await store.write(otherKey, "gone", shortMs, undefined);
      await outlive();
      await race(otherKey);
    },
  ],
  [
    "of many that lock, also when a lock has ended, exactly one gets the lock",
    async ({ store, second, key, otherKey, shortMs, outlive, workers }) => {
      await store.lock(otherKey, "gone", shortMs);
      await outlive();
      for (const name of [key, otherKey]) {
        const lock = (index: number) => pick(index, store, second).lock(name, `${index}`, longMs);
        onlyWinner(await Promise.all(times(workers, lock)), (isLocked) => isLocked);
      }
    },
  ],
  [
    "unlock that is asked for again meanwhile frees no lock that another owner got",
    async ({ store, second, key, workers }) => {
      for (let round = 0; round < 5; round += 1) {
        const name = `${key}-${round}`;
        await store.lock(name, "one", longMs);
        let unlocking = workers;
        const unlocked = times(workers, async () => {
          await sleep(5 * Math.random());
          await store.unlock(name, "one");
          unlocking -= 1;
        });
        let got = 0;
        for (let owner = 0; unlocking > 0 || got === 0; owner += 1) {
          if (await second.lock(name, `two ${owner}`, longMs)) got += 1;
          await sleep(Math.random());
        }
        await Promise.all(unlocked);
        assert.equal(got, 1, "of others that lock, more than one gets the lock");
      }
    },
  ],
];
