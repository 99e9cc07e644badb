import { readFileSync } from "node:fs";
import * as api from "@opentelemetry/api";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { type ClientOptions, ConfigError, CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { type SandboxOptions, type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
import pino from "pino";
import { expect, it, vi } from "vitest";
import { Bank, request } from "../flows/flow-fixture.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { setUpOpenTelemetry, startFollowed } from "./followed-client.js";

setUpOpenTelemetry();

async function fixture(sandboxOptions: SandboxOptions = {}, more: Partial<ClientOptions> = {}) {
  const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const seen: SandboxRequest[] = [];
  const { server, client, tracer, exporter, ...followed } = await startFollowed({
    sandbox: {
      ...sandboxOptions,
      onRequest(sent) {
        seen.push(sent);
        return sandboxOptions.onRequest?.(sent);
      },
    },
    client: more,
    meter: meterProvider.getMeter("test"),
  });
  seen.length = 0;
  return {
    client,
    tracer,
    seen,
    server,
    spans: () => exporter.getFinishedSpans(),
    async metrics() {
      await reader.forceFlush();
      const all =
        metricExporter
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap(({ metrics }) => metrics) ?? [];
      return Object.fromEntries(all.map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints]));
    },
    async [Symbol.asyncDispose]() {
      await followed[Symbol.asyncDispose]();
      await meterProvider.shutdown();
    },
  };
}

/** Each span as the names from the root to it. */
function paths(spans: readonly ReadableSpan[]): string[] {
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const path = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? "");
    return parent === undefined ? span.name : `${path(parent)} > ${span.name}`;
  };
  return spans.map(path);
}

function spanNamed(spans: readonly ReadableSpan[], name: string): ReadableSpan {
  const found = spans.find((span) => span.name === name);
  if (found === undefined) throw new Error(`there is no span ${name}; there are ${paths(spans).join(", ")}`);
  return found;
}

it("logs within the span of the call, so that a logger finds its trace", async () => {
  const lines: Record<string, unknown>[] = [];
  const mixin = () => ({ ...api.trace.getActiveSpan()?.spanContext() });
  const logger = pino({ level: "debug", mixin }, { write: (line: string) => lines.push(JSON.parse(line)) });
  await using fixed = await fixture({}, { logger });
  const { client, tracer, spans } = fixed;
  lines.length = 0;
  await tracer.startActiveSpan("mine", async (span) => {
    await client.payments.list();
    await client.paymentGateways.get("nowhere").catch(() => {});
    span.end();
  });
  const spanIdOf = (name: string) => spanNamed(spans(), name).spanContext().spanId;
  const logged = lines.map((line) => [line["cross_border.operation"] ?? "token", line.spanId]);
  expect(logged).toEqual([
    ["token", expect.any(String)],
    ["payments.list", spanIdOf("payments.list")],
    ["paymentGateways.get", spanIdOf("paymentGateways.get")],
  ]);
  const { traceId } = spanNamed(spans(), "mine").spanContext();
  expect(lines.map((line) => line.traceId)).toEqual([traceId, traceId, traceId]);
});

it("makes spans of a call, its token request and its attempts, below the caller's own", async () => {
  await using fixed = await fixture();
  const { client, tracer, spans, seen } = fixed;
  await tracer.startActiveSpan("mine", async (span) => {
    await client.payments.list();
    span.end();
  });
  expect(paths(spans())).toEqual([
    "mine > payments.list > token request",
    "mine > payments.list > GET /payments",
    "mine > payments.list",
    "mine",
  ]);
  const attempt = spanNamed(spans(), "GET /payments");
  expect(attempt.attributes).toEqual({
    "http.request.method": "GET",
    "url.template": "/payments",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(fixed.server.url).port),
    "http.response.status_code": 200,
  });
  const { traceId, spanId } = attempt.spanContext();
  const sent = seen.find(({ operation }) => operation === "payments.list");
  expect(sent?.headers.get("traceparent")).toBe(`00-${traceId}-${spanId}-01`);
});

