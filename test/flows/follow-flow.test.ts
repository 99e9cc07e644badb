import { expect, it } from "vitest";
import { RecordedTracing } from "../tracing/recorded-tracing.js";
import { flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

it("makes each call for a key a part of the work, with its outcome", async () => {
  const { flow } = await flowFixture();
  const tracing = new RecordedTracing();
  const one = flow({}, { telemetry: tracing.telemetry });
  const { intent } = await one.quote("k", request);
  await one.confirm("k", { intentId: intent.id });
  const part = (operation: string, to: string) => ({
    name: "flow",
    kind: "internal",
    attributes: { "cross_border.operation": operation, "cross_border.flow.key": "k", "cross_border.flow.to": to },
  });
  expect(tracing.parts.filter(({ name }) => name === "flow")).toEqual([
    part("flow.quote", "quoted"),
    part("flow.confirm", "paid"),
  ]);
});

it("says of a flow that was taken over that recover did it", async () => {
  const { flow } = await flowFixture();
  const takeFunds = () => {
    throw new Error("the bank is closed");
  };
  await errorOf(flow({ takeFunds }).run("k", request));
  const tracing = new RecordedTracing();
  await all(flow({}, { telemetry: tracing.telemetry }).recover());
  expect(tracing.parts.filter(({ name }) => name === "flow")).toMatchObject([
    { attributes: { "cross_border.operation": "flow.recover", "cross_border.flow.to": "paid" } },
  ]);
});
