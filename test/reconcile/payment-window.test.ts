import { describe, expect, it } from "vitest";
import { digestOf, digestText } from "../../src/reconcile/digest.js";
import { PaymentWindow } from "../../src/reconcile/payment-window.js";

const payment = (id: string, token: string, state = 0) => ({
  id,
  token,
  createdMs: 0,
  state: { high: state, low: state },
});
const sumOf = (ids: readonly string[]) =>
  ids.map(digestOf).reduce((sum, { high, low }) => ({ high: (sum.high + high) >>> 0, low: (sum.low + low) >>> 0 }));

/** Those of all stretches, as a cursor has them. */
function sums(window: PaymentWindow) {
  return window.mark().stretches.map(({ last, ids, states }) => [last, digestText(ids), digestText(states)]);
}

describe("a payment whose paging token moved on", () => {
  it("has not changed by that alone, and is at its new place from then on", () => {
    const window = new PaymentWindow(undefined);
    for (const id of ["1", "2", "3"]) expect(window.see(payment(id, id), 0)).toBe("created");
    expect(window.see(payment("1", "4"), 0)).toBeUndefined();
    expect([window.size, window.last]).toEqual([3, "4"]);
    const fresh = new PaymentWindow(undefined);
    for (const [id, token] of [
      ["2", "2"],
      ["3", "3"],
      ["1", "4"],
    ] as const)
      fresh.see(payment(id, token), 0);
    expect(sums(window)).toEqual(sums(fresh));
    expect(sums(window)).toEqual([["4", digestText(sumOf(["1", "2", "3"])), digestText({ high: 0, low: 0 })]]);
  });

  it("has changed where its state did", () => {
    const window = new PaymentWindow(undefined);
    window.see(payment("1", "1", 5), 0);
    window.see(payment("2", "2", 6), 0);
    expect(window.see(payment("1", "3", 7), 0)).toBe("changed");
    expect(window.see(payment("1", "3", 7), 0)).toBeUndefined();
    expect(sums(window)).toEqual([["3", digestText(sumOf(["1", "2"])), digestText({ high: 13, low: 13 })]]);
  });
});

it("tells of a change by either half of a state", () => {
  const window = new PaymentWindow(undefined);
  const seen = (high: number, low: number) => window.see({ ...payment("1", "1"), state: { high, low } }, 0);
  expect([seen(1, 1), seen(1, 1), seen(2, 1), seen(2, 2), seen(2, 2)]).toEqual([
    "created",
    undefined,
    "changed",
    "changed",
    undefined,
  ]);
});

it("takes in a payment that is listed late, in its place", () => {
  const window = new PaymentWindow("0");
  const tokens = Array.from({ length: 40 }, (_, index) => `${index + 1}`);
  for (const token of tokens.filter((token) => token !== "7")) window.see(payment(token, token), 0);
  const before = sums(window);
  expect(window.see(payment("7", "7"), 0)).toBe("created");
  expect([window.size, window.last]).toEqual([40, "40"]);
  const [first, ...rest] = sums(window);
  expect(rest).toEqual(before.slice(1));
  expect(first?.[1]).toBe(digestText(sumOf([...tokens.slice(0, 6), ...tokens.slice(7, 17), "7"])));
});
