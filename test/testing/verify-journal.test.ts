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
  return { open, options: { openSecond: open, reopen: open, wait, flows: 12, workers: 4 } };
}

/** Others come in between if a journal reads in one statement, and writes in another one. */
const otherStatement = () => new Promise((resolve) => setImmediate(resolve));

it("holds for a journal in memory", async () => {
  const { open, options } = broken(() => ({}));
  const { held, notChecked } = await verifyJournal(open, options);
  expect(held).toHaveLength(15);
  expect(notChecked).toHaveLength(2);
});

it("says what could not be checked", async () => {
  const journal = new MemoryJournal();
  const { held, notChecked } = await verifyJournal(async () => journal, { shortLeaseMs: 40, flows: 5 });
  expect(held).toHaveLength(14);
  expect(notChecked).toHaveLength(5);
});

const defects: readonly [what: string, law: RegExp, Parameters<typeof broken>[0]][] = [
  [
    "doesn't know the repetition of begin",
    /knows its own repetition/,
    (store) => ({
      begin: async (key, ...given) => {
        const isThere = (await store.read(key)) !== undefined;
        const { entry, created } = await store.begin(key, ...given);
        return { entry, created: created && !isThere };
      },
    }),
  ],
  [
    "gives a quote a lease",
    /a quote/,
    (store, clock) => ({
      begin: async (key, scope, state, lease) => {
        const { entry, created } = await store.begin(key, scope, state, lease);
        const leaseUntilMs = entry.leaseUntilMs ?? (state.phase === "quoted" ? clock.nowMs + lease.leaseMs : undefined);
        return { entry: { ...entry, leaseUntilMs }, created };
      },
    }),
  ],
  [
    "looks, and then leases",
    /of many that/,
    (store) => {
      const epochs = new Map<string, number>();
      return {
        acquire: async (key, lease) => {
          const seen = await store.read(key);
          const isFree = seen !== undefined && (seen.leaseUntilMs ?? 0) <= seen.readAtMs;
          await otherStatement();
          const entry = await store.acquire(key, lease);
          const epoch = epochs.get(key);
          if (entry !== undefined) epochs.set(key, entry.epoch);
          else if (isFree && seen.phase !== "quoted" && seen.prunedAtMs === undefined && epoch !== undefined)
            return { ...seen, epoch };
          return entry;
        },
      };
    },
  ],
  [
    "writes what it finds, whatever the revision",
    /write names the state/,
    (store) => ({
      write: async (key, id, state, quote) => {
        const { revision } = (await store.read(key)) ?? id;
        return store.write(key, quote ? id : { ...id, revision }, state, quote);
      },
    }),
  ],
  [
    "refuses the repetition of a write",
    /write names the state/,
    (store) => ({
      write: async (key, id, ...given) =>
        (await store.read(key))?.revision === id.revision + 1 ? false : store.write(key, id, ...given),
    }),
  ],
  [
    "takes any late write for a repetition",
    /write names the state/,
    (store) => ({
      write: async (key, id, state, quote) => {
        const entry = await store.read(key);
        const isLater = entry?.nonce === id.nonce && entry.revision > id.revision;
        return isLater || store.write(key, id, state, quote);
      },
    }),
  ],
  [
    "confirms a quote whose time is over",
    /in time/,
    (store) => ({
      write: (key, id, state, quote) => store.write(key, id, state, quote && { ...quote, inTime: false }),
    }),
  ],
  [
    "renews a lease that was taken over",
    /only the owner/,
    (store) => ({
      renew: async (key, id, leaseMs) => store.renew(key, (await store.read(key)) ?? id, leaseMs),
    }),
  ],
  [
    "orders keys as JavaScript does",
    /UTF-8 bytes/,
    (store) => ({
      list: async (query) => {
        const { entries, counts } = await store.list({ ...query, after: undefined, limit: 100_000 });
        const after = entries.filter(({ key }) => query.after === undefined || key > query.after);
        return { entries: after.sort((one, other) => (one.key < other.key ? -1 : 1)).slice(0, query.limit), counts };
      },
    }),
  ],
  [
    "shows other services' flows",
    /own scope/,
    (store) => ({
      list: (query) => store.list({ ...query, scope: { service: query.scope.service } }),
    }),
  ],
  [
    "gives up if another process was faster",
    /no flow to two workers/,
    (store) => ({
      acquireAbandoned: async (scope, lease, after) => {
        const { entries } = await store.list({ scope: { ...scope }, after, limit: 10_000 });
        const isFree = ({ leaseUntilMs = 0, readAtMs }: { leaseUntilMs?: number | undefined; readAtMs: number }) =>
          leaseUntilMs <= readAtMs;
        const first = entries.find((entry) => !entry.settled && isFree(entry));
        await otherStatement();
        return first && store.acquire(first.key, lease);
      },
    }),
  ],
  [
    "forgets keys when it prunes",
    /tombstone/,
    (store) => ({
      read: async (key) => {
        const entry = await store.read(key);
        return entry?.prunedAtMs === undefined ? entry : undefined;
      },
    }),
  ],
  [
    "deletes quotes on the day on which they expired",
    /prune/,
    (store, clock) => ({
      prune: async (options) => {
        clock.nowMs += 86_400_000;
        const report = await store.prune(options);
        clock.nowMs -= 86_400_000;
        return report;
      },
    }),
  ],
  [
    "cuts long data",
    /1 MiB/,
    (store) => ({
      write: (key, id, state, quote) => store.write(key, id, { ...state, data: state.data.slice(0, 65_536) }, quote),
    }),
  ],
];

it.each(defects)("finds a journal that %s", async (_, law, change) => {
  const { open, options } = broken(change);
  const found: unknown = await verifyJournal(open, options).catch((error: unknown) => error);
  expect(found).toBeInstanceOf(BrokenLawError);
  expect(found).toMatchObject({ law: expect.stringMatching(law), message: expect.stringContaining("Broken: ") });
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
