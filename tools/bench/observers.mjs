import { openSync } from "node:fs";
import { devNull } from "node:os";
import { clientFolder } from "./packages.mjs";

/** Nobody, neither by an option nor by a hook. The channels are there, as always, and have no subscriber. */
export const unobserved = { on: undefined };

/** Ways to have the client watched, and a service that gives it more to look at, by name: each gives the options of a client. */
export const observers = {
  none: async () => unobserved,

  "of a service with two fields that are not described": async ({ dispatcherOfMore }) => ({
    ...unobserved,
    dispatcher: dispatcherOfMore,
  }),

  "with hooks that do nothing": async () => ({
    on: { response() {}, success() {}, failure() {}, retry() {}, mismatch() {}, token() {} },
  }),

  "with a logger of empty methods": async () => withLogger({ debug() {}, warn() {}, error() {} }),

  "with pino at info": async () => withLogger(await pinoAt("info")),

  "with pino at debug": async () => withLogger(await pinoAt("debug")),

  "with OpenTelemetry without an SDK": async () => withTelemetry(await import("@opentelemetry/api")),

  "with OpenTelemetry, its SDK samples 1 % of traces": async () => withTelemetry(await startSdk(0.01)),

  "with OpenTelemetry, its SDK samples all": async () => withTelemetry(await startSdk(1)),
};

const withLogger = (logger) => ({ ...unobserved, logger });

async function withTelemetry(api) {
  const { openTelemetry } = await import(new URL("dist/opentelemetry.js", clientFolder).href);
  return { ...unobserved, telemetry: openTelemetry(api) };
}

/** As services have it: one line of JSON a write, to a file that keeps nothing. */
async function pinoAt(level) {
  const { default: pino } = await import("pino");
  return pino({ level }, pino.destination({ dest: openSync(devNull, "w"), sync: true }));
}

/** Context by `AsyncLocalStorage`, `traceparent`, spans in batches, metrics once a second; what is exported goes nowhere. */
async function startSdk(share) {
  const api = await import("@opentelemetry/api");
  const { AsyncLocalStorageContextManager } = await import("@opentelemetry/context-async-hooks");
  const { W3CTraceContextPropagator } = await import("@opentelemetry/core");
  const traces = await import("@opentelemetry/sdk-trace-base");
  const metrics = await import("@opentelemetry/sdk-metrics");

  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  const sampler = new traces.ParentBasedSampler({ root: new traces.TraceIdRatioBasedSampler(share) });
  const spanProcessors = [new traces.BatchSpanProcessor(dropping, { maxQueueSize: 100_000 })];
  api.trace.setGlobalTracerProvider(new traces.BasicTracerProvider({ sampler, spanProcessors }));
  const reader = new metrics.PeriodicExportingMetricReader({
    exporter: dropping,
    exportIntervalMillis: 1000,
    exportTimeoutMillis: 1000,
  });
  api.metrics.setGlobalMeterProvider(new metrics.MeterProvider({ readers: [reader] }));
  return api;
}

const dropping = {
  export: (_, done) => done({ code: 0 }),
  async forceFlush() {},
  async shutdown() {},
};
