import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as api from "@opentelemetry/api";
import { PrometheusExporter } from "@opentelemetry/exporter-prometheus";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { observeGauges, openTelemetry } from "cross-border-payments/opentelemetry";
import { onTestFinished, vi } from "vitest";
import { closed, flowFixture, isList, isPayment, request } from "../flows/flow-fixture.js";

/**
 * What a Prometheus server reads of a program in which everything has happened that is counted: payments were made, one is held and another one
 * stuck, a call was repeated, and the journal failed once.
 *
 * @returns host and port of the exporter.
 */
export async function exportMetrics(): Promise<string> {
  let lost = false;
  let failing = 0;
  const fixture = await flowFixture({
    onRequest(seen) {
      if (isPayment(seen) && lost) return Response.error();
      if (!isList(seen) || failing === 0) return undefined;
      failing -= 1;
      return new Response("", { status: 503 });
    },
  });
  const exporter = new PrometheusExporter({ preventServerStart: true });
  const provider = new MeterProvider({ readers: [exporter] });
  const meter = provider.getMeter("test");
  const telemetry = openTelemetry(api, { meter });
  const client = { telemetry, maxRetries: 1 };
  const flow = fixture.flow({ leaseMs: 1_000 }, client);
  failing = 1;
  await flow.run("paid", request);
  lost = true;
  await flow.run("held", request);
  for (let times = 0; times < 3; times += 1) {
    await fixture
      .flow({ takeFunds: closed }, client)
      .run("stuck", request)
      .catch(() => {});
  }
  vi.spyOn(fixture.journal, "list").mockRejectedValueOnce(new Error("the database is away"));
  await flow.gauges();
  observeGauges(api, flow, { meter });
  const server = createServer((asked, response) => exporter.getMetricsRequestHandler(asked, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await provider.shutdown();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
