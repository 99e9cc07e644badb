import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { runBlock } from "../support/run-block.js";

/** A collector of OTLP over HTTP, on loopback: the text of what it was sent, by path. */
async function startCollector() {
  const received = new Map<string, string>();
  const collector = createServer(async (request, response) => {
    let text = "";
    // Names and values of attributes stand in the binary form as they are.
    for await (const chunk of request) text += (chunk as Buffer).toString("latin1");
    const path = request.url ?? "";
    received.set(path, (received.get(path) ?? "") + text);
    response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
  });
  await new Promise<void>((resolve) => collector.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void collector.close());
  const { port } = collector.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, received };
}

function blockNamed(name: string): string {
  const blocks = readFileSync("docs/observability.md", "utf8").matchAll(/^```ts\n([\s\S]*?)^```/gm);
  const found = [...blocks].map(([, code = ""]) => code).find((code) => code.startsWith(`// ${name}\n`));
  if (found === undefined) throw new Error(`there is no block ${name}`);
  return found;
}

it("brings traces and metrics to a collector by the set-up of the guide", async () => {
  const { url, received } = await startCollector();
  const files = { "tracing.ts": blockNamed("tracing.ts") };
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: url };
  const { status, stdout, stderr } = await runBlock(blockNamed("server.ts"), { files, env });
  expect(status, stdout + stderr).toBe(0);
  const traces = received.get("/v1/traces");
  for (const name of ["paymentGateways.list", "token request", "payments"]) expect(traces).toContain(name);
  expect(received.get("/v1/metrics")).toContain("cross_border.call.duration");
});
