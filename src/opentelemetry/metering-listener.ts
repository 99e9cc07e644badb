import type { Meter } from "@opentelemetry/api";
import type { Listener } from "../events/reporter.js";

/** Measures what a client reports. */
export function meteringListener(meter: Meter): Listener {
  const requests = meter.createHistogram("http.client.request.duration", {
    unit: "s",
    description: "Duration of each request that got a response",
    advice: { explicitBucketBoundaries: [...boundaries] },
  });
  const calls = meter.createHistogram("cross_border.call.duration", {
    unit: "s",
    description: "Duration of each call: token, signature, attempts and waits",
    advice: { explicitBucketBoundaries: [...boundaries] },
  });
  const retries = meter.createCounter("cross_border.retries", { description: "Attempts that repeat a failed one" });
  const tokens = meter.createCounter("cross_border.tokens", { description: "Access tokens that were obtained" });
  const unknown = meter.createCounter("cross_border.unknown_outcomes", {
    description: "Calls that may have been done although no response says so",
  });
  const steps = meter.createCounter("cross_border.flow.steps", {
    description: "Steps of flows, by the phase they led to",
  });
  const journal = meter.createHistogram("cross_border.journal.operation.duration", {
    unit: "s",
    description: "Duration of what a flow asks its journal for",
    advice: { explicitBucketBoundaries: [...journalBoundaries] },
  });
  return {
    journal: ({ operation, durationMs, code }) =>
      journal.record(durationMs / 1000, {
        "cross_border.journal.operation": operation,
        ...(code === undefined ? undefined : { "error.type": code }),
      }),
    response: ({ operation, method, path, status, durationMs }) =>
      requests.record(durationMs / 1000, {
        "cross_border.operation": operation,
        "http.request.method": method,
        "url.template": path,
        "http.response.status_code": status,
      }),
    success: ({ operation, durationMs }) => calls.record(durationMs / 1000, { "cross_border.operation": operation }),
    failure({ operation, code, effect, durationMs }) {
      const attributes = { "cross_border.operation": operation, "error.type": code, "cross_border.effect": effect };
      calls.record(durationMs / 1000, attributes);
      if (effect === "possible") unknown.add(1, { "cross_border.operation": operation });
    },
    retry: ({ operation, reason }) => retries.add(1, { "cross_border.operation": operation, "error.type": reason }),
    token: ({ grant }) => tokens.add(1, { "cross_border.grant": grant }),
    flow: ({ from, to }) => {
      if (from !== to) steps.add(1, { "cross_border.flow.to": to });
    },
  };
}

/** Those that OpenTelemetry advises for HTTP, in seconds. */
const boundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10] as const;

/** Those that OpenTelemetry advises for databases, in seconds. */
const journalBoundaries = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] as const;