it.each([
  ["succeeded", undefined, { "http.response.status_code": 200 }, api.SpanStatusCode.UNSET],
  ["was refused", 401, { "http.response.status_code": 401, "error.type": "401" }, api.SpanStatusCode.ERROR],
  ["led elsewhere", 302, { "http.response.status_code": 302, "error.type": "redirect" }, api.SpanStatusCode.ERROR],
])("says of a token request that %s what HTTP clients say of theirs", async (_, status, said, code) => {
  const refusal = { error: "invalid_grant", error_description: "no" };
  await using fixed = await fixture();
  await using identity = await startSandbox({
    onRequest: () => (status === undefined ? undefined : Response.json(refusal, { status })),
  });
  const { auth } = identity.clientOptions;
  const telemetry = openTelemetry(api, { tracer: fixed.tracer });
  await using client = new CrossBorderClient({ ...fixed.server.clientOptions, auth, telemetry });
  await client.payments.list().catch(() => {});
  const span = spanNamed(fixed.spans(), "token request");
  expect(span.attributes).toEqual({
    "http.request.method": "POST",
    "server.address": "127.0.0.1",
    "server.port": Number(new URL(identity.url).port),
    ...said,
  });
  expect([span.status.code, span.kind]).toEqual([code, api.SpanKind.CLIENT]);
});

it("says why a token request got no response", async () => {
  await using fixed = await fixture();
  const auth = { ...fixed.server.clientOptions.auth, authUrl: "http://127.0.0.1:1" };
  const telemetry = openTelemetry(api, { tracer: fixed.tracer });
  await using client = new CrossBorderClient({ ...fixed.server.clientOptions, auth, telemetry });
  await client.payments.list({}, { timeoutMs: 300 }).catch(() => {});
  expect(spanNamed(fixed.spans(), "token request").attributes).toEqual({
    "http.request.method": "POST",
    "server.address": "127.0.0.1",
    "server.port": 1,
    "error.type": "ECONNREFUSED",
  });
});

it.each([
  ["paid", { senderGatewayTransactionId: "TX-77" }],
  ["declined", null],
])("makes one trace of a payment that is %s, with what the bank does in it", async (outcome, funds) => {
  await using fixed = await fixture();
  const { client, tracer, spans } = fixed;
  await client.pay(request, () =>
    tracer.startActiveSpan("bank takes", (span) => {
      span.end();
      return funds;
    }),
  );
  const pay = spanNamed(spans(), "pay");
  expect(pay.parentSpanContext).toBeUndefined();
  expect(pay.attributes).toEqual({ "cross_border.operation": "pay", "cross_border.outcome": outcome });
  expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
  const below = [
    "pay > paymentIntents.create",
    "pay > bank takes",
    ...(funds === null ? [] : ["pay > payments.create"]),
  ];
  expect(paths(spans())).toEqual(expect.arrayContaining(below));
});

it("says of a payment in two steps why it was not made", async () => {
  await using fixed = await fixture();
  const away = () => Promise.reject(new Error("the bank is away"));
  await expect(fixed.client.pay(request, away)).rejects.toThrow("the bank is away");
  const pay = spanNamed(fixed.spans(), "pay");
  expect(pay.attributes).toEqual({ "cross_border.operation": "pay", "error.type": "_OTHER" });
});

it("names the version of this package as that of its tracer and meter", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const tracers = vi.spyOn(api.trace, "getTracer");
  const meters = vi.spyOn(api.metrics, "getMeter");
  openTelemetry(api);
  expect(tracers.mock.calls).toEqual([["cross-border-payments", version]]);
  expect(meters.mock.calls).toEqual([["cross-border-payments", version]]);
  tracers.mockRestore();
  meters.mockRestore();
});

it("leaves the caller's own traceparent alone", async () => {
  await using fixed = await fixture();
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  await fixed.client.payments.list({}, { headers: { traceparent } });
  expect(fixed.seen.at(-1)?.headers.get("traceparent")).toBe(traceparent);
});

