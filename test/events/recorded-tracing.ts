import type { Attributes, Telemetry, TelemetryParts, Tracing } from "../../src/events/reporter.js";

/** A part of the work that was followed, and what became known of it. */
export interface RecordedPart {
  readonly name: string;
  readonly kind: string;
  readonly attributes: Attributes;
}

/** Follows work as OpenTelemetry does, and keeps the parts in the order in which they began. */
export class RecordedTracing implements Tracing {
  readonly parts: RecordedPart[] = [];

  readonly follow: Tracing["follow"] = ({ name, kind, attributes }, work) => {
    const known: Record<string, Attributes[string]> = { ...attributes };
    this.parts.push({ name, kind, attributes: known });
    return work({ headers: {}, note: (more) => void Object.assign(known, more) });
  };

  /** For the option `telemetry` of a client. */
  get telemetry(): Telemetry {
    const telemetry: TelemetryParts = { kind: "opentelemetry", listener: {}, tracing: this };
    return telemetry;
  }
}
