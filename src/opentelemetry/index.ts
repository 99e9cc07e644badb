export type { Telemetry } from "../events/reporter.js";
export {
  type GaugeOptions,
  type GaugeSource,
  type ObservableMeter,
  type ObservedGauges,
  observeGauges,
} from "./gauges.js";
export { type OpenTelemetryApi, type OpenTelemetryOptions, openTelemetry } from "./open-telemetry.js";
