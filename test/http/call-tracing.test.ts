import { describe, expect, it } from "vitest";
import { Ended } from "../../src/core/deadline.js";
import { createReporter, type Tracing } from "../../src/events/reporter.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { WireFailure } from "../../src/wire/transport.js";
import { RecordedTracing } from "../events/recorded-tracing.js";
import { calls, json, ownError, paymentRecord, type Step, scriptedClient, unsent } from "./scripted-transport.js";

const well = json(paymentRecord());

/** A client whose work is followed, and the parts of it. */
function followedClient(
  steps: readonly Step[],
  overrides: Partial<HttpClientOptions> = {},
  wrap: (tracing: RecordedTracing) => Tracing = (tracing) => tracing,
) {
  const tracing = new RecordedTracing();
  const reporter = createReporter([], {}, wrap(tracing));
  return { ...scriptedClient(steps, { reporter, ...overrides }), parts: tracing.parts };
}

/** What became known of each attempt. */
async function attemptsOf(
  kind: keyof typeof calls,
  steps: readonly Step[],
  overrides: Partial<HttpClientOptions> = {},
) {
  const { client, parts } = followedClient(steps, overrides);
  await Promise.allSettled([calls[kind](client)]);
  return parts.filter((part) => part.kind === "client").map(({ attributes }) => attributes);
}

describe("a call that is followed", () => {
  it("has a part for itself, for its signature and for each attempt, with templates and no ids", async () => {
    const { client, parts } = followedClient([unsent, well]);
    expect(await calls.signed(client)).toMatchObject({ id: "payment-1" });
    const request = { "http.request.method": "POST", "url.template": "/payments" };
    const attempt = { ...request, "server.address": "service.test", "server.port": 443 };
    expect(parts).toEqual([
      { name: "payments.create", kind: "internal", attributes: request },
      { name: "signature", kind: "internal", attributes: {} },
      { name: "POST /payments", kind: "client", attributes: { ...attempt, "error.type": "ECONNREFUSED" } },
      {
        name: "POST /payments",
        kind: "client",
        attributes: { ...attempt, "http.response.status_code": 200, "http.request.resend_count": 1 },
      },
    ]);
  });

  it.each([
    [200, undefined],
    [399, undefined],
    [400, "400"],
    [503, "503"],
  ])("says whether a response with %i is an error", async (status, type) => {
    const [attempt] = await attemptsOf("create", [{ ...ownError(status) }]);
    expect(attempt).toMatchObject({ "http.response.status_code": status });
    expect(attempt?.["error.type"]).toBe(type);
  });

  it.each<[string, Step, string]>([
    ["a code", new WireFailure({ sent: true, reason: "ECONNRESET" }), "ECONNRESET"],
    ["the end of the call", new Ended("timeout", true), "DEADLINE"],
  ])("says why no response came: %s", async (_, step, type) => {
    expect(await attemptsOf("signed", [step])).toMatchObject([{ "error.type": type }]);
  });

  it("sends the headers that tell the service what the request is a part of", async () => {
    const { client, transport } = followedClient([well], {}, (tracing) => ({
      follow: (part, work) => tracing.follow(part, (followed) => work({ ...followed, headers: { traceparent: "t" } })),
    }));
    await calls.read(client);
    await calls.read(client, { headers: { traceparent: "of the caller" } });
    expect(transport.sent.map(({ headers }) => headers.traceparent)).toEqual(["t", "of the caller"]);
  });

  it("has no parts where nobody will see it", async () => {
    const { client, transport, parts } = followedClient([well], {}, (tracing) => ({
      follow: (part, work) => tracing.follow(part, (followed) => work({ ...followed, isSeen: false })),
    }));
    expect(await calls.signed(client)).toMatchObject({ id: "payment-1" });
    expect(transport.sent).toHaveLength(1);
    expect(parts.map(({ name }) => name)).toEqual(["payments.create"]);
  });
});
