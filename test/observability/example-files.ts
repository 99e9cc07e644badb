import { readFileSync } from "node:fs";

/** The alarms and the dashboard that the guide links. */
export const folder = "examples/observability";

export interface Alert {
  readonly name: string;
  readonly expr: string;
}

export const rules = readFileSync(`${folder}/alerts.yml`, "utf8");

/** As they stand in the file, where each expression has a line of its own. */
export const alerts: readonly Alert[] = [...rules.matchAll(/^ +- alert: (\w+)\n +expr: (.*)$/gm)].map(
  ([, name = "", expr = ""]) => ({ name, expr }),
);

interface Panel {
  readonly title: string;
  readonly description: string;
  readonly datasource: object;
  readonly targets: readonly { readonly expr: string; readonly datasource: object }[];
}

export const dashboard: { readonly uid: string; readonly panels: readonly Panel[]; readonly templating: object } =
  JSON.parse(readFileSync(`${folder}/dashboard.json`, "utf8"));

/** Its queries, with what Grafana puts in place of its variables. */
export const queries: readonly string[] = dashboard.panels
  .flatMap(({ targets }) => targets.map(({ expr }) => expr))
  .map((expr) => expr.replaceAll("$__rate_interval", "1m").replaceAll("$job", ".*"));
