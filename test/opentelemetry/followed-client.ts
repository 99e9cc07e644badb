import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { type SandboxOptions, startSandbox } from "cross-border-payments/sandbox";
import { afterAll, beforeAll } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";

/** Sets the real SDK up for a test file: spans find their parents, and requests carry them. */
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

export interface FollowedOptions {
  readonly sandbox?: SandboxOptions;
  readonly client?: Partial<ClientOptions>;
  readonly meter?: api.Meter;
}

/** A client that is followed, of a sandbox with two gateways. What it took to get there is not followed. */
export async function startFollowed({ sandbox = {}, client: more = {}, meter }: FollowedOptions = {}) {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("test");
  const server = await startSandbox(sandbox);
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  const options = { ...server.clientOptions, signingKey: privateKey, ...more };
  const bare = new CrossBorderClient(options);
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await bare.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64: publicKeyBase64 });
  }
  await bare.close();
  const telemetry = openTelemetry(api, meter === undefined ? { tracer } : { tracer, meter });
  const client = new CrossBorderClient({ ...options, telemetry });
  return {
    server,
    /** Of a client of the same sandbox that nobody follows. */
    options,
    client,
    tracer,
    exporter,
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
