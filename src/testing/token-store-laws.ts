import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { TokenStore } from "../auth/token-store.js";
import { sleep } from "../core/clock.js";
import { pick, times } from "./law-fixture.js";

/** What a law is checked with. */
export interface TokenStoreFixture {
  readonly store: TokenStore;
  /** Another handle of the same store, or the same one where there is no other. */
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

export type TokenStoreLaw = readonly [name: string, check: (fixture: TokenStoreFixture) => Promise<void>];

const longMs = 600_000;

export const tokenStoreLaws: readonly TokenStoreLaw[] = [
  ["read returns undefined where nothing was written", readsNothing],
  ["write stores a value where there is none, and read returns it from any handle", storesFirst],
  ["write without a version stores nothing where there is a value", keepsWhatIsThere],
  ["write with the version that was read replaces the value", replaces],
  ["write with a version that was replaced stores nothing", refusesOldVersion],
  ["a version does not come again, not even with the same value", versionsAreNew],
  ["write with a version stores nothing where there is no value", refusesVersionOfNothing],
  ["of many that write with the same version, exactly one stores", oneWriterWins],
  ["of many that write where there is no value, exactly one stores", oneFirstWriterWins],
  ["a value is gone after its time, and its version with it", valuesEnd],
  ["a later write gives the value another time", writeProlongs],
  ["values come back as they were written, whatever their characters, and up to 20,000 of them", keepsText],
  ["of many that lock, exactly one gets the lock", oneLockHolder],
  ["the holder locks again, which gives the lock another time", holderLocksAgain],
  ["a lock ends by itself", locksEnd],
  ["unlock frees a lock at once, for any other owner", unlockFrees],
  ["unlock by another owner does nothing, nor does unlocking what is not locked", unlockIsTheHolders],
  ["unlock that is asked for again meanwhile frees no lock that another owner got", unlocksOnce],
  ["locks and values of one key leave each other alone, and so do keys", apart],
];

async function readsNothing({ store, key }: TokenStoreFixture): Promise<void> {
  assert.equal(await store.read(key), undefined);
}

async function storesFirst({ store, second, key }: TokenStoreFixture): Promise<void> {
  assert.equal(await store.write(key, "first", longMs, undefined), true);
  assert.equal((await store.read(key))?.value, "first");
  assert.deepEqual(await second.read(key), await store.read(key));
}

async function keepsWhatIsThere({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", longMs, undefined);
  const before = await store.read(key);
  assert.equal(await second.write(key, "second", longMs, undefined), false);
  assert.deepEqual(await store.read(key), before);
}

async function replaces({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", longMs, undefined);
  const version = await versionOf(second, key);
  assert.equal(await second.write(key, "second", longMs, version), true);
  assert.equal((await store.read(key))?.value, "second");
}

async function refusesOldVersion({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", longMs, undefined);
  const version = await versionOf(store, key);
  await second.write(key, "second", longMs, version);
  assert.equal(await store.write(key, "third", longMs, version), false);
  assert.equal((await store.read(key))?.value, "second");
}

async function versionsAreNew({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.write(key, "same", longMs, undefined);
  const versions = [await versionOf(store, key)];
  for (const handle of [second, store, second]) {
    assert.equal(await handle.write(key, "same", longMs, versions.at(-1)), true);
    versions.push(await versionOf(store, key));
  }
  assert.equal(new Set(versions).size, versions.length, "versions repeat");
}

async function refusesVersionOfNothing({ store, key, otherKey }: TokenStoreFixture): Promise<void> {
  await store.write(otherKey, "another", longMs, undefined);
  assert.equal(await store.write(key, "value", longMs, await versionOf(store, otherKey)), false);
  assert.equal(await store.read(key), undefined);
}

async function oneWriterWins({ store, second, key, workers }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", longMs, undefined);
  const version = await versionOf(store, key);
  await assertOneWins(workers, (worker) => pick(worker, store, second).write(key, `by ${worker}`, longMs, version));
  assert.notEqual((await store.read(key))?.value, "first");
}

async function oneFirstWriterWins({ store, second, key, workers }: TokenStoreFixture): Promise<void> {
  await assertOneWins(workers, (worker) => pick(worker, store, second).write(key, `${worker}`, longMs, undefined));
}

async function valuesEnd({ store, second, key, shortMs, outlive, workers }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", shortMs, undefined);
  const { version = "of a value that was gone already" } = (await store.read(key)) ?? {};
  await outlive();
  assert.equal(await second.read(key), undefined);
  assert.equal(await store.write(key, "late", longMs, version), false);
  await assertOneWins(workers, (worker) => pick(worker, store, second).write(key, `${worker}`, longMs, undefined));
  assert.equal(
    await store.write(key, "late", longMs, version),
    false,
    "the version of a value that is gone came again",
  );
}

async function writeProlongs({ store, second, key, shortMs, outlive }: TokenStoreFixture): Promise<void> {
  await store.write(key, "first", longMs, undefined);
  await second.write(key, "second", shortMs, await versionOf(store, key));
  await outlive();
  assert.equal(await store.read(key), undefined, "a shorter time counts");
  await store.write(key, "third", 20 * shortMs, undefined);
  await second.write(key, "fourth", longMs, await versionOf(store, key));
  await outlive();
  assert.equal((await store.read(key))?.value, "fourth");
}

async function keepsText({ store, second, key }: TokenStoreFixture): Promise<void> {
  const texts = ["", " \n\t\"'\\$1%s;--", "äöü €  𝄞", `${"x".repeat(20_000)}`, '{"v":1}'];
  for (const text of texts) {
    const version = (await store.read(key))?.version;
    assert.equal(await second.write(key, text, longMs, version), true);
    assert.equal((await store.read(key))?.value, text);
  }
}

async function oneLockHolder({ store, second, key, workers }: TokenStoreFixture): Promise<void> {
  await assertOneWins(workers, (worker) => pick(worker, store, second).lock(key, randomUUID(), longMs));
}

async function holderLocksAgain({ store, second, key, shortMs, outlive }: TokenStoreFixture): Promise<void> {
  assert.equal(await store.lock(key, "one", shortMs), true);
  assert.equal(await store.lock(key, "one", longMs), true);
  await outlive();
  assert.equal(await second.lock(key, "two", longMs), false);
}

async function locksEnd({ store, second, key, shortMs, outlive, workers }: TokenStoreFixture): Promise<void> {
  await store.lock(key, "one", shortMs);
  await outlive();
  await assertOneWins(workers, (worker) => pick(worker, store, second).lock(key, randomUUID(), longMs));
  assert.equal(await store.lock(key, "one", longMs), false);
}

async function unlockFrees({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.lock(key, "one", longMs);
  await store.unlock(key, "one");
  assert.equal(await second.lock(key, "two", longMs), true);
}

async function unlockIsTheHolders({ store, second, key }: TokenStoreFixture): Promise<void> {
  await store.unlock(key, "nobody");
  assert.equal(await store.lock(key, "one", longMs), true);
  await second.unlock(key, "two");
  assert.equal(await second.lock(key, "two", longMs), false);
}

async function unlocksOnce({ store, second, key, workers }: TokenStoreFixture): Promise<void> {
  for (let round = 0; round < 5; round += 1) {
    const name = `${key}-${round}`;
    await store.lock(name, "one", longMs);
    const unlocking = times(workers, async () => {
      await sleep(5 * Math.random());
      await store.unlock(name, "one");
    });
    let areOver = false;
    const over = Promise.all(unlocking).then(() => {
      areOver = true;
    });
    const got: string[] = [];
    for (let owner = 0; !areOver || got.length === 0; owner += 1) {
      if (await second.lock(name, `two ${owner}`, longMs)) got.push(name);
      await sleep(Math.random());
    }
    await over;
    assert.equal(got.length, 1, "of others that lock, more than one gets the lock");
  }
}

async function apart({ store, second, key, otherKey }: TokenStoreFixture): Promise<void> {
  await store.lock(key, "one", longMs);
  assert.equal(await store.read(key), undefined, "a lock is no value");
  assert.equal(await second.write(key, "value", longMs, undefined), true, "a value needs no lock");
  assert.equal(await second.lock(key, "two", longMs), false, "a write leaves the lock");
  await store.unlock(key, "one");
  assert.equal((await second.read(key))?.value, "value", "unlock leaves the value");
  assert.equal(await second.read(otherKey), undefined);
  await store.lock(key, "one", longMs);
  assert.equal(await second.lock(otherKey, "two", longMs), true);
}

async function versionOf(store: TokenStore, key: string): Promise<string> {
  const stored = await store.read(key);
  assert.ok(stored, "a value that was written can be read");
  assert.equal(typeof stored.version, "string", "a version that is no string counts as a store that is away");
  return stored.version;
}

async function assertOneWins(workers: number, work: (worker: number) => Promise<boolean>): Promise<void> {
  const results = await Promise.all(times(workers, work));
  assert.equal(results.filter((result) => result === true).length, 1, "of all at once, not one alone");
}