it("makes a span of each attempt, and says why one failed", async () => {
  let isFirst = true;
  await using fixed = await fixture({
    onRequest({ operation }) {
      if (operation !== "payments.list" || !isFirst) return undefined;
      isFirst = false;
      return new Response("away", { status: 503 });
    },
  });
  await fixed.client.payments.list();
  const attempts = fixed.spans().filter(({ name }) => name === "GET /payments");
  expect(attempts.map(({ attributes, status }) => [attributes["error.type"], status.code])).toEqual([
    ["503", 2],
    [undefined, 0],
  ]);
  expect(attempts[1]?.attributes["http.request.resend_count"]).toBe(1);
  expect(spanNamed(fixed.spans(), "payments.list").status.code).toBe(0);
});

it("follows a flow: its steps, their signatures and their calls; and counts it", async () => {
  await using fixed = await fixture();
  const { takeFunds, releaseFunds } = new Bank();
  const flow = new PaymentFlow({ client: fixed.client, journal: new MemoryJournal(), takeFunds, releaseFunds });
  expect((await flow.run("order-1", request)).status).toBe("paid");
  await flow.close();
  expect(paths(fixed.spans())).toEqual(
    expect.arrayContaining([
      "flow > paymentIntents.create > POST /payment-intents",
      "flow > signature",
      "flow",
      "flow > payments.create > POST /payments",
    ]),
  );
  expect(spanNamed(fixed.spans(), "flow").attributes).toMatchObject({
    "cross_border.operation": "flow.run",
    "cross_border.flow.key": "order-1",
    "cross_border.flow.to": "paid",
  });
  const steps = (await fixed.metrics())["cross_border.flow.steps"] ?? [];
  expect(steps.map(({ attributes, value }) => [attributes["cross_border.flow.to"], value])).toEqual([
    ["funds-requested", 1],
    ["claimed", 1],
    ["paid", 1],
  ]);
});

it("counts no refused payment as one whose outcome is unknown", async () => {
  await using fixed = await fixture({
    onRequest: ({ operation }) =>
      operation === "payments.create" ? Response.json({ error: "limit", message: "no" }, { status: 400 }) : undefined,
  });
  const { takeFunds, releaseFunds } = new Bank();
  const journal = new MemoryJournal();
  const flow = new PaymentFlow({ client: fixed.client, journal, takeFunds, releaseFunds, readBackDelayMs: 1 });
  expect((await flow.run("order-1", request)).status).toBe("rejected");
  await flow.close();
  const metrics = await fixed.metrics();
  expect(metrics["cross_border.flow.steps"]?.map(({ attributes }) => attributes["cross_border.flow.to"])).toEqual([
    "funds-requested",
    "claimed",
    "refused",
    "rejected",
  ]);
  expect(metrics["cross_border.unknown_outcomes"]).toBeUndefined();
});

it("measures requests, calls, retries, tokens and unknown outcomes", async () => {
  await using fixed = await fixture({
    onRequest: ({ operation }) => (operation === "liquidityProviders.create" ? Response.error() : undefined),
  });
  await fixed.client.payments.list();
  await fixed.client.liquidityProviders.create({ firstName: "Ada" }).catch(() => {});
  const metrics = await fixed.metrics();
  expect(metrics["http.client.request.duration"]).toMatchObject([
    { attributes: { "url.template": "/payments", "http.response.status_code": 200 }, value: { count: 1 } },
  ]);
  expect(metrics["cross_border.call.duration"]?.map(({ attributes }) => attributes)).toEqual([
    { "cross_border.operation": "payments.list" },
    {
      "cross_border.operation": "liquidityProviders.create",
      "error.type": "outcome_unknown",
      "cross_border.effect": "possible",
    },
  ]);
  expect(metrics["cross_border.tokens"]).toMatchObject([{ value: 1 }]);
  expect(metrics["cross_border.unknown_outcomes"]).toMatchObject([{ value: 1 }]);
});

