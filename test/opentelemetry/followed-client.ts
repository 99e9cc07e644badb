import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { type SandboxOptions, type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import { afterAll, beforeAll } from "vitest";
import { registeredClient } from "../cli/gateway-fixture.js";
import { signingKeysOf } from "../support/key-pairs.js";

/** Sets up the real SDK for a test file: spans find their parents, and requests carry them. */
export function setUpOpenTelemetry(): void {
  beforeAll(() => {
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  });
  afterAll(() => {
    api.context.disable();
    api.propagation.disable();
  });
}

/** A followed client of a sandbox with two gateways. The set-up itself isn't followed. */
export async function startFollowed(sandboxOptions: SandboxOptions = {}, more: Partial<ClientOptions> = {}) {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("test");
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meters = new MeterProvider({ readers: [reader] });
  const seen: SandboxRequest[] = [];
  const server = await startSandbox({
    ...sandboxOptions,
    onRequest(sent) {
      seen.push(sent);
      return sandboxOptions.onRequest?.(sent);
    },
  });
  const options = { ...server.clientOptions, signingKey: signingKeysOf("gateway").privateKey, ...more };
  await (await registeredClient(server)).close();
  seen.length = 0;
  const telemetry = openTelemetry(api, { tracer, meter: meters.getMeter("test") });
  const client = new CrossBorderClient({ ...options, telemetry });
  return {
    ...{ server, client, tracer, exporter, seen },
    /** Of other clients of the sandbox. */
    options,
    spans: () => exporter.getFinishedSpans(),
    async metrics() {
      await reader.forceFlush();
      const all = metricExporter.getMetrics().at(-1)?.scopeMetrics ?? [];
      const metrics = all.flatMap((scope) => scope.metrics);
      return Object.fromEntries(metrics.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
      await meters.shutdown();
    },
  };
}

/** Each span as the names from the root to it. */
export function paths(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const path = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    return parent === undefined ? span.name : `${path(parent)} > ${span.name}`;
  };
  return spans.map(path);
}

export function spanNamed(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`there is no span ${name}; there are ${paths(spans).join(", ")}`);
  return found;
}
