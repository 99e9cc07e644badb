export type { Telemetry } from "../events/telemetry.js";
export { type OpenTelemetryApi, type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.js";
