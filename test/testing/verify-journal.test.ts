import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { BrokenLawError, verifyJournal } from "cross-border-payments/testing";
import { expect, it } from "vitest";

/** A journal over a store that others share, with some of its methods replaced. */
function broken(change: (store: MemoryJournal, clock: { nowMs: number }) => Partial<Journal>) {
  const clock = { nowMs: 1_700_000_000_000 };
  const store = new MemoryJournal({ nowMs: () => clock.nowMs });
  const methods = change(store, clock);
  const journal = new Proxy<Journal>(store, {
    get: (_, name) => Reflect.get(methods, name) ?? Reflect.get(store, name)?.bind(store),
  });
  const open = async () => journal;
  const wait = async (ms: number) => {
    clock.nowMs += ms;
  };
  return { open, options: { openSecond: open, reopen: open, wait } };
}

const mistakes: readonly [mistake: string, law: RegExp, change: Parameters<typeof broken>[0]][] = [
  [
    "overwrites on begin",
    /unchanged/,
    (store) => ({
      begin: async (key, state, lease) => {
        const result = await store.begin(key, state, lease);
        if (!result.created) await store.write(key, result.entry.epoch, state);
        return result;
      },
    }),
  ],
  [
    "looks before it begins, in two steps",
    /at once|exactly one creates/,
    (store) => ({
      begin: async (key, state, lease) => {
        const present = await store.read(key);
        await new Promise((resolve) => setImmediate(resolve));
        const { entry } = await store.begin(key, state, lease);
        return { entry, created: present === undefined };
      },
    }),
  ],
  [
    "takes leases that have not expired",
    /while a lease lasts/,
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.read(key);
        if (entry !== undefined) await store.release(key, entry.epoch);
        return store.acquire(key, lease);
      },
    }),
  ],
  [
    "keeps the epoch when it is taken over",
    /next epoch/,
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.acquire(key, lease);
        return entry && { ...entry, epoch: 1 };
      },
    }),
  ],
  [
    "lets a stale owner write",
    /taken over can't write/,
    (store) => ({
      write: async (key, epoch, state) => store.write(key, (await store.read(key))?.epoch ?? epoch, state),
    }),
  ],
  ["forgets to renew", /renew/, () => ({ renew: async () => true })],
  ["forgets to release", /release/, () => ({ release: async () => {} })],
  [
    "extends the lease on write",
    /does not extend/,
    (store) => ({
      write: async (key, epoch, state) => {
        const written = await store.write(key, epoch, state);
        if (!state.settled) await store.renew(key, epoch, 600_000);
        return written;
      },
    }),
  ],
  [
    "returns abandoned flows from the first each time",
    /UTF-8 bytes/,
    (store) => ({
      acquireAbandoned: (lease, after) =>
        store.acquireAbandoned(lease, after?.slice(0, "verify 000000000 00000000 00 ".length)),
    }),
  ],
  [
    "lists by UTF-16 units",
    /UTF-8 bytes/,
    (store) => ({
      list: async ({ phase, after = "", limit }) =>
        (await store.list({ phase, limit: 1000 }))
          .filter(({ key }) => key > after)
          .sort((one, other) => (one.key < other.key ? -1 : 1))
          .slice(0, limit),
    }),
  ],
  [
    "takes capital letters for small ones",
    /UTF-8 bytes|byte by byte/,
    (store) => ({
      begin: (key, state, lease) => store.begin(key.toLowerCase(), state, lease),
      read: async (key) => store.read(key.toLowerCase()),
    }),
  ],
  [
    "cuts data",
    /1 MiB/,
    (store) => ({
      begin: (key, state, lease) => store.begin(key, { ...state, data: state.data.slice(0, 65_536) }, lease),
    }),
  ],
  [
    "forgets epochs when it is reopened",
    /outlive/,
    (store) => {
      let isClosed = false;
      return {
        close: async () => {
          isClosed = true;
        },
        write: async (key, epoch, state) =>
          store.write(key, isClosed ? ((await store.read(key))?.epoch ?? 1) : epoch, state),
      };
    },
  ],
];

it.each(mistakes)("finds a journal that %s", async (_, law, change) => {
  const { open, options } = broken(change);
  const found: unknown = await verifyJournal(open, options).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law), message: expect.stringContaining("Broken: ") });
});

it("says what could not be checked", async () => {
  const { open, options } = broken(() => ({}));
  const full = await verifyJournal(open, options);
  const bare = await verifyJournal(open, { wait: options.wait });
  expect(full.notChecked).toHaveLength(1);
  expect(bare.notChecked).toHaveLength(3);
  expect(full.held.length).toBe(bare.held.length + 1);
});

it("closes what it opened, also after a broken law", async () => {
  let closed = 0;
  const { open, options } = broken(() => ({
    read: async () => undefined,
    close: async () => {
      closed++;
    },
  }));
  await expect(verifyJournal(open, options)).rejects.toBeInstanceOf(BrokenLawError);
  expect(closed).toBe(1);
});
