import type { Histogram, Meter, Tracer } from "@opentelemetry/api";
import { ConfigError, CrossBorderError } from "../core/errors.js";
import { type Check, type CheckTable, hasMethods, isFunction, parseOptions } from "../core/parse.js";
import {
  type Attributes,
  follow,
  type Listener,
  type Telemetry,
  type TelemetryParts,
  type Tracing,
} from "../events/reporter.js";
import { version } from "./version.js";

/** The package `@opentelemetry/api`, 1.3 or newer: `import * as api from "@opentelemetry/api"`. */
export interface OpenTelemetryApi {
  readonly context: { active(): object };
  readonly metrics: { getMeter(name: string, version?: string): object };
  readonly propagation: { inject(context: never, carrier: object): void };
  readonly trace: { getTracer(name: string, version?: string): object };
}

export interface OpenTelemetryOptions {
  /** Makes the spans. Default: the tracer `cross-border-payments` of the global provider. */
  readonly tracer?: { startSpan(name: string): object } | undefined;
  /** Makes the instruments. Default: the meter `cross-border-payments` of the global provider. */
  readonly meter?: { createCounter(name: string): object; createHistogram(name: string): object } | undefined;
}

/**
 * Makes the option `telemetry` of a client: spans of calls, attempts, token requests, signatures, and flows, `traceparent` on the wire,
 * and metrics. Start the SDK first, because instruments that were made before it measure nothing. Spans contain no secret, body, or id
 * of a record. A flow's span has its key, which is your own.
 *
 * @example
 * import * as api from "@opentelemetry/api";
 * const client = new CrossBorderClient({ ...options, telemetry: openTelemetry(api) });
 * @throws {ConfigError} if `api` or an option is something else.
 */
export function openTelemetry(api: OpenTelemetryApi, options: OpenTelemetryOptions = {}): Telemetry {
  const refuse = (message: string) => new ConfigError(`openTelemetry: ${message}`);
  const given: OpenTelemetryOptions = parseOptions(telemetryOptions, options, "the options", refuse);
  const meter = meterOf(api, given.meter, refuse);
  const tracer = given.tracer ?? api.trace.getTracer(name, version);
  const parts = { listener: meteringListener(meter), tracing: spanTracing(api as Api, tracer as Tracer) };
  const telemetry: TelemetryParts = { kind: "opentelemetry", ...parts };
  return telemetry;
}

/** The caller passes `@opentelemetry/api`. */
type Api = typeof import("@opentelemetry/api");

const name = "cross-border-payments";

/** The meter that is given, or that of the global provider. */
export function meterOf(api: OpenTelemetryApi, given: object | undefined, refuse: (message: string) => Error): Meter {
  if (!isFunction(api?.metrics?.getMeter)) throw refuse('pass the package: import * as api from "@opentelemetry/api"');
  return (given ?? api.metrics.getMeter(name, version)) as Meter;
}

export function withMethods(...names: readonly string[]): Check {
  return {
    accepts: (value) => hasMethods(value, ...names),
    expected: `an object with the methods ${names.join(", ")}`,
  };
}

const telemetryOptions: CheckTable<OpenTelemetryOptions> = {
  tracer: withMethods("startSpan"),
  meter: withMethods("createCounter", "createHistogram"),
};

/** Follows work by spans. A sampler, processor, or propagator that throws never changes the result of the work. */
function spanTracing(api: Api, tracer: Tracer): Tracing {
  const { context, propagation, SpanKind, SpanStatusCode, trace } = api;
  return {
    follow(part, work) {
      const kind = part.kind === "client" ? SpanKind.CLIENT : SpanKind.INTERNAL;
      const span = attempt(() => tracer.startSpan(part.name, { kind, attributes: { ...part.attributes } }));
      if (span === undefined) return follow(undefined, () => part, work);
      const note = (attributes: Attributes): void => {
        attempt(() => span.setAttributes({ ...attributes }));
        if (attributes["error.type"] !== undefined) attempt(() => span.setStatus({ code: SpanStatusCode.ERROR }));
      };
      const followed = {
        get headers() {
          const injected: Record<string, unknown> = {};
          attempt(() => propagation.inject(context.active(), injected));
          return attempt(() => Object.fromEntries(new Headers(injected as Record<string, string>))) ?? {};
        },
        note,
      };
      return context.with(trace.setSpan(context.active(), span), async () => {
        try {
          return await work(followed);
        } catch (error) {
          // Messages and stacks are for the log.
          const isOwn = error instanceof CrossBorderError;
          note({ "error.type": isOwn ? error.code : "_OTHER", ...(isOwn && { "cross_border.effect": error.effect }) });
          throw error;
        } finally {
          attempt(() => span.end());
        }
      });
    },
  };
}

function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/** Measures what a client reports. */
function meteringListener(meter: Meter): Listener {
  const histogram = (of: string, description: string, explicitBucketBoundaries: number[]): Histogram =>
    meter.createHistogram(of, { unit: "s", description, advice: { explicitBucketBoundaries } });
  const counter = (of: string, description: string) => meter.createCounter(`cross_border.${of}`, { description });
  const requests = histogram(
    "http.client.request.duration",
    "Duration of each request that got a response",
    httpSeconds,
  );
  const calls = histogram(
    "cross_border.call.duration",
    "Duration of each call: token, signature, attempts, and waits",
    httpSeconds,
  );
  const journalName = "cross_border.journal.operation.duration";
  const journal = histogram(journalName, "Duration of each operation of a flow's journal", journalSeconds);
  const retries = counter("retries", "Attempts that repeat a failed one");
  const tokens = counter("tokens", "Access tokens that were obtained");
  const unknown = counter("unknown_outcomes", "Calls that may have been done although no response says so");
  const steps = counter("flow.steps", "Steps of flows, by the phase that they led to");
  const operationName = "cross_border.operation";
  return {
    journal({ operation, durationMs, code }) {
      const failed = code !== undefined && { "error.type": code };
      journal.record(durationMs / 1000, { "cross_border.journal.operation": operation, ...failed });
    },
    response: ({ operation, method, path, status, durationMs }) =>
      requests.record(durationMs / 1000, {
        [operationName]: operation,
        "http.request.method": method,
        "url.template": path,
        "http.response.status_code": status,
      }),
    success: ({ operation, durationMs }) => calls.record(durationMs / 1000, { [operationName]: operation }),
    failure({ operation, code, effect, durationMs }) {
      const attributes = { [operationName]: operation, "error.type": code, "cross_border.effect": effect };
      calls.record(durationMs / 1000, attributes);
      if (effect === "possible") unknown.add(1, { [operationName]: operation });
    },
    retry: ({ operation, reason }) => retries.add(1, { [operationName]: operation, "error.type": reason }),
    token: ({ grant }) => tokens.add(1, { "cross_border.grant": grant }),
    flow({ from, to }) {
      if (from !== to) steps.add(1, { "cross_border.flow.to": to });
    },
  };
}

/** OpenTelemetry advises these boundaries for HTTP and for databases. */
const httpSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const journalSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];
