import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { PaymentWindow } from "../../src/reconcile/payment-window.js";
import { readCursor, writeCursor } from "../../src/reconcile/watch-cursor.js";
import { watchPayments } from "../../src/reconcile/watch-payments.js";
import { paymentsService } from "./payments-service.js";

const baseUrl = "https://service.test/api";

function windowOf(count: number, tokenAt = (index: number) => `${10n ** 19n + BigInt(index)}`): PaymentWindow {
  const window = new PaymentWindow("0");
  for (let index = 0; index < count; index += 1) {
    const state = { high: index, low: index * 7 };
    window.see({ id: `p${index}`, token: tokenAt(index), createdMs: index, state }, index);
  }
  return window;
}

const cursor = writeCursor(baseUrl, windowOf(1000).mark());

it("reads back what was written, tokens of any alphabet included", () => {
  for (const window of [
    windowOf(0),
    windowOf(1),
    windowOf(1000),
    windowOf(40, (index) => `付-${String(index).padStart(3, "0")}`),
  ]) {
    const { after, stretches } = window.mark();
    const marks = stretches.map(({ last, ids, states }) => ({ last, ids: { ...ids }, states: { ...states } }));
    expect(readCursor(baseUrl, writeCursor(baseUrl, window.mark()))).toEqual({ after, stretches: marks });
  }
});

it("stays as short, however many payments it stands for", () => {
  expect(writeCursor(baseUrl, windowOf(100_000).mark()).length).toBeLessThan(3000);
});

it.each([
  ["no cursor at all", "12345", /not a cursor of watchPayments/],
  ["a part of one", cursor.slice(0, 255), /not all of one.*store it as it is/],
  ["one with a letter changed", cursor.replace(/.(?=.{60}$)/, "-"), /not a cursor/],
  [
    "one of another version",
    cursor.replace("pw1", "pw2"),
    /another version of this package \(pw2, this one reads pw1\)/,
  ],
  ["one of another service", writeCursor("https://other.test", windowOf(3).mark()), /another baseUrl/],
])("refuses %s, and requests nothing", (_, after, message) => {
  const { client, requested } = paymentsService([]);
  expect(() => watchPayments(client, { after })).toThrow(message);
  expect(() => watchPayments(client, { after })).toThrow(InvalidArgumentError);
  expect(requested).toEqual([]);
});
