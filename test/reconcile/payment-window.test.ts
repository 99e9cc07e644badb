import { describe, expect, it } from "vitest";
import { digestOf, digestText } from "../../src/reconcile/digest.js";
import { PaymentWindow } from "../../src/reconcile/payment-window.js";
import { toWatched } from "../../src/reconcile/watched-payment.js";
import type { Payment } from "../../src/resources/payments.js";

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

/** Payments with these states, by token, and what a window says of them: a sum for each stretch between the tokens at which it cuts. */
function expectedSums(window: PaymentWindow, states: ReadonlyMap<number, number>) {
  let from = Number(window.after ?? 0);
  return window.mark().stretches.map(({ last }) => {
    const tokens = [...states.keys()].filter((token) => token > from && token <= Number(last));
    from = Number(last);
    const state = tokens.reduce((sum, token) => sum + (states.get(token) ?? 0), 0);
    return [last, digestText(sumOf(tokens.map(String))), digestText({ high: state, low: state })];
  });
}

/** A window of a thousand payments, a second apart, which were not all listed in their order. */
function fullWindow() {
  const states = new Map<number, number>();
  const window = new PaymentWindow("0");
  const see = (token: number, state: number) => {
    states.set(token, state);
    return window.see({ ...payment(`${token}`, `${token}`, state), createdMs: token * 1000 }, token * 1000);
  };
  for (let token = 1; token <= 1000; token += 1) {
    // One in seven comes forty places late.
    if (token % 7 !== 0) see(token, 1);
    if (token > 40 && (token - 40) % 7 === 0) see(token - 40, 1);
  }
  for (let token = 966; token <= 1000; token += 7) see(token, 1);
  return { window, states, see };
}

it("says of every payment in which stretch it is, also where one changes or moves on", () => {
  const { window, states, see } = fullWindow();
  expect(window.size).toBe(1000);
  expect(sums(window)).toEqual(expectedSums(window, states));
  expect(see(500, 9)).toBe("changed");
  expect(sums(window)).toEqual(expectedSums(window, states));
  expect(see(1000, 9)).toBe("changed");
  expect(sums(window)).toEqual(expectedSums(window, states));
  const moving = new PaymentWindow(undefined);
  for (let token = 1; token <= 100; token += 1) moving.see(payment("1", `${token}`), 0);
  expect(sums(moving)).toHaveLength(1);
  for (let token = 101; token <= 115; token += 1) moving.see(payment(`${token}`, `${token}`), 0);
  moving.see(payment("115", "115", 1), 0);
  expect(sums(moving)).toHaveLength(1);
});

it("joins of more than 32 stretches the two neighbours that have the fewest payments, the newest left out", () => {
  const window = new PaymentWindow(undefined);
  const sizes: number[] = [];
  for (let token = 1; token <= 3000; token += 1) {
    window.see(payment(`${token}`, `${token}`), 0);
    if ((sizes.at(-1) ?? 16) >= 16) sizes.push(0);
    const pairs = sizes.slice(0, -2).map((size, index) => size + (sizes[index + 1] ?? 0));
    const least = Math.min(...pairs);
    if (sizes.length > 32) sizes.splice(pairs.indexOf(least), 2, least);
    sizes.push((sizes.pop() ?? 0) + 1);
    const lasts = window.mark().stretches.map(({ last }) => Number(last));
    expect(lasts.map((last, index) => last - (lasts[index - 1] ?? 0))).toEqual(sizes);
  }
});

it("lets go of what was seen before a time, up to a token, and of the stretches of that", () => {
  const { window, states } = fullWindow();
  window.trim(1000, 10);
  expect(window.after).toBe("0");
  window.trim(400_000, 10, "100");
  expect([window.after, window.size]).toEqual(["100", 900]);
  window.trim(400_000, 10);
  expect([window.after, window.size]).toEqual(["399", 601]);
  expect(sums(window)).toEqual(expectedSums(window, states));
  expect(Number(window.mark().stretches[0]?.last)).toBeGreaterThan(399);
  expect(window.see({ ...payment("399", "1001", 1), createdMs: 399_000 }, 0)).toBe("created");
  window.trim(2_000_000, 10);
  expect([window.mark(), window.size]).toEqual([{ after: "1001", stretches: [] }, 0]);
});

