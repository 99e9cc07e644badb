/**
 * Sends traces and metrics to the collector that `OTEL_EXPORTER_OTLP_ENDPOINT` names. Where it names none, nothing is loaded. It starts
 * when it is imported: instruments that were made before measure nothing.
 */
export const sdk =
  process.env.OTEL_EXPORTER_OTLP_ENDPOINT === undefined
    ? undefined
    : new (await import("@opentelemetry/sdk-node")).NodeSDK({ serviceName: process.env.OTEL_SERVICE_NAME ?? "bank" });
sdk?.start();
