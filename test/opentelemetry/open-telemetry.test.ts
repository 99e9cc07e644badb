import * as api from "@opentelemetry/api";
import { ConfigError, CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import pino from "pino";
import { expect, it } from "vitest";
import { Bank, request } from "../flows/flow-fixture.js";
import { paths, setUpOpenTelemetry, spanNamed, startFollowed } from "./followed-client.js";

setUpOpenTelemetry();

it("logs within the span of the call, so that a logger finds its trace", async () => {
  const lines: unknown[] = [];
  const mixin = () => ({ spanId: api.trace.getActiveSpan()?.spanContext().spanId });
  const logger = pino({ level: "debug", mixin }, { write: (line: string) => lines.push(JSON.parse(line)) });
  await using fixed = await startFollowed({}, { logger });
  lines.length = 0;
  await fixed.client.payments.list();
  const { spanId } = spanNamed(fixed.spans(), "payments.list").spanContext();
  expect(lines).toMatchObject([{ spanId: expect.any(String) }, { "cross_border.operation": "payments.list", spanId }]);
});

it("makes spans of a call, its token request and its attempts, below the caller's own", async () => {
  await using fixed = await startFollowed();
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
  expect(spanNamed(spans(), "token request").kind).toBe(api.SpanKind.CLIENT);
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
  ["paid", { senderGatewayTransactionId: "TX-77" }],
  ["declined", null],
])("makes one trace of a payment that is %s, with what the bank does in it", async (outcome, funds) => {
  await using fixed = await startFollowed();
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

it("notes why a call failed, by code and effect without a message", async () => {
  await using fixed = await startFollowed();
  await fixed.client.liquidityProviders.get("none").catch(() => {});
  await fixed.client.pay(request, () => Promise.reject(new Error("the bank is away"))).catch(() => {});
  const [get, pay] = ["liquidityProviders.get", "pay"].map((name) => spanNamed(fixed.spans(), name));
  expect(get?.attributes).toMatchObject({ "error.type": "http_400", "cross_border.effect": "none" });
  expect([get?.status, get?.events]).toEqual([{ code: 2 }, []]);
  expect(pay?.attributes).toEqual({ "cross_border.operation": "pay", "error.type": "_OTHER" });
});

it.each([
  ["paid", undefined, ["funds-requested", "claimed", "paid"]],
  ["rejected", { status: 400 }, ["funds-requested", "claimed", "refused", "rejected"]],
])("counts the steps of a flow that is %s, and no unknown outcome", async (status, refusal, steps) => {
  await using fixed = await startFollowed({
    onRequest: ({ operation }) =>
      operation === "payments.create" && refusal
        ? Response.json({ error: "limit", message: "no" }, refusal)
        : undefined,
  });
  const flow = flowOf(fixed.client);
  expect(await flow.run("order-1", request)).toMatchObject({ status });
  await flow.close();
  const metrics = await fixed.metrics();
  const counted = metrics["cross_border.flow.steps"]?.map(({ attributes, value }) => [
    attributes["cross_border.flow.to"],
    value,
  ]);
  expect(counted).toEqual(steps.map((step) => [step, 1]));
  expect(metrics["cross_border.unknown_outcomes"]).toBeUndefined();
});

it("measures requests, calls, retries, tokens and unknown outcomes", async () => {
  await using fixed = await startFollowed({
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
  await using fixed = await startFollowed();
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

it("refuses something else than the package, and a telemetry that it didn't make", () => {
  const auth = { accessToken: () => "token" };
  const telemetry = { kind: "opentelemetry" } as const;
  expect(() => new CrossBorderClient({ baseUrl: "https://service.test", auth, telemetry })).toThrow(ConfigError);
  expect(() => openTelemetry({} as typeof api)).toThrow(ConfigError);
});

interface Replaced {
  readonly span?: object;
  readonly startSpan?: api.Tracer["startSpan"];
  readonly inject?: () => void;
  readonly injected?: object;
}

function flowOf(client: CrossBorderClient): PaymentFlow {
  const { takeFunds, releaseFunds } = new Bank();
  return new PaymentFlow({ client, journal: new MemoryJournal(), takeFunds, releaseFunds, readBackDelayMs: 1 });
}

/** A client over other spans, another tracer, or another propagator. */
function clientOver({ tracer, options }: Awaited<ReturnType<typeof startFollowed>>, replaced: Replaced) {
  const startSpan = replaced.startSpan ?? ((...given) => Object.assign(tracer.startSpan(...given), replaced.span));
  const inject = replaced.inject ?? ((_context: unknown, carrier: object) => Object.assign(carrier, replaced.injected));
  const telemetry = openTelemetry({ ...api, propagation: { inject } }, { tracer: { startSpan } as api.Tracer });
  return new CrossBorderClient({ ...options, telemetry });
}

const fail = () => {
  throw new Error("the mistake of a processor");
};
const spanMethods = { setAttributes: fail, setStatus: fail, end: fail };

it.each([
  ["spans that throw", { span: spanMethods }],
  ["a tracer that throws", { startSpan: fail }],
  ["a propagator that throws", { inject: fail }],
  [
    "a propagator that injects what HTTP doesn't allow",
    { injected: { traceparent: "00-1\r\nx-evil: 1", "a b": "1", "": "2" } },
  ],
  [
    "a propagator that injects the client's own header",
    { injected: { Authorization: "Bearer evil", authorization: "evil" } },
  ],
] as readonly (readonly [string, Replaced])[])("pays once, and returns the result, despite %s", async (_, broken) => {
  await using fixed = await startFollowed();
  await using client = clientOver(fixed, broken);
  expect(await flowOf(client).run("key", request)).toMatchObject({
    status: "paid",
    payment: { id: fixed.server.sandbox.payments[0]?.id },
  });
  expect(await client.liquidityProviders.get("none").catch((error) => error)).toMatchObject({
    code: "http_400",
    effect: "none",
  });
  expect(fixed.server.sandbox.payments).toHaveLength(1);
  const names = fixed.seen.flatMap(({ headers }) => [...headers.keys()]);
  expect(names.filter((name) => /evil|trace/.test(name))).toEqual([]);
});
