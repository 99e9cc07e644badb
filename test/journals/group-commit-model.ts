import { type Journal, type JournalEntry, MemoryJournal } from "cross-border-payments/flow";
import fc from "fast-check";
import { expect } from "vitest";
import { scope, state } from "./journal-fixture.js";

/** Operations on one of a few keys. Ids are guessed from few, so that many are right and many are not. */
const operation = fc.record({
  key: fc.constantFrom("a", "b", "c", "ü"),
  method: fc.constantFrom(
    ...(["begin", "quote", "read", "acquire", "renew", "write", "settle"] as const),
    ...(["replaceQuote", "replaceQuote", "release", "read", "write"] as const),
  ),
  nonce: fc.constantFrom("n1", "n2"),
  epoch: fc.integer({ min: 1, max: 3 }),
  revision: fc.integer({ min: 1, max: 3 }),
  data: fc.string({ maxLength: 3 }).filter((text) => !text.includes("\0")),
  /** Whether what was asked for before is waited for. */
  isAwaited: fc.boolean(),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

/** Long, so that no lease and no quote ends during a test: the journals have clocks of their own. */
const longMs = 3_600_000;

function perform(journal: Journal, prefix: string, { key: name, method, nonce, epoch, revision, data }: Operation) {
  const key = prefix + name;
  const id = { epoch, nonce, revision };
  const lease = { owner: "one", leaseMs: longMs, nonce };
  const next = { ...state, data };
  switch (method) {
    case "begin":
      return journal.begin(key, scope, next, lease);
    case "quote":
      return journal.begin(key, scope, { ...next, phase: "quoted", settled: true, quoteTtlMs: longMs }, lease);
    case "read":
      return journal.read(key);
    case "acquire":
      return journal.acquire(key, lease);
    case "renew":
      return journal.renew(key, id, longMs);
    case "write":
      return journal.write(key, id, next);
    case "settle":
      return journal.write(key, id, { ...next, settled: true });
    case "replaceQuote":
      return journal.write(key, id, next, { lease: { ...lease, nonce: nonce === "n1" ? "n2" : "n1" }, inTime: true });
    case "release":
      return journal.release(key, id);
  }
}

/** Times are those of the journal's own clock: only whether there is one is compared. */
function timeless(reply: unknown): unknown {
  return JSON.parse(JSON.stringify(reply ?? null), (name, value) => {
    return name.endsWith("Ms") && typeof value === "number" ? "a time" : value;
  });
}

/** Replies to operations that are asked for at once are those to the same operations one after the other. */
export async function expectOneAfterAnother(journal: Journal, runs: number): Promise<void> {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 40 }), async (operations) => {
      const prefix = `${Date.now()} ${run++} `;
      const model = new MemoryJournal();
      const expected: unknown[] = [];
      for (const each of operations) expected.push(timeless(await perform(model, prefix, each)));
      const replies: Promise<unknown>[] = [];
      for (const each of operations) {
        if (each.isAwaited) await Promise.all(replies);
        replies.push(perform(journal, prefix, each));
      }
      expect((await Promise.all(replies)).map(timeless)).toEqual(expected);
      for (const key of ["a", "b", "c", "ü"]) {
        const stored: (JournalEntry | undefined)[] = [await journal.read(prefix + key), await model.read(prefix + key)];
        expect(timeless(stored[0])).toEqual(timeless(stored[1]));
      }
    }),
    { numRuns: runs },
  );
}
