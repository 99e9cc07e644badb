import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { readBankSettings } from "../../../examples/bank/settings.js";
import { startCollector } from "../../support/collector.js";
import { postgresUrl } from "../../support/database.js";
import { until } from "../../support/eventually.js";
import { says, skipped, startBank } from "./bank-fixture.js";

const read = (name: string) => readFileSync(join("examples/bank", name), "utf8");
const dockerfile = read("Dockerfile");
const manifests = ["compose.yaml", "collector.yaml", "kubernetes/bank.yaml", "kubernetes/migrate.yaml"];

/** An instruction of the image's last stage, in its form as a list. */
function instruction(name: "CMD" | "HEALTHCHECK"): readonly string[] {
  const found = new RegExp(`^${name}(?:.*\\\\\\n +CMD)? (\\[.*\\])$`, "m").exec(dockerfile)?.[1];
  const list: unknown = JSON.parse(found ?? "null");
  if (!Array.isArray(list)) throw new Error(`the Dockerfile has no ${name}`);
  return list.map(String);
}

async function ended(child: ChildProcess, input = ""): Promise<{ readonly code: unknown; readonly error: string }> {
  let error = "";
  child.stderr?.on("data", (text) => {
    error += text;
  });
  child.stdin?.end(input);
  const [code] = await once(child, "close");
  return { code, error };
}

describe.skipIf(postgresUrl === "")(`the bank's image${skipped}`, () => {
  it("starts by its own commands, is healthy while it runs, and sends what it does to a collector", async () => {
    const shared = await startBank();
    const { url, received } = await startCollector();
    const unready = await ended(shared.spawn(instruction("CMD")));
    expect(unready).toEqual({ code: 1, error: expect.stringContaining("run migrate.js of this release") });
    const migrate = () => ended(shared.spawn(["node", "migrate.js"]));
    expect(await Promise.all([migrate(), migrate()])).toEqual(Array(2).fill({ code: 0, error: "" }));
    const add = (...args: string[]) => ended(shared.spawn(["node", "add-user.js", ...args]), shared.passwordOf("ada"));
    expect(await add("ada", "customer", "DE-0001", "EUR", "5000")).toEqual({ code: 0, error: "" });
    expect(await add("Olga", "operator")).toMatchObject({ code: 2, error: expect.stringContaining("usage") });

    const only = await shared.process(
      { OTEL_EXPORTER_OTLP_ENDPOINT: url, OTEL_METRIC_EXPORT_INTERVAL: "500", OTEL_METRIC_EXPORT_TIMEOUT: "500" },
      instruction("CMD"),
    );
    const check = () => ended(shared.spawn(instruction("HEALTHCHECK"), { PORT: String(only.port) }));
    expect(await check()).toEqual({ code: 0, error: "" });
    const ada = await shared.logIn(only, "ada");
    const { path, confirm, page } = await shared.quote(only, ada);
    await ada.submit(only, page, confirm);
    await until(() => ada.get(only, path), says("Status: <b>paid</b>"));
    await until(
      () => received.get("/v1/metrics") ?? "",
      (metrics) => metrics.includes("cross_border.flow.attention") && metrics.includes("cross_border.call.duration"),
    );
    expect(await only.end("SIGTERM")).toBe(0);
    expect(await check()).toEqual({ code: 1, error: "" });
    for (const name of ["payments.create", "flow.confirm", "bank"]) {
      expect(received.get("/v1/traces")).toContain(name);
    }
    expect(shared.leaks()).toEqual([]);
  });
});

it("names every variable that is missing or wrong, and shows no value", () => {
  const environment = { PORT: "80 000", DATABASE_URL: "mysql://root:hunter2@db", SESSION_SECRET: "too short" };
  expect(() => readBankSettings(environment)).toThrow(
    /^the environment is not complete:\nDATABASE_URL is wrong.*\nCROSS_BORDER_GATEWAY_ID is not set.*\nORIGIN is not set.*\nSESSION_SECRET is wrong.*\nPORT is wrong/,
  );
  expect(() => readBankSettings(environment)).not.toThrow(/hunter2|too short/);
});

it.each(manifests)("has a manifest in YAML: %s", (name) => {
  expect([parseAllDocuments(read(name))].flat().flatMap(({ errors }) => errors)).toEqual([]);
});
