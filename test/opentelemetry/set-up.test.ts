import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { startCollector } from "../support/collector.js";
import { freePort } from "../support/free-port.mjs";
import { runBlock } from "../support/run-block.js";

const guide = readFileSync("docs/opentelemetry.md", "utf8");

function blockNamed(name: string): string {
  const blocks = guide.matchAll(/^```ts\n([\s\S]*?)^```/gm);
  const found = [...blocks].map(([, code = ""]) => code).find((code) => code.startsWith(`// ${name}\n`));
  if (found === undefined) throw new Error(`there is no block ${name}`);
  return found;
}

/** Runs the guide's server with the guide's set-up. */
async function runServer(env: Record<string, string>, server = blockNamed("server.ts")): Promise<string> {
  const files = { "tracing.ts": blockNamed("tracing.ts") };
  const { status, stdout, stderr } = await runBlock(server, { files, env });
  expect(status, stdout + stderr).toBe(0);
  return stdout;
}

it("brings traces and metrics to a collector by the set-up of the guide", async () => {
  const { url, received } = await startCollector();
  await runServer({ OTEL_EXPORTER_OTLP_ENDPOINT: url });
  const traces = received.get("/v1/traces");
  for (const name of ["paymentGateways.list", "token request", "payments"]) expect(traces).toContain(name);
  expect(received.get("/v1/metrics")).toContain("cross_border.call.duration");
});

it("lets Prometheus read the metrics by the variable of the guide alone", async () => {
  expect(guide).toContain("OTEL_METRICS_EXPORTER=prometheus node");
  const port = String(await freePort());
  const variables = { OTEL_METRICS_EXPORTER: "prometheus", OTEL_TRACES_EXPORTER: "none" };
  const read = `console.log(await (await fetch("http://127.0.0.1:${port}/metrics")).text());`;
  const server = blockNamed("server.ts").replace("await sdk.shutdown();", `${read}\nawait sdk.shutdown();`);
  const stdout = await runServer({ ...variables, OTEL_EXPORTER_PROMETHEUS_PORT: port }, server);
  expect(stdout).toContain("cross_border_call_duration_count{");
});
