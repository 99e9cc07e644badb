import { readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import type { Option } from "../../src/options/option-table.js";
import { listPaymentsOptions } from "../../src/reconcile/list-payments.js";
import { reconcileOptions, toReconcileSettings } from "../../src/reconcile/reconcile-options.js";
import { toWatchSettings, watchOptions } from "../../src/reconcile/watch-options.js";
import { setClock } from "../../src/timing/clock.js";
import { fakeApiClient } from "../paging/fake-api-client.js";

function rowsOf(options: Readonly<Record<string, Option<unknown>>>): string {
  const rows = Object.entries(options).map(([name, { default: value, documentedDefault, documentation }]) => {
    const text = documentedDefault ?? (typeof value === "number" ? value.toLocaleString("en-US") : "");
    return `| \`${name}\` | ${text === "" ? "" : `${text} `}| ${documentation} |`;
  });
  return rows.join("\n");
}

it.each([
  ["watchPayments", "docs/reconcile.md", rowsOf(watchOptions)],
  ["reconcilePayments", "docs/statement.md", rowsOf(reconcileOptions)],
  ["listPayments", "docs/statement.md", rowsOf(listPaymentsOptions)],
])("has a row for every option of %s, with its default", (_, document, rows) => {
  expect(readFileSync(document, "utf8")).toContain(`\n|---|---|---|\n${rows}\n\n`);
});

const day = { from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z" };
const fromMs = Date.parse(day.from);
const toMs = Date.parse(day.to);
const reconcile = (options: unknown) => toReconcileSettings({ ...day, ...Object(options) });
const watch = (options: unknown) =>
  toWatchSettings(fakeApiClient({ baseUrl: "https://service.test" }), options as object);

it.each([
  [reconcile, "slackMs", [0, 366 * 86_400_000], [-1, 0.5, "5", 366 * 86_400_000 + 1]],
  [
    reconcile,
    "senderGatewayId",
    ["alpha", ["alpha", "a-1"]],
    ["", 7, [], [""], ["alpha", ""], ["alpha", 7], { length: 1 }],
  ],
  [watch, "everyMs", [1, 2 ** 31 - 1], [0, -1, 0.5, "5", 2 ** 31]],
] as const)("%o takes of %s %j, and refuses %j", (read, name, good, bad) => {
  for (const value of good) expect(() => read({ [name]: value })).not.toThrow();
  for (const value of bad) {
    expect(() => read({ [name]: value })).toThrow(InvalidArgumentError);
    expect(() => read({ [name]: value })).toThrow(`Payments: ${name} must be`);
  }
});

it("reads the options of a comparison, whose period may end now", () => {
  setClock({ wallMs: () => toMs, monotonicMs: () => 0, setTimer: () => undefined, clearTimer() {}, unrefTimer() {} });
  onTestFinished(() => setClock(undefined));
  const headers = { "X-Trace": "1" };
  const settings = reconcile({ senderGatewayId: "alpha", slackMs: 1000, headers });
  headers["X-Trace"] = "2";
  expect(settings).toMatchObject({
    period: { fromMs, toMs },
    widened: { fromMs: fromMs - 1000, toMs: toMs + 1000 },
    senderGatewayIds: new Set(["alpha"]),
    maxInMemory: 50_000,
    temporaryDirectory: undefined,
    size: 100,
    signal: undefined,
    headers: { "X-Trace": "1" },
  });
  expect(() => reconcile({ from: day.to })).toThrow("reconcilePayments: from must lie before to");
  expect(() => toReconcileSettings(null as never)).toThrow("reconcilePayments: the options must be an object");
});

it("reads the options of a watch, which begins behind a cursor or behind a token", () => {
  const headers = { "X-Trace": "1" };
  const settings = watch({ startAfter: "7", headers });
  headers["X-Trace"] = "2";
  expect(settings).toMatchObject({ mark: { after: "7", stretches: [] }, headers: { "X-Trace": "1" } });
  expect(() => watch({ startAfter: "7", after: "pw1" })).toThrow(
    "watchPayments: after and startAfter exclude each other",
  );
  expect(() => watch(null)).toThrow("watchPayments: the options must be an object");
});
