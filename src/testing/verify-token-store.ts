import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { isTokenStore, type StoredToken, type TokenStore } from "../auth/token-store.js";
import type { CheckTable } from "../core/parse.js";
import { MemoryTokenStore } from "../tokens/memory-token-store.js";
import {
  aCount,
  aFunction,
  assertGiven,
  checkLaws,
  comparing,
  type Laws,
  longMs,
  mapLaws,
  notChecked,
  onlyWinner,
  pick,
  times,
} from "./laws.js";

export interface VerifyTokenStoreOptions {
  /** Another handle of the same store, as another process would have. Without it, one handle plays both. */
  readonly second?: TokenStore;
  /**
   * The duration of the locks and values that the laws wait for, in milliseconds. It must be much longer than the slowest call.
   * Default: 250.
   */
  readonly shortMs?: number;
  /** Advances time, for a store that has its own clock. Default: waits. */
  readonly wait?: (ms: number) => Promise<void>;
  /** How many workers compete. Default: 20. */
  readonly workers?: number;
}

const storeOptions: CheckTable<VerifyTokenStoreOptions> = {
  second: { accepts: isTokenStore, expected: "a token store: an object with the methods read, lock, unlock and write" },
  shortMs: aCount,
  wait: aFunction,
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
 * Checks every law of the interface `TokenStore` on your own store, with any test runner or none.
 *
 * Each run uses new keys, so it may share a store with real tokens. What it leaves there expires after ten minutes.
 *
 * @throws {BrokenLawError} The first law that is broken. `cause` shows what was expected.
 *
 * @example
 * await verifyTokenStore(new MyTokenStore(connection), { second: new MyTokenStore(anotherConnection) });
 */
export async function verifyTokenStore(
  store: TokenStore,
  options: VerifyTokenStoreOptions = {},
): Promise<TokenStoreReport> {
  assertGiven("verifyTokenStore", storeOptions, options);
  const { second = store, shortMs = 250, wait = sleep, workers = 20 } = options;
  // Clocks of databases tick apart from timers.
  const outlive = () => wait(shortMs + 50);
  const held = await checkLaws(storeLaws, () => {
    const key = `verify-${randomUUID()}`;
    return { store, second, key, otherKey: `${key}-other`, shortMs, wait, outlive, workers };
  });
  const rest = [
    "that values are encrypted, and bound to their keys",
    "what a failover or a restored backup of the store loses",
  ];
  return { held, notChecked: notChecked(options, { second: "two handles of one store" }, ...rest) };
}

/** What a law is checked with. */
interface StoreFixture extends Required<VerifyTokenStoreOptions> {
  readonly store: TokenStore;
  /** Of this law alone. */
  readonly key: string;
  readonly otherKey: string;
  /** Waits until what was to last for `shortMs` is over. */
  readonly outlive: () => Promise<void>;
}

/** Calls a store in memory, then the store to check, which must reply the same. Each version counts as the first, the second, and so on. */
async function checkLikeMemory(check: Laws<StoreFixture>[string], fixture: StoreFixture): Promise<void> {
  let nowMs = 0;
  const { record, compare } = comparing<TokenStore>(() => {
    const versions: unknown[] = [];
    return (reply) => {
      const { value, version }: Partial<StoredToken> = Object(reply);
      if (version === undefined) return reply;
      if (!versions.includes(version)) versions.push(version);
      return { value, version: `${typeof version} ${versions.indexOf(version)}` };
    };
  });
  const outlive = async (): Promise<void> => {
    nowMs += fixture.shortMs + 50;
  };
  await check({ ...fixture, store: record(new MemoryTokenStore(() => nowMs)), outlive });
  await check({ ...fixture, store: compare(fixture.store, fixture.second) });
}

const versionOf = async (store: TokenStore, key: string) => (await store.read(key))?.version;

/** The laws of the interface `TokenStore`, as calls one after the other. */
const sequentialLaws: Laws<StoreFixture> = {
  async "write stores only in place of the version that is there, if any, and no version comes again"({
    store,
    key,
    otherKey,
  }) {
    await store.read(key);
    await store.write(key, "first", longMs, undefined);
    const version = await versionOf(store, key);
    for (const value of ["second", "late"]) await store.write(key, value, longMs, version);
    await store.write(key, "without a version", longMs, undefined);
    for (const value of ["same", "same", "same"]) {
      await store.write(key, value, longMs, await versionOf(store, key));
    }
    await store.write(otherKey, "with a version", longMs, await versionOf(store, key));
  },
  async "a value is gone after its time, and its version with it; each write gives another time"({
    store,
    key,
    shortMs,
    outlive,
  }) {
    await store.write(key, "first", longMs, undefined);
    const version = await versionOf(store, key);
    await store.write(key, "second", shortMs, version);
    await outlive();
    await store.read(key);
    await store.write(key, "late", longMs, version);
    await store.write(key, "third", longMs, undefined);
    await store.write(key, "late", longMs, version);
  },
  async "values come back as they were written, whatever their characters, and up to 20,000 of them"({ store, key }) {
    for (const text of ["", " \n\t\"'\\$1%s;--", "äöü € 𝄞", "x".repeat(20_000), '{"v":1}']) {
      await store.write(key, text, longMs, await versionOf(store, key));
    }
  },
  async "a lock has one owner, who may lock again, until its time ends or the owner unlocks it; values stay"({
    store,
    key,
    otherKey,
    shortMs,
    outlive,
  }) {
    await store.unlock(key, "nobody");
    await store.lock(key, "one", shortMs);
    for (const ms of [shortMs, longMs]) await store.lock(otherKey, "one", ms);
    await store.write(otherKey, "value", longMs, undefined);
    await outlive();
    for (const name of [key, otherKey]) await store.lock(name, "two", longMs);
    await store.unlock(key, "one");
    await store.lock(key, "three", longMs);
    await store.unlock(key, "two");
    await store.lock(key, "three", longMs);
    await store.unlock(otherKey, "one");
  },
};

/** Laws about many calls at once. */
const raceLaws: Laws<StoreFixture> = {
  async "of many that write with the same version, or where there is no value, exactly one stores"({
    store,
    second,
    key,
    otherKey,
    shortMs,
    outlive,
    workers,
  }) {
    const race = async (name: string): Promise<void> => {
      const version = await versionOf(store, name);
      const write = (index: number) => pick(index, store, second).write(name, `by ${index}`, longMs, version);
      const winner = onlyWinner(await Promise.all(times(workers, write)));
      assert.equal((await store.read(name))?.value, `by ${winner}`);
    };
    for (const name of [key, key]) await race(name);
    await store.write(otherKey, "gone", shortMs, undefined);
    await outlive();
    await race(otherKey);
  },
  async "of many that lock, also when a lock has ended, exactly one gets the lock"({
    store,
    second,
    key,
    otherKey,
    shortMs,
    outlive,
    workers,
  }) {
    await store.lock(otherKey, "gone", shortMs);
    await outlive();
    for (const name of [key, otherKey]) {
      const lock = (index: number) => pick(index, store, second).lock(name, `${index}`, longMs);
      onlyWinner(await Promise.all(times(workers, lock)));
    }
  },
  async "a repeated unlock frees no lock that another owner got in the meantime"({ store, second, key, workers }) {
    for (let round = 0; round < 5; round += 1) {
      const name = `${key}-${round}`;
      await store.lock(name, "one", longMs);
      const unlocks = times(workers, async () => {
        await sleep(5 * Math.random());
        await store.unlock(name, "one");
      });
      const locks = times(2 * workers, async (owner) => {
        await sleep(8 * Math.random());
        return second.lock(name, `two ${owner}`, longMs);
      });
      await Promise.all(unlocks);
      const all = [...(await Promise.all(locks)), await second.lock(name, "last", longMs)];
      onlyWinner(all);
    }
  },
};

const storeLaws: Laws<StoreFixture> = { ...mapLaws(sequentialLaws, checkLikeMemory), ...raceLaws };
