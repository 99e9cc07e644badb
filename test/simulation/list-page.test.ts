import { expect, it } from "vitest";
import { PaymentList, type SimulatedPayment } from "../../src/simulation/list-page.js";

/** @param second when it was made, within a minute. */
function record(id: string, second: number, token: string | undefined, listedAtMs = 0): SimulatedPayment {
  const createdAt = new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
  return { id, createdAt, token, text: "{}", listedAtMs };
}

function ids(list: PaymentList, query: string, nowMs = 0, mostListed = 100): string {
  return list
    .page(`/payments?${query}`, nowMs, mostListed)
    .map(({ id }) => id)
    .join(" ");
}

const list = new PaymentList([record("a", 1, "9"), record("b", 2, "100"), record("c", 3, "20")]);

it.each([
  ["_sort=pagingToken.asc", "a c b"],
  ["_sort=createdAt.desc", "c b a"],
  ["_sort=createdAt.asc,pagingToken.desc", "a b c"],
  ["_sort=pagingToken.asc&_after=9", "c b"],
  ["_sort=createdAt.desc&_before=100", "c a"],
  ["_sort=createdAt.desc&_size=2", "c b"],
])("lists for %s: %s", (query, expected) => {
  expect(ids(list, query)).toBe(expected);
});

it("lists no more than the service does at once", () => {
  expect(ids(list, "_sort=createdAt.desc&_size=100", 0, 1)).toBe("c");
});

it("lists a payment once it can be seen, and one that was added later", () => {
  const growing = new PaymentList([record("a", 1, "1")]);
  expect(ids(growing, "_sort=pagingToken.asc")).toBe("a");
  growing.add(record("b", 2, "2", 500));
  expect(growing.hasUnlisted(499)).toBe(true);
  expect(ids(growing, "_sort=pagingToken.asc", 499)).toBe("a");
  expect(ids(growing, "_sort=pagingToken.asc", 500)).toBe("a b");
  expect(growing.hasUnlisted(500)).toBe(false);
});

it("lists what has no token whatever the bounds, and payments of one moment as they were made", () => {
  const odd = new PaymentList([record("a", 1, undefined), record("b", 2, "5"), record("c", 2, "7")]);
  expect(ids(odd, "_sort=createdAt.desc&_after=5")).toBe("c a");
  expect(ids(odd, "_sort=createdAt.desc")).toBe("b c a");
});
