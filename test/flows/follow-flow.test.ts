import type { FlowEvent, PaymentFlow } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { createReporter } from "../../src/events/reporter.js";
import { followFlow } from "../../src/flows/follow-flow.js";
import { RecordedTracing } from "../tracing/recorded-tracing.js";
import { brief, closed, flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

it("makes each call for a key a part of the work, with its outcome", async () => {
  const { flow } = await flowFixture();
  const tracing = new RecordedTracing();
  const one = flow({}, { telemetry: tracing.telemetry });
  const { intent } = await one.quote("k", request);
  await one.confirm("k", { intentId: intent.id });
  await one.run("k", request);
  await one.quote("c", request);
  await one.cancel("c");
  const part = (operation: string, to: string, key = "k") => ({
    name: "flow",
    kind: "internal",
    attributes: { "cross_border.operation": operation, "cross_border.flow.key": key, "cross_border.flow.to": to },
  });
  expect(tracing.parts.filter(({ name }) => name === "flow")).toEqual([
    part("flow.quote", "quoted"),
    part("flow.confirm", "paid"),
    part("flow.run", "paid"),
    part("flow.quote", "quoted", "c"),
    part("flow.cancel", "declined", "c"),
  ]);
});

it("says of no outcome where there is none", async () => {
  const tracing = new RecordedTracing();
  const work = followFlow(createReporter([], {}, tracing), "recover", "k", async () => undefined);
  expect(await work).toBeUndefined();
  expect(tracing.parts).toMatchObject([
    { attributes: { "cross_border.operation": "flow.recover", "cross_border.flow.key": "k" } },
  ]);
  expect(tracing.parts[0]?.attributes).not.toHaveProperty(["cross_border.flow.to"]);
});

it("makes what an operator decides a part of the work", async () => {
  const { flow } = await flowFixture(
    {
      onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
    },
    brief,
  );
  expect(await flow().run("k", request)).toMatchObject({ status: "held" });
  const tracing = new RecordedTracing();
  const decision = { by: "Olga Operator", why: "the back office looked", withoutProof: true };
  await flow({}, { telemetry: tracing.telemetry }).resolve("k", "release", decision);
  expect(tracing.parts.filter(({ name }) => name === "flow")).toMatchObject([
    { attributes: { "cross_border.operation": "flow.resolve", "cross_border.flow.to": "rejected" } },
  ]);
});

it.each([
  ["recover", (flow: PaymentFlow) => all(flow.recover())],
  ["work", (flow: PaymentFlow, signal: AbortSignal) => flow.work({ signal })],
])("says of a flow that was taken over that %s did it", async (operation, takeOver) => {
  const { flow } = await flowFixture();
  await errorOf(flow({ takeFunds: closed }).run("k", request));
  const tracing = new RecordedTracing();
  const stop = new AbortController();
  const on = { flow: ({ to }: FlowEvent) => void (to === "paid" && stop.abort()) };
  await takeOver(flow({ on, leaseMs: 60_000 }, { telemetry: tracing.telemetry }), stop.signal);
  expect(tracing.parts.filter(({ name }) => name === "flow")).toMatchObject([
    { attributes: { "cross_border.operation": `flow.${operation}`, "cross_border.flow.to": "paid" } },
  ]);
});
