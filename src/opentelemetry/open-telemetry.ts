import type { Meter } from "@opentelemetry/api";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../core/parse.js";
import type { Telemetry, TelemetryParts } from "../events/reporter.js";
import { meteringListener } from "./metering-listener.js";
import { type Api, spanTracing } from "./span-tracing.js";
import { version } from "./version.js";

/** The package `@opentelemetry/api`, 1.3 or newer: `import * as api from "@opentelemetry/api"`. */
export interface OpenTelemetryApi {
  readonly context: { active(): object };
  readonly metrics: { getMeter(name: string, version?: string): object };
  readonly propagation: { inject(context: never, carrier: object): void };
  readonly trace: { getTracer(name: string, version?: string): object };
}

export interface OpenTelemetryOptions {
  /** Where spans come from. Default: the tracer `cross-border-payments` of the global provider. */
  readonly tracer?: { startSpan(name: string): object } | undefined;
  /** Where instruments come from. Default: the meter `cross-border-payments` of the global provider. */
  readonly meter?: { createCounter(name: string): object; createHistogram(name: string): object } | undefined;
}

/**
 * The option `telemetry` of a client: spans of calls, attempts, token requests, signatures and flows, `traceparent` on the wire, and
 * metrics. Start the SDK first: instruments that were made before it measure nothing. No span contains a secret, a body or
 * an id of a record; that of a flow has the flow's key, which is your own.
 *
 * @example
 * import * as api from "@opentelemetry/api";
 * const client = new CrossBorderClient({ ...options, telemetry: openTelemetry(api) });
 * @throws {ConfigError} when `api` is something else.
 */
export function openTelemetry(api: OpenTelemetryApi, options: OpenTelemetryOptions = {}): Telemetry {
  assertApi(api, "openTelemetry");
  const refuse = (message: string) => new ConfigError(`openTelemetry: ${message}`);
  const given: OpenTelemetryOptions = parseOptions(telemetryOptions, options, "the options", refuse);
  const tracer = (given.tracer ?? api.trace.getTracer(name, version)) as ReturnType<Api["trace"]["getTracer"]>;
  const meter = meterOf(api, given.meter, "openTelemetry");
  // Instruments that were made without an SDK measure nothing, ever: events need not be made for them.
  const listener = isNoop(api, meter) ? {} : meteringListener(meter);
  const telemetry: TelemetryParts = { kind: "opentelemetry", listener, tracing: spanTracing(api, tracer) };
  return telemetry;
}

/** The meter that is given, or that of the global provider. @throws {ConfigError} when `api` is something else. */
export function meterOf(api: OpenTelemetryApi, given: object | undefined, caller: string): Meter {
  assertApi(api, caller);
  return (given ?? api.metrics.getMeter(name, version)) as Meter;
}

const name = "cross-border-payments";

const telemetryOptions: CheckTable<OpenTelemetryOptions> = {
  tracer: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "startSpan")),
    wanted: "a tracer, with a method startSpan",
  },
  meter: {
    accepts: (value) =>
      ["createCounter", "createHistogram"].every((method) => isFunction(Reflect.get(Object(value), method))),
    wanted: "a meter, with the methods createCounter and createHistogram",
  },
};

function isNoop({ createNoopMeter }: Partial<Api>, meter: object): boolean {
  return createNoopMeter !== undefined && meter === createNoopMeter();
}

function assertApi(given: unknown, caller: string): asserts given is Api {
  for (const part of ["context", "metrics", "propagation", "trace"]) {
    const found: unknown = Reflect.get(Object(given), part);
    if (typeof found === "object" && found !== null) continue;
    throw new ConfigError(
      `${caller} wants the package @opentelemetry/api (import * as api); its ${part} is ${found === null ? "null" : typeof found}`,
    );
  }
}
