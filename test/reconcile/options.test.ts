import { runInNewContext } from "node:vm";
import { listPayments, reconcilePayments, watchPayments } from "cross-border-payments/reconcile";
import { expect, it } from "vitest";
import { toListSettings, toReconcileSettings, toWatchSettings } from "../../src/reconcile/options.js";
import { ModelService } from "./model-service.js";

const day = { from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" };
const [fromMs, toMs] = [Date.parse(day.from), Date.parse(day.to)];
const list = (options: object) => toListSettings({ ...day, ...options });
const reconcile = (options: object) => toReconcileSettings({ ...day, ...options });
const watch = (options: object) => toWatchSettings({ baseUrl: "https://service.test" }, options);

it.each<[read: (options: object) => unknown, name: string, good: readonly unknown[], bad: readonly unknown[]]>([
  [reconcile, "slackMs", [0, 366 * 86_400_000], [-1, "5", 366 * 86_400_000 + 1]],
  [reconcile, "senderGatewayId", ["alpha", ["alpha", "a-1"]], ["", 7, [], ["alpha", ""], ["alpha", 7]]],
  [
    list,
    "from",
    ["2026-03-01T00:00:00+03:00", runInNewContext("new Date(0)")],
    ["2026-02-30T00:00:00Z", "2026-03-02", "2026-03-01T00:00:00", 7, new Date(Number.NaN)],
  ],
  [list, "tokensFollowTime", [true], ["true", 1]],
  [watch, "since", [new Date(0), "2026-03-01T00:00Z"], ["yesterday", 7]],
  [watch, "remember", [1, 500], [0, 501, 0.5]],
  [watch, "everyMs", [1, 2 ** 31 - 1], [0, 0.5, 2 ** 31]],
])("%o takes of %s %j, and refuses %j", (read, name, good, bad) => {
  for (const value of good) expect(() => read({ [name]: value })).not.toThrow();
  for (const value of bad) expect(() => read({ [name]: value })).toThrow(`Payments: ${name} must be`);
});

it.each<[read: () => unknown, message: string]>([
  [() => list({ from: day.to }), "listPayments: from must lie before to"],
  [() => reconcile({ from: day.to }), "reconcilePayments: from must lie before to"],
  [() => reconcile({ to: new Date(Date.now() + 60_000) }), "to must not lie in the future"],
  [() => watch({ since: day.from, after: "[]" }), "watchPayments: after and since exclude each other"],
  [() => toReconcileSettings(null as never), "reconcilePayments: the options must be an object"],
])("refuses what doesn't go together: %s %s", (read, message) => {
  expect(read).toThrow(message);
});

it("has a day in a comparison, and no end in a list, unless to is given", () => {
  const { period, widened, headers } = toReconcileSettings({ from: day.from, slackMs: 1000 });
  expect(period).toEqual({ fromMs, toMs });
  expect(widened).toEqual({ fromMs: fromMs - 1000, toMs: toMs + 1000 });
  expect(headers).toEqual({});
  expect(toListSettings({ from: day.from }).period).toEqual({ fromMs, toMs: Number.POSITIVE_INFINITY });
});

it("refuses what isn't a client, and what aren't entries", () => {
  const client = { close: async () => {} };
  const calls = [
    () => listPayments(client, day),
    () => watchPayments(client),
    () => reconcilePayments(client, [], day),
  ];
  for (const call of calls) expect(call).toThrow("must be a CrossBorderClient");
  for (const own of ["text", 7, null, {}]) {
    expect(() => reconcilePayments(new ModelService([]).client, own as never, day)).toThrow("own must be your entries");
  }
});
