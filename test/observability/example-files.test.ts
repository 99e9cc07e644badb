import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { deadLinks, filesIn } from "../support/dead-links.js";
import { alerts, dashboard, queries, rules } from "./example-files.js";
import { exportMetrics } from "./exported-metrics.js";

/** What a query selects: names, and patterns of names. */
function selectorsOf(expr: string): readonly RegExp[] {
  const rest = expr.replace(/\bby \([^)]*\)/g, "");
  const patterns = [...rest.matchAll(/__name__=~"([^"]+)"/g)].map(([, pattern = ""]) => pattern);
  const names = [...rest.matchAll(/\b((?:cross_border|http_client)_\w+)(?=[{)[])/g)].map(([, name = ""]) => name);
  return [...patterns, ...names].map((pattern) => new RegExp(`^${pattern}$`));
}

it("names only metrics and labels that are exported", async () => {
  const text = await (await fetch(`http://${await exportMetrics()}/metrics`)).text();
  const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  const names = series.map((line) => /^\w+/.exec(line)?.[0] ?? "");
  const labels = new Set(["job", "instance", "alertname", "le", "__name__", "cross_border_gateway"]);
  for (const line of series) for (const [, label = ""] of line.matchAll(/[{,](\w+)="/g)) labels.add(label);
  for (const expr of [...alerts.map((alert) => alert.expr), ...queries]) {
    const selectors = selectorsOf(expr);
    expect(selectors, expr).not.toEqual([]);
    for (const selector of selectors)
      expect(
        names.filter((name) => selector.test(name)),
        String(selector),
      ).not.toEqual([]);
    const used = [
      ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = ""]) => list.split(", ")),
      ...[...expr.matchAll(/[{,] *(\w+)(?:=|!=|=~|!~)"/g)].map(([, label = ""]) => label),
    ];
    for (const label of used) expect([...labels], expr).toContain(label);
  }
});

it("says of each alarm what to do, and leads to where the guide says more", () => {
  const parts = rules.split(/^ +- alert: /m).slice(1);
  expect(parts).toHaveLength(alerts.length);
  for (const [index, part] of parts.entries()) {
    const name = alerts[index]?.name ?? "";
    for (const key of ["summary", "description", "severity"]) expect(part, name).toContain(`${key}: `);
    const [, runbook = ""] = /runbook_url: (\S+)/.exec(part) ?? [];
    expect(runbook, name).toMatch(/\/docs\/[\w-]+\.md#/);
    expect(deadLinks(`[runbook](${runbook})`, filesIn("docs"), filesIn(".")), name).toEqual([]);
  }
  const listed = readFileSync("docs/observability.md", "utf8").matchAll(/^\| `(CrossBorder\w+)`/gm);
  expect([...listed].map(([, name]) => name)).toEqual(alerts.map(({ name }) => name));
});

it("has a dashboard whose panels have titles and query the chosen data source", () => {
  expect(dashboard.uid).toBe("cross-border-payments");
  for (const { title, description, datasource, targets } of dashboard.panels) {
    expect([title, description]).not.toContain("");
    expect(targets.length, title).toBeGreaterThan(0);
    for (const source of [datasource, ...targets.map((target) => target.datasource)]) {
      expect(source).toEqual({ type: "prometheus", uid: `\${datasource}` });
    }
  }
});
