import { MemoryTokenStore, type TokenStore } from "cross-border-payments";
import { BrokenLawError, verifyTokenStore } from "cross-border-payments/testing";
import { afterEach, beforeEach, expect, it, vi } from "vitest";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const wait = async (ms: number): Promise<void> => {
  vi.advanceTimersByTime(ms);
};

it("finds no law broken by the store in memory, and says what it can't check", async () => {
  const store = new MemoryTokenStore();
  const { held, notChecked } = await verifyTokenStore(store, { wait });
  expect(held).toHaveLength(7);
  expect(notChecked).toContain("two handles of one store: needs second");
  expect((await verifyTokenStore(store, { wait, second: store })).notChecked).toHaveLength(2);
});

/** A store in memory with one mistake. */
function mistakenStore(mistake: Mistake): TokenStore {
  const right = new MemoryTokenStore();
  const methods = mistake(right);
  return new Proxy<TokenStore>(right, {
    get: (_, name) => Reflect.get(methods, name) ?? Reflect.get(right, name).bind(right),
  });
}

type Mistake = (right: TokenStore) => Partial<TokenStore>;

async function currentVersion(store: TokenStore, key: string): Promise<string | undefined> {
  return (await store.read(key))?.version;
}

/** The lock of a store, and who got it last. */
function notingHolders(store: TokenStore): Pick<TokenStore, "lock"> & { holderOf(key: string): string } {
  const owners = new Map<string, string>();
  return {
    async lock(key, owner, ms) {
      const isLocked = await store.lock(key, owner, ms);
      if (isLocked) owners.set(key, owner);
      return isLocked;
    },
    holderOf: (key) => owners.get(key) ?? "",
  };
}

const mistakes: Readonly<Record<string, Mistake>> = {
  "reads something where nothing was written": () => ({
    read: async () => ({ value: "", version: "" }),
  }),
  "stores nothing": () => ({ write: async () => true }),
  "replaces without a version": (right) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, version ?? (await currentVersion(right, key))),
  }),
  "replaces whatever the version": (right) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, version === undefined ? undefined : await currentVersion(right, key)),
  }),
  "gives a version again": (right) => ({
    async read(key) {
      const stored = await right.read(key);
      return stored === undefined ? undefined : { value: stored.value, version: `of ${stored.value}` };
    },
    async write(key, value, ttlMs, version) {
      const stored = await right.read(key);
      const isRight = version === (stored === undefined ? undefined : `of ${stored.value}`);
      return isRight && right.write(key, value, ttlMs, stored?.version);
    },
  }),
  "stores with a version where there is nothing": (right) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, (await right.read(key)) === undefined ? undefined : version),
  }),
  "looks at the version, and then replaces": (right) => ({
    async write(key, value, ttlMs, version) {
      const isRight = (await currentVersion(right, key)) === version;
      await new Promise((resolve) => setImmediate(resolve));
      return isRight && right.write(key, value, ttlMs, await currentVersion(right, key)).then(() => true);
    },
  }),
  "keeps values for good": (right) => ({
    write: (key, value, _ttlMs, version) => right.write(key, value, 1e9, version),
  }),
  "cuts values": (right) => ({
    write: (key, value, ttlMs, version) => right.write(key, value.slice(0, 19_999), ttlMs, version),
  }),
  "locks for everybody": () => ({ lock: async () => true }),
  "lets its holder not lock again": (right) => ({
    lock: (key, owner, ms) => right.lock(key, `${owner} ${performance.now()} ${Math.random()}`, ms),
  }),
  "never ends a lock": (right) => ({ lock: (key, owner) => right.lock(key, owner, 1e9) }),
  "never unlocks": () => ({ unlock: async () => {} }),
  "unlocks for anybody": (right) => {
    const { lock, holderOf } = notingHolders(right);
    return { lock, unlock: (key) => right.unlock(key, holderOf(key)) };
  },
  "looks whose the lock is, and then unlocks": (right) => {
    const { lock, holderOf } = notingHolders(right);
    return {
      lock,
      // Looks whose it is, and deletes it then.
      async unlock(key, owner) {
        const holder = holderOf(key);
        await new Promise((resolve) => setTimeout(resolve, 4 * Math.random()));
        if (holder === owner) await right.unlock(key, holderOf(key));
      },
    };
  },
  "counts versions from 1 again once a value is gone": (right) => {
    const first = new Map<string, number>();
    const shown = (key: string, version = "") => String(Number(version) - (first.get(key) ?? 0));
    return {
      async read(key) {
        const stored = await right.read(key);
        return stored && { value: stored.value, version: shown(key, stored.version) };
      },
      async write(key, value, ttlMs, version) {
        const present = await currentVersion(right, key);
        if (version !== (present && shown(key, present))) return false;
        const isStored = await right.write(key, value, ttlMs, present);
        if (version === undefined) first.set(key, Number(await currentVersion(right, key)) - 1);
        return isStored;
      },
    };
  },
  "lets many write where a value has ended": (right) => {
    const written = new Set<string>();
    return {
      async write(key, value, ttlMs, version) {
        // Its insert is safe. Of a row whose time is over it looks first, and replaces it then.
        if (version !== undefined || !written.has(key)) {
          written.add(key);
          return right.write(key, value, ttlMs, version);
        }
        const isOver = (await right.read(key)) === undefined;
        await new Promise((resolve) => setImmediate(resolve));
        return isOver && right.write(key, value, ttlMs, await currentVersion(right, key)).then(() => true);
      },
    };
  },
  "lets many lock where a lock has ended": (right) => {
    const ends = new Map<string, number>();
    return {
      async lock(key, owner, ms) {
        const isOver = (ends.get(key) ?? Number.POSITIVE_INFINITY) <= performance.now();
        if (!isOver && !(await right.lock(key, owner, ms))) return false;
        await new Promise((resolve) => setImmediate(resolve));
        ends.set(key, performance.now() + ms);
        return true;
      },
    };
  },
};

it.each(Object.entries(mistakes))("finds a store that %s", async (_, mistake) => {
  await expect(verifyTokenStore(mistakenStore(mistake), { wait })).rejects.toBeInstanceOf(BrokenLawError);
});
