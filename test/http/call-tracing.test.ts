import { expect, it } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import { createReporter, type Followed } from "../../src/events/reporter.js";
import { RecordedTracing } from "../events/recorded-tracing.js";
import {
  broken,
  calls,
  json,
  ownError,
  paymentRecord,
  type Step,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

const well = json(paymentRecord());

/** A client whose calls are followed, and their parts. */
function followedClient(steps: readonly Step[], change: Partial<Followed> = {}) {
  const tracing = new RecordedTracing();
  const reporter = createReporter(
    [],
    {},
    {
      follow: (part, work) => tracing.follow(part, (followed) => work({ ...followed, ...change })),
    },
  );
  return { ...scriptedClient(steps, { reporter }), parts: tracing.parts };
}

it("has a part for the call, for its signature and for each attempt, with templates and no ids", async () => {
  const { client, parts } = followedClient([unsent, well]);
  expect(await calls.signed(client)).toMatchObject({ id: "payment-1" });
  const request = { "http.request.method": "POST", "url.template": "/payments" };
  const attempt = { ...request, "server.address": "service.test", "server.port": 443 };
  const again = { "http.response.status_code": 200, "http.request.resend_count": 1 };
  expect(parts).toEqual([
    { name: "payments.create", kind: "internal", attributes: request },
    { name: "signature", kind: "internal", attributes: {} },
    { name: "POST /payments", kind: "client", attributes: { ...attempt, "error.type": "ECONNREFUSED" } },
    { name: "POST /payments", kind: "client", attributes: { ...attempt, ...again } },
  ]);
});

it.each<[string, Step, string | undefined]>([
  ["a success", { status: 399 }, undefined],
  ["a refusal", ownError(400), "400"],
  ["a failure", ownError(503), "503"],
  ["a reset", broken, "ECONNRESET"],
  ["a deadline", new Ended("timeout", true), "DEADLINE"],
])("says if an attempt ended with an error: %s", async (_, step, type) => {
  const { client, parts } = followedClient([step]);
  await Promise.allSettled([calls.create(client)]);
  expect(parts.at(-1)?.attributes["error.type"]).toBe(type);
});

it("sends the headers that tell the service what the request is a part of", async () => {
  const { client, transport } = followedClient([well], { headers: { traceparent: "t" } });
  await calls.read(client);
  await calls.read(client, { headers: { traceparent: "of the caller" } });
  expect(transport.sent.map(({ headers }) => headers.traceparent)).toEqual(["t", "of the caller"]);
});

it("has no parts within a call that isn't recorded", async () => {
  const { client, transport, parts } = followedClient([well], { isSeen: false });
  expect(await calls.signed(client)).toMatchObject({ id: "payment-1" });
  expect(transport.sent).toHaveLength(1);
  expect(parts.map(({ name }) => name)).toEqual(["payments.create"]);
});
