import { expect, it } from "vitest";
import * as rows from "../../src/journals/entry-of-row.js";

const texts = { key: "k", service: "s", gateway: "g", nonce: "n", phase: "paid", data: "d", owner: "o" };
/** As `pg` returns numbers of 64 bits. */
const row = {
  ...{ ...texts, epoch: "2", revision: "3", settled: "1", created_at_ms: "4", updated_at_ms: "5", expires_at_ms: "6" },
  ...{ lease_until_ms: "7", read_at_ms: "8", pruned_at_ms: "9" },
};
const { service, gateway, ...ownTexts } = texts;
const entry = {
  ...{ ...ownTexts, scope: { service, gateway }, epoch: 2, revision: 3, settled: true },
  ...{ createdAtMs: 4, updatedAtMs: 5, expiresAtMs: 6, leaseUntilMs: 7, readAtMs: 8, prunedAtMs: 9 },
};

it("reads an entry from texts, and from numbers", () => {
  expect(rows.toEntry(row)).toEqual(entry);
  const asNumbers = Object.entries(row).map(([name, value]) => [name, /^\d$/.test(value) ? BigInt(value) : value]);
  expect(rows.toEntry(Object.fromEntries(asNumbers))).toEqual(entry);
});

it("reads what is null, or 0, or not there", () => {
  const { pruned_at_ms: _, ...found } = row;
  expect(rows.toEntry({ ...found, expires_at_ms: null, lease_until_ms: null, settled: 0 })).toEqual({
    ...{ ...entry, settled: false, expiresAtMs: undefined, leaseUntilMs: undefined, prunedAtMs: undefined },
  });
  expect(rows.optionalEntry(undefined)).toBeUndefined();
  expect(rows.optionalEntry(row)).toEqual(entry);
});

it("takes the state that was stored in place of what did not come back", () => {
  const state = { phase: "held", settled: true, data: "D" };
  const { phase, settled, data, ...found } = row;
  expect(rows.storedEntry({ ...found, settled: 0 }, state)).toEqual({ ...entry, ...state });
});

it("reads counts", () => {
  const count = { service: "s", gateway: "g", phase: "held", settled: 1, flows: "1", unowned: 2n, oldest_ms: "3" };
  const read = { service: "s", gateway: "g", phase: "held", settled: true, flows: 1, unowned: 2, oldestMs: 3 };
  expect(rows.toCount(count)).toEqual(read);
});

it("finds the last key by its bytes, in which what UTF-16 writes as a pair comes last", () => {
  expect(rows.lastKey([{ key: "a" }, { key: "\u{1f600}" }, { key: "\uffee" }, { key: "b" }])).toBe("\u{1f600}");
  expect(rows.lastKey([])).toBe("");
});
