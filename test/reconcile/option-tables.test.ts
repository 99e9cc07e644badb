import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { Option } from "../../src/options/option-table.js";
import { listPaymentsOptions } from "../../src/reconcile/list-payments.js";
import { reconcileOptions } from "../../src/reconcile/reconcile-options.js";
import { watchOptions } from "../../src/reconcile/watch-options.js";

function rowsOf(options: Readonly<Record<string, Option<unknown>>>): string {
  const rows = Object.entries(options).map(([name, { default: value, documentedDefault, documentation }]) => {
    const text = documentedDefault ?? (typeof value === "number" ? value.toLocaleString("en-US") : "");
    return `| \`${name}\` | ${text === "" ? "" : `${text} `}| ${documentation} |`;
  });
  return rows.join("\n");
}

it.each([
  ["watchPayments", rowsOf(watchOptions)],
  ["reconcilePayments", rowsOf(reconcileOptions)],
  ["listPayments", rowsOf(listPaymentsOptions)],
])("has a row for every option of %s, with its default", (_, rows) => {
  expect(readFileSync("docs/reconcile.md", "utf8")).toContain(`\n|---|---|---|\n${rows}\n\n`);
});
