import type { Journal, JournalEntry } from "cross-border-payments/flow";

type StateId = Parameters<Journal["write"]>[1];

async function presentId(store: Journal, key: string, { epoch }: StateId, named: Partial<StateId>): Promise<StateId> {
  const present = await store.read(key);
  if (present?.epoch !== epoch) return { epoch, nonce: "another", revision: 1 };
  return { epoch, nonce: present.nonce, revision: present.revision, ...named };
}

/** What is wrong with a journal, and how its methods have to be replaced for that. */
export const defects = {
  "a write that compares no revisions, as in release 0.2.0": (store) => ({
    write: async (key, id, state, leaseMs) =>
      store.write(key, await presentId(store, key, id, { nonce: id.nonce }), state, leaseMs),
  }),
  "a write that compares epochs and revisions, and no nonces": (store) => ({
    write: async (key, id, state, leaseMs) =>
      store.write(key, await presentId(store, key, id, { revision: id.revision }), state, leaseMs),
  }),
  "reads of a replica that lags": (store) => {
    const copies = new Map<string, JournalEntry | undefined>();
    return {
      read: async (key) => {
        const copy = copies.get(key);
        copies.set(key, await store.read(key));
        return copy;
      },
    };
  },
  "a write that is sent again, and applied twice": (store) => ({
    write: async (key, id, state, leaseMs) =>
      (await store.write(key, id, state, leaseMs)) &&
      (await store.write(key, { ...id, revision: id.revision + 1 }, state, leaseMs)),
  }),
  "a lease that is given away before its end": (store) => ({
    acquire: async (key, lease) => {
      const entry = await store.read(key);
      if (entry?.leaseUntilMs !== undefined && entry.leaseUntilMs < Date.now() + 6) await store.release(key, entry);
      return store.acquire(key, lease);
    },
  }),
  "a renewal of a lease that was released": (store) => ({
    renew: async (key, id, leaseMs) => {
      const entry = await store.read(key);
      return (await store.renew(key, id, leaseMs)) || (entry?.epoch === id.epoch && entry.nonce === id.nonce);
    },
  }),
  "a write that is lost": (store) => ({
    write: async (key, id, state, leaseMs) => state.data.endsWith("7") || (await store.write(key, id, state, leaseMs)),
  }),
} satisfies Readonly<Record<string, (store: Journal) => Partial<Journal>>>;

export type Defect = keyof typeof defects;

export const defectNames = Object.keys(defects) as readonly Defect[];

/** A journal with something wrong. */
export function defective(journal: Journal, defect: Defect): Journal {
  const changed: Partial<Journal> = defects[defect](journal);
  return new Proxy(journal, {
    get(_, name) {
      const method: unknown = Reflect.get(changed, name) ?? Reflect.get(journal, name);
      return typeof method === "function" ? method.bind(journal) : method;
    },
  });
}
