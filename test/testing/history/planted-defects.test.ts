import { type Journal, type JournalEntry, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { checkHistory, describeUnexplained } from "../../../src/testing/history/check-history.js";
import { seededRandom } from "../../faults/seeded-random.js";
import { compete, distant } from "./compete.js";

type StateId = Parameters<Journal["write"]>[1];

async function presentId(store: Journal, key: string, { epoch }: StateId, named: Partial<StateId>): Promise<StateId> {
  const present = await store.read(key);
  if (present?.epoch !== epoch) return { epoch, nonce: "another", revision: 1 };
  return { epoch, nonce: present.nonce, revision: present.revision, ...named };
}

const defects: readonly (readonly [defect: string, change: (store: Journal) => Partial<Journal>])[] = [
  [
    "a write that compares no revisions, as in release 0.2.0",
    (store) => ({
      write: async (key, id, state, leaseMs) =>
        store.write(key, await presentId(store, key, id, { nonce: id.nonce }), state, leaseMs),
    }),
  ],
  [
    "a write that compares epochs and revisions, and no nonces",
    (store) => ({
      write: async (key, id, state, leaseMs) =>
        store.write(key, await presentId(store, key, id, { revision: id.revision }), state, leaseMs),
    }),
  ],
  [
    "reads of a replica that lags",
    (store) => {
      const copies = new Map<string, JournalEntry | undefined>();
      return {
        read: async (key) => {
          const copy = copies.get(key);
          copies.set(key, await store.read(key));
          return copy;
        },
      };
    },
  ],
  [
    "a write that is sent again, and applied twice",
    (store) => ({
      write: async (key, id, state, leaseMs) =>
        (await store.write(key, id, state, leaseMs)) &&
        (await store.write(key, { ...id, revision: id.revision + 1 }, state, leaseMs)),
    }),
  ],
  [
    "a lease that is given away before its end",
    (store) => ({
      acquire: async (key, lease) => {
        const entry = await store.read(key);
        if (entry?.leaseUntilMs !== undefined && entry.leaseUntilMs < Date.now() + 6) await store.release(key, entry);
        return store.acquire(key, lease);
      },
    }),
  ],
  [
    "a renewal of a lease that was released",
    (store) => ({
      renew: async (key, id, leaseMs) => {
        const entry = await store.read(key);
        return (await store.renew(key, id, leaseMs)) || (entry?.epoch === id.epoch && entry.nonce === id.nonce);
      },
    }),
  ],
  [
    "a write that is lost",
    (store) => ({
      write: async (key, id, state, leaseMs) =>
        state.data.endsWith("7") || (await store.write(key, id, state, leaseMs)),
    }),
  ],
];

it.each(defects)("finds %s, and names few operations", async (_, change) => {
  const random = seededRandom(1);
  const store = new MemoryJournal();
  const journal = distant(store, random, change(store));
  const operations = await compete(journal, { clients: 6, operationsEach: 150, random });
  const { unexplained } = checkHistory(operations);
  expect(unexplained).not.toEqual([]);
  for (const one of unexplained) {
    expect(one.operations.length).toBeGreaterThan(0);
    expect(one.operations.length).toBeLessThanOrEqual(8);
    expect(describeUnexplained(one)).toContain("no order of its operations explains");
  }
});

it("finds nothing in a journal that keeps the laws", async () => {
  const random = seededRandom(2);
  const operations = await compete(distant(new MemoryJournal(), random), { clients: 8, operationsEach: 200, random });
  expect(checkHistory(operations)).toMatchObject({ operations: 1600, unknown: 0, unexplained: [] });
});
