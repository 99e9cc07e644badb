import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { digestOf, digestText } from "../../src/reconcile/digest.js";
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
    windowOf(40, (index) => `é>>>???~~~${String(index).padStart(3, "0")}`),
  ]) {
    const { after, stretches } = window.mark();
    const marks = stretches.map(({ last, ids, states }) => ({ last, ids: { ...ids }, states: { ...states } }));
    for (const newestMs of [undefined, 1_767_225_600_000]) {
      const written = writeCursor(baseUrl, { ...window.mark(), newestMs });
      expect(written).toMatch(/^[\w.-]+$/);
      expect(readCursor(baseUrl, written)).toEqual({ after, stretches: marks, newestMs });
    }
  }
});

it("stays as short, however many payments it stands for", () => {
  expect(writeCursor(baseUrl, windowOf(100_000).mark()).length).toBeLessThan(3000);
});

/** A cursor with this content, whose sum is right. */
function forged(content: unknown): string {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  const body = Buffer.from(text).toString("base64url");
  return `pw1.${body}.${digestText(digestOf(body))}`;
}
const scope = digestText(digestOf(baseUrl));
const sums = "0123456789abcdef".repeat(2);

/** Of two cursors that could both be right. */
const otherSum = `${forged([scope, "3", []]).split(".").slice(0, 2).join(".")}.${forged([scope, "4", []]).split(".")[2]}`;

it("reads a cursor of an earlier release, which has no time", () => {
  const [ids, states] = [
    { high: 0x01234567, low: 0x89abcdef },
    { high: 0x01234567, low: 0x89abcdef },
  ];
  expect(readCursor(baseUrl, forged([scope, null, [["7", sums]]]))).toEqual({
    after: undefined,
    stretches: [{ last: "7", ids, states }],
    newestMs: undefined,
  });
  expect(readCursor(baseUrl, forged([scope, "3", [], 12.5]))).toEqual({ after: "3", stretches: [], newestMs: 12.5 });
});

it.each([
  ["{"],
  [{ scope }],
  [7],
  [[7, null, []]],
  [[scope, 7, []]],
  [[scope, null, "marks"]],
  [[scope, null, ["mark"]]],
  [[scope, null, [[7, sums]]]],
  [[scope, null, [["", sums]]]],
  [[scope, null, [["7", 7]]]],
  [[scope, null, [["7", [sums]]]]],
  [[scope, null, [["7", `${sums}0`]]]],
  [[scope, null, [["7", `0${sums}`]]]],
  [[scope, null, [["7", sums.replace("a", "g")]]]],
])("refuses what no release wrote: %j", (content) => {
  expect(() => readCursor(baseUrl, forged(content))).toThrow(
    new InvalidArgumentError("watchPayments: after is not a cursor of watchPayments"),
  );
});

it.each([
  ["no cursor at all", "12345", /not a cursor of watchPayments/],
  ["a part of one", cursor.slice(0, 255), /not all of one.*store it as it is/],
  ["one behind another letter", `x${cursor}`, /not all of one/],
  ["one with more behind it", `${cursor}0`, /not all of one/],
  ["the content of one with the sum of another", otherSum, /not all of one/],
  ["one of a much later version", cursor.replace("pw1", "pw123456789"), /\(pw1234567, this one reads pw1\)/],
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
