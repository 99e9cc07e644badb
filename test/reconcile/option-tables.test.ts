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
  ["watchPayments", "docs/reconcile.md", rowsOf(watchOptions)],
  ["reconcilePayments", "docs/statement.md", rowsOf(reconcileOptions)],
  ["listPayments", "docs/statement.md", rowsOf(listPaymentsOptions)],
])("has a row for every option of %s, with its default", (_, document, rows) => {
  expect(readFileSync(document, "utf8")).toContain(`\n|---|---|---|\n${rows}\n\n`);
});
