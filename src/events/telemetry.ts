import type { Listener } from "./reporter.js";
import type { Tracing } from "./tracing.js";

/** Where a telemetry has what a client needs of it, in every copy of this package. */
export const telemetryKey: unique symbol = Symbol.for("cross-border-payments.telemetry") as never;

/** Whom a client tells of its work beside hooks and logger. `openTelemetry` makes one; it is not meant to be implemented. */
export interface Telemetry {
  readonly kind: "opentelemetry";
}

export interface TelemetryParts {
  readonly listener: Listener;
  readonly tracing: Tracing;
}

/** The parts of a telemetry of any copy of this package; `undefined` for anything else. */
export function telemetryParts(value: unknown): TelemetryParts | undefined {
  const parts: unknown = Reflect.get(Object(value), telemetryKey);
  return typeof parts === "object" && parts !== null ? (parts as TelemetryParts) : undefined;
}