it("lets go of nothing where nothing shows that tokens follow time, and says so of 100,000 payments", () => {
  const window = new PaymentWindow(undefined);
  for (let token = 1; token <= 100_000; token += 1) window.see(payment(`${token}`, `${token}`), token);
  window.trim(100_001, 10);
  expect([window.after, window.size]).toEqual([undefined, 100_000]);
  window.see(payment("100001", "100001"), 100_001);
  expect(() => window.trim(100_001, 10)).not.toThrow();
  expect(() => window.trim(100_002, 10)).toThrow(/were not created later.*can't be watched/);
  const rising = new PaymentWindow(undefined);
  for (let token = 1; token <= 100_001; token += 1)
    rising.see({ ...payment(`${token}`, `${token}`), createdMs: token }, 0);
  rising.trim(1, 10);
  expect(rising.after).toBe("100001");
  const falling = new PaymentWindow(undefined);
  for (let token = 1; token <= 40; token += 1)
    falling.see({ ...payment(`${token}`, `${token}`), createdMs: -token }, 0);
  expect(() => falling.trim(0, 10)).not.toThrow();
  expect(() => falling.trim(1, 10)).toThrow(
    expect.objectContaining({ name: "PagingError", operation: "payments.list" }),
  );
});

it("takes over what a cursor says: nothing again of what is the same, its stretch where one is not", () => {
  const { window, states } = fullWindow();
  window.trim(300_000, 10);
  const { after, stretches } = window.mark();
  const marks = stretches.map(({ last, ids, states: sum }) => ({ last, ids: { ...ids }, states: { ...sum } }));
  const stretchOf = (token: number) => {
    const index = marks.findIndex(({ last }) => token <= Number(last));
    return { from: Number(marks[index - 1]?.last ?? after), to: Number(marks[index]?.last) };
  };
  const listed = Array.from({ length: 701 }, (_, index) => {
    const token = `${index + 300}`;
    return { ...payment(token, token, token === "700" ? 9 : 1), createdMs: index };
  }).filter(({ token }) => token !== "850");
  const recalled = new PaymentWindow(after);
  const since: number[] = [];
  recalled.recall(marks, listed, (createdMs) => since.push(createdMs));
  expect(recalled.mark().stretches.map(({ last }) => last)).toEqual(marks.map(({ last }) => last));
  const seen = listed.map((one) => [one.token, recalled.see(one, 0)] as const);
  const [changed, created] = [stretchOf(700), stretchOf(850)];
  const within = ({ from, to }: { from: number; to: number }) =>
    listed.map(({ token }) => token).filter((token) => Number(token) > from && Number(token) <= to);
  expect(seen.filter(([, type]) => type === "changed").map(([token]) => token)).toEqual(within(changed));
  expect(seen.filter(([, type]) => type === "created").map(([token]) => token)).toEqual(within(created));
  expect(since).toHaveLength(700 - within(created).length);
  states.delete(850);
  states.set(700, 9);
  expect(sums(recalled)).toEqual(expectedSums(recalled, states));
});

it.each<[lacking: string, payment: object]>([
  ["id", { id: "", pagingToken: "1" }],
  ["pagingToken", { id: "p1" }],
  ["id", {}],
])("can't tell what was seen already of payments without %s", (lacking, listed) => {
  const operation = "payments.list";
  const message = `${operation}: a payment without ${lacking} is listed, so nothing shows what was seen already: the payments of this service can't be watched`;
  expect(() => toWatched(listed as Payment)).toThrow(
    expect.objectContaining({ name: "PagingError", message, operation }),
  );
});
