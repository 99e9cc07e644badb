import { expect, it } from "vitest";
import * as rows from "../../src/journals/entry-of-row.js";

const texts = { key: "k", service: "s", gateway: "g", nonce: "n", phase: "paid", data: "d", evidence: "e", owner: "o" };
/** As `pg` returns numbers of 64 bits. */
const row = {
  ...{ ...texts, epoch: "2", revision: "3", settled: "1", created_at_ms: "4", updated_at_ms: "5", expires_at_ms: "6" },
  ...{ is_expired: "1", lease_until_ms: "7", lease_ms: "8", is_overlong: "1", pruned_at_ms: "9" },
  ...{ incarnation_mark: "m", incarnation: "i" },
};
const { service, gateway, ...ownTexts } = texts;
const entry = {
  ...{ ...ownTexts, scope: { service, gateway }, epoch: 2, revision: 3, settled: true },
  ...{ createdAtMs: 4, updatedAtMs: 5, expiresAtMs: 6, isExpired: true, leaseUntilMs: 7, leaseMs: 8 },
  ...{ isOverlong: true, prunedAtMs: 9, incarnationMark: "m", incarnation: "i" },
};

it("reads an entry from texts, and from numbers", () => {
  expect(rows.toEntry(row)).toEqual(entry);
  const asNumbers = Object.entries(row).map(([name, value]) => [name, /^\d$/.test(value) ? BigInt(value) : value]);
  expect(rows.toEntry(Object.fromEntries(asNumbers))).toEqual(entry);
});

it("reads what is null, or 0, or not there", () => {
  const nothing = { expires_at_ms: null, lease_until_ms: null, lease_ms: null, incarnation_mark: null };
  const { pruned_at_ms: _, incarnation: __, ...found } = row;
  expect(rows.toEntry({ ...found, ...nothing, settled: 0, is_expired: 0, is_overlong: 0 })).toEqual({
    ...{ ...entry, settled: false, isExpired: false, isOverlong: false },
    ...{ expiresAtMs: undefined, leaseUntilMs: undefined, leaseMs: undefined, prunedAtMs: undefined },
    ...{ incarnationMark: undefined, incarnation: undefined },
  });
  expect(rows.optionalEntry(undefined)).toBeUndefined();
  expect(rows.optionalEntry(row)).toEqual(entry);
});

it("takes the state that was stored in place of what did not come back", () => {
  const state = { phase: "held", settled: true, data: "D", evidence: "E" };
  const { phase, settled, data, evidence, ...found } = row;
  expect(rows.storedEntry({ ...found, settled: 0 }, state)).toEqual({ ...entry, ...state });
});

it("adds up the counts of a phase", () => {
  const counted = [
    { phase: "paid", flows: "2" },
    { phase: "held", flows: 1n },
    { phase: "paid", flows: 3 },
  ];
  expect(rows.countsOf(counted)).toEqual({ paid: 5, held: 1 });
  const scope = { service: "s", gateway: "g", open: "1", held: "2", paid: "3", flows: "4" };
  expect(rows.scopeCountsOf([scope])).toEqual([{ service: "s", gateway: "g", open: 1, held: 2, paid: 3, flows: 4 }]);
  const backlog = { service: "s", gateway: "g", phase: "held", flows: "1", unowned: "2", oldest_ms: "3" };
  expect(rows.backlogOf([backlog])).toEqual([
    { service: "s", gateway: "g", phase: "held", flows: 1, unowned: 2, oldestMs: 3 },
  ]);
});

it("finds the last key by its bytes, in which what UTF-16 writes as a pair comes last", () => {
  expect(rows.lastKey([{ key: "a" }, { key: "\u{1f600}" }, { key: "\uffee" }, { key: "b" }])).toBe("\u{1f600}");
  expect(rows.lastKey([])).toBe("");
});
