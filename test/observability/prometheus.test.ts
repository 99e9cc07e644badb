import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.mjs";
import { alerts, folder, queries } from "./example-files.js";
import { exportMetrics } from "./exported-metrics.js";

/** Where `prometheus` and `promtool` are. */
const found = spawnSync("bash", ["test/support/prometheus.sh", "find"], { encoding: "utf8" });
const binaries = found.status === 0 ? found.stdout.trim() : undefined;
if (binaries === undefined) {
  process.stdout.write("The alarms are tested with Prometheus only (skipped: see test/support/prometheus.sh)\n");
}

function newFolder(): string {
  const made = mkdtempSync(join(tmpdir(), "cross-border-observability-"));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

async function promtool(...parameters: readonly string[]): Promise<{ readonly ok: boolean; readonly said: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(join(binaries ?? "", "promtool"), parameters);
    return { ok: true, said: stdout + stderr };
  } catch (error) {
    return { ok: false, said: `${Reflect.get(Object(error), "stdout")}${Reflect.get(Object(error), "stderr")}` };
  }
}

/** A Prometheus that reads an exporter each second. @returns what asks its API. */
async function startPrometheus(exporter: string): Promise<(path: string) => Promise<unknown>> {
  const data = newFolder();
  const config = join(data, "prometheus.yml");
  writeFileSync(
    config,
    `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [${JSON.stringify(resolve(folder, "alerts.yml"))}]
scrape_configs:
  - job_name: payments
    static_configs: [{ targets: [${JSON.stringify(exporter)}] }]
`,
  );
  const port = await freePort();
  const server = spawn(
    join(binaries ?? "", "prometheus"),
    [`--config.file=${config}`, `--storage.tsdb.path=${join(data, "data")}`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: "ignore" },
  );
  const ended = new Promise((done) => server.once("exit", done));
  onTestFinished(async () => {
    server.kill();
    await ended;
  });
  return async (path) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    return Reflect.get(Object(await response.json()), "data");
  };
}

describe.skipIf(binaries === undefined)("with Prometheus", () => {
  it("accepts the alarms, and its tests of them pass", async () => {
    const checked = await promtool("check", "rules", join(folder, "alerts.yml"));
    expect(checked, checked.said).toMatchObject({ ok: true, said: expect.stringContaining(`${alerts.length} rules`) });
    const tested = await promtool("test", "rules", join(folder, "alerts.test.yml"));
    expect(tested.ok, tested.said).toBe(true);
  });

  it("finds something for every query of the dashboard and every alarm, of a program that it reads", async () => {
    const ask = await startPrometheus(await exportMetrics());
    const results = async (query: string): Promise<unknown> =>
      Reflect.get(Object(await ask(`query?query=${encodeURIComponent(query)}`)), "result");
    // What an alarm compares, and what is absent, is there without its comparison.
    const compared = alerts.map(({ expr }) => expr.replace(/ [<>] [\d.]+$/, "").replace(/^absent\((.*)\)$/, "$1"));
    for (const query of [...queries, ...compared]) {
      await expect
        .poll(async () => await results(query).catch(() => undefined), { interval: 200, message: query })
        .toEqual(expect.arrayContaining([expect.anything()]));
    }
    const held = alerts.find(({ name }) => name === "CrossBorderFlowsHeld")?.expr ?? "";
    expect(await results(held)).toMatchObject([{ value: [expect.any(Number), "1"] }]);
    const { groups } = Object(await ask("rules"));
    const loaded: object[] = groups.flatMap((group: object) => Reflect.get(group, "rules"));
    expect(loaded.map((rule) => Reflect.get(rule, "name"))).toEqual(alerts.map(({ name }) => name));
    for (const rule of loaded) expect(rule).toMatchObject({ health: "ok" });
  });
});
