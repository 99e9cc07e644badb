import { randomUUID } from "node:crypto";
import type { Journal, JournalEntry } from "cross-border-payments/flow";
import { expect } from "vitest";

export const scope = { service: "https://service.example", gateway: "gateway-1" };
export const state = { phase: "funds-requested", settled: false, data: "{}" };
export const newLease = () => ({ owner: "one", leaseMs: 60_000, nonce: randomUUID() });

export async function begin(journal: Journal, key: string, data = "{}"): Promise<JournalEntry> {
  const { entry, created } = await journal.begin(key, scope, { ...state, data }, newLease());
  expect(created).toBe(true);
  return entry;
}

/** Writes all entries at once, of which the database refuses `k7`: that write fails alone. */
export async function expectLoneRefusal(journal: Journal, entries: readonly JournalEntry[]): Promise<void> {
  const written = await Promise.allSettled(
    entries.map((entry) => journal.write(entry.key, entry, { ...state, data: "changed" })),
  );
  for (const [index, result] of written.entries()) {
    if (index === 7) expect(result).toMatchObject({ reason: { name: "JournalError", stored: "nothing" } });
    else expect(result).toEqual({ status: "fulfilled", value: true });
    expect((await journal.read(`k${index}`))?.data).toBe(index === 7 ? "{}" : "changed");
  }
}

/** An error by its name, and by a part of its message. */
export const refusal = (message: string | RegExp, name = "ConfigError") => ({
  name,
  message: typeof message === "string" ? expect.stringContaining(message) : expect.stringMatching(message),
});

/** The reason why a promise is rejected. */
export const failure = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable("it was fulfilled"),
    (error: unknown) => error,
  );

/** Reads and prunes more flows than fit into a slice of `prune`, whose keys come before letters and digits. */
export async function expectAllFound(journal: Journal, slice: number): Promise<void> {
  await journal.begin("!", scope, state, { ...newLease(), leaseMs: 1 });
  expect(await journal.list({ scope, limit: 1 })).toMatchObject({ entries: [{ key: "!" }] });
  await expect.poll(() => journal.acquireAbandoned(scope, newLease(), undefined)).toMatchObject({ key: "!" });
  const settled = { ...state, phase: "declined", settled: true };
  const keys = Array.from({ length: slice + 1 }, (_, index) => `"${String(index).padStart(4, "0")}`);
  await Promise.all(keys.map((key) => journal.begin(key, scope, settled, newLease())));
  const later = Date.now() + 60_000;
  expect(await journal.prune({ settledBeforeMs: later })).toEqual({ settled: slice + 1, quoted: 0 });
}

/** Deletes quotes that expired a day ago or earlier, and no others. */
export async function expectQuotesPruned(journal: Journal, setBack: (key: string) => unknown): Promise<void> {
  const quote = { ...state, phase: "quoted", settled: true, quoteTtlMs: 1 };
  for (const key of ["old", "young"]) await journal.begin(key, scope, quote, newLease());
  await setBack("old");
  expect(await journal.prune({ quotedBeforeMs: Date.now() - 172_800_000 })).toEqual({ settled: 0, quoted: 0 });
  expect(await journal.prune({ quotedBeforeMs: Date.now() + 60_000 })).toEqual({ settled: 0, quoted: 1 });
  expect([await journal.read("old"), (await journal.read("young"))?.key]).toEqual([undefined, "young"]);
}

/** Versions of tables of later releases, the oldest that may write to them, and whether this release may. */
export const laterVersions: readonly (readonly [version: number, oldestWriter: number, mayWrite: boolean])[] = [
  [4, 4, true],
  [5, 3, true],
  [5, 4, true],
  [5, 5, false],
  [99, 6, false],
];
