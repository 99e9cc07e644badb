import { MemoryTokenStore, type StoredToken, type TokenStore } from "cross-border-payments";
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
  expect(held).toHaveLength(19);
  expect(notChecked).toContain("two handles of one store: needs second");
  expect((await verifyTokenStore(store, { wait, second: store })).notChecked).toHaveLength(2);
});

/** A store in memory with one mistake. */
class MistakenStore implements TokenStore {
  readonly right = new MemoryTokenStore();

  read(key: string): Promise<StoredToken | undefined> {
    return this.right.read(key);
  }

  lock(key: string, owner: string, ms: number): Promise<boolean> {
    return this.right.lock(key, owner, ms);
  }

  unlock(key: string, owner: string): Promise<void> {
    return this.right.unlock(key, owner);
  }

  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    return this.right.write(key, value, ttlMs, version);
  }
}

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

const mistakes: Readonly<Record<string, (store: MistakenStore) => Partial<TokenStore>>> = {
  "read returns undefined where nothing was written": () => ({
    read: async () => ({ value: "", version: "" }),
  }),
  "write stores a value where there is none, and read returns it from any handle": () => ({ write: async () => true }),
  "write without a version stores nothing where there is a value": ({ right }) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, version ?? (await currentVersion(right, key))),
  }),
  "write with the version that was read replaces the value": ({ right }) => ({
    write: (key, value, ttlMs) => right.write(key, value, ttlMs, undefined),
  }),
  "write with a version that was replaced stores nothing": ({ right }) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, version === undefined ? undefined : await currentVersion(right, key)),
  }),
  "a version does not come again, not even with the same value": ({ right }) => ({
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
  "write with a version stores nothing where there is no value": ({ right }) => ({
    write: async (key, value, ttlMs, version) =>
      right.write(key, value, ttlMs, (await right.read(key)) === undefined ? undefined : version),
  }),
  "of many that write with the same version, exactly one stores": ({ right }) => ({
    async write(key, value, ttlMs, version) {
      const isRight = (await currentVersion(right, key)) === version;
      await new Promise((resolve) => setImmediate(resolve));
      return isRight && right.write(key, value, ttlMs, await currentVersion(right, key)).then(() => true);
    },
  }),
  "a value is gone after its time, and its version with it": ({ right }) => ({
    write: (key, value, _ttlMs, version) => right.write(key, value, 1e9, version),
  }),
  "a later write gives the value another time": ({ right }) => {
    const times = new Map<string, number>();
    return {
      write: (key, value, ttlMs, version) => {
        if (!times.has(key)) times.set(key, ttlMs);
        return right.write(key, value, times.get(key) ?? 0, version);
      },
    };
  },
  "values come back as they were written, whatever their characters, and up to 20,000 of them": ({ right }) => ({
    write: (key, value, ttlMs, version) => right.write(key, value.slice(0, 19_999), ttlMs, version),
  }),
  "of many that lock, exactly one gets the lock": () => ({ lock: async () => true }),
  "the holder locks again, which gives the lock another time": ({ right }) => ({
    lock: (key, owner, ms) => right.lock(key, `${owner} ${performance.now()} ${Math.random()}`, ms),
  }),
  "a lock ends by itself": ({ right }) => ({ lock: (key, owner) => right.lock(key, owner, 1e9) }),
  "unlock frees a lock at once, for any other owner": () => ({ unlock: async () => {} }),
  "unlock by another owner does nothing, nor does unlocking what is not locked": ({ right }) => {
    const { lock, holderOf } = notingHolders(right);
    return { lock, unlock: (key) => right.unlock(key, holderOf(key)) };
  },
  "unlock that is asked for again meanwhile frees no lock that another owner got": ({ right }) => {
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
  "locks and values of one key leave each other alone, and so do keys": ({ right }) => ({
    async write(key, value, ttlMs, version) {
      await right.unlock(key, "one");
      return right.write(key, value, ttlMs, version);
    },
  }),
};

async function brokenLaw(mistake: (store: MistakenStore) => Partial<TokenStore>): Promise<string> {
  const store = new MistakenStore();
  const error = await verifyTokenStore(Object.assign(store, mistake(store)), { wait }).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(BrokenLawError);
  return (error as BrokenLawError).law;
}

it.each(Object.entries(mistakes))("finds that it is broken: %s", async (law, mistake) => {
  expect(await brokenLaw(mistake)).toBe(law);
});

it("finds a store whose versions are counted from 1 again once a value is gone", async () => {
  const law = await brokenLaw(({ right }) => {
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
  });
  expect(law).toMatch(/and its version with it/);
});

it("finds a store that many write to where a value has ended", async () => {
  const law = await brokenLaw(({ right }) => {
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
  });
  expect(law).toMatch(/and its version with it/);
});

it("finds a store that many lock where a lock has ended", async () => {
  const law = await brokenLaw(({ right }) => {
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
  });
  expect(law).toMatch(/a lock ends by itself/);
});

it("finds a store whose versions are numbers", async () => {
  const law = await brokenLaw(({ right }) => ({
    async read(key) {
      const stored = await right.read(key);
      return stored && { value: stored.value, version: Number(stored.version) as never };
    },
    write: (key, value, ttlMs, version) => right.write(key, value, ttlMs, version && String(version)),
  }));
  expect(law).toMatch(/with the version that was read/);
});