it("shows no secret, body, id or account", async () => {
  await using fixed = await fixture();
  const { client, spans, seen, server } = fixed;
  const account = "DE89370400440532013000";
  await client.pay({ ...request, senderAccount: account }, async () => ({ senderGatewayTransactionId: "TX-77-12345" }));
  await client.payments.list({ filter: { senderAccount: account } });
  await client.liquidityProviders.get("provider-4711").catch(() => {});
  const shown = JSON.stringify(
    spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]),
  );
  const tokens = seen.map(({ headers }) => headers.get("authorization")?.slice("Bearer ".length) ?? account);
  for (const value of [account, "TX-77", "provider-4711", "school", server.sandbox.credentials.password, ...tokens]) {
    expect(shown).not.toContain(value);
  }
});

it("says the code and the effect of a call that failed, and no message", async () => {
  await using fixed = await fixture();
  await fixed.client.liquidityProviders.get("nobody").catch(() => {});
  const { attributes, status, events } = spanNamed(fixed.spans(), "liquidityProviders.get");
  expect(attributes).toMatchObject({ "error.type": expect.stringMatching(/^http_4/), "cross_border.effect": "none" });
  expect([status, events]).toEqual([{ code: 2 }, []]);
});

it("asks for one span of a call where there is no SDK, and for none of its parts", async () => {
  await using server = await startSandbox();
  const real = api.trace.getTracer("none");
  const names: string[] = [];
  const tracer = {
    startSpan(...given: Parameters<api.Tracer["startSpan"]>) {
      names.push(given[0]);
      return real.startSpan(...given);
    },
  };
  const { privateKey, publicKeyBase64 } = signingKeysOf("gateway");
  await using client = new CrossBorderClient({
    ...server.clientOptions,
    signingKey: privateKey,
    signedOperations: ["paymentGateways.create"],
    telemetry: openTelemetry(api, { tracer }),
  });
  await client.payments.list();
  names.length = 0;
  await client.payments.list();
  await client.paymentGateways.create({
    institutionId: "alpha-bank",
    currency: "EUR",
    rsaPublicKeyBase64: publicKeyBase64,
  });
  expect(names).toEqual(["payments.list", "paymentGateways.create"]);
});

it("tells the instruments of no SDK nothing", async () => {
  await using server = await startSandbox();
  const meter = api.createNoopMeter();
  const record = vi.spyOn(meter.createHistogram("any"), "record");
  await using client = new CrossBorderClient({ ...server.clientOptions, telemetry: openTelemetry(api, { meter }) });
  await client.payments.list();
  expect(record).not.toHaveBeenCalled();
  record.mockRestore();
});

it("passes on a trace that its sampler left out", async () => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    sampler: new AlwaysOffSampler(),
    spanProcessors: [new SimpleSpanProcessor(exporter)],
  });
  const telemetry = openTelemetry(api, { tracer: provider.getTracer("test") });
  await using fixed = await fixture();
  await using client = new CrossBorderClient({ ...fixed.server.clientOptions, telemetry });
  await client.payments.list();
  expect(fixed.seen.at(-1)?.headers.get("traceparent")).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
  expect(exporter.getFinishedSpans()).toEqual([]);
});

it("sends nothing more where there is no telemetry", async () => {
  await using server = await startSandbox({
    onRequest({ headers }) {
      expect(headers.has("traceparent")).toBe(false);
      return undefined;
    },
  });
  await using client = new CrossBorderClient(server.clientOptions);
  await client.payments.list();
});

it("is refused where it is something else", () => {
  const auth = { accessToken: () => "token" };
  const telemetry = { kind: "opentelemetry" } as const;
  expect(() => new CrossBorderClient({ baseUrl: "https://service.test", auth, telemetry })).toThrow(ConfigError);
  expect(() => openTelemetry({} as typeof api)).toThrow("its context is undefined");
});
