import * as api from "@opentelemetry/api";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import { afterAll, beforeAll, expect, it } from "vitest";
import { payment, intent as request } from "../faults/calls.js";
import { signingKeysOf } from "../support/key-pairs.js";

const wrong: never = { wrong: 1 } as never;

const refuse = async () => Response.json({ error: "not_today", message: "m" }, { status: 400 });
const breakOff = () => Promise.reject(new TypeError("fetch failed"));
const clientOf = (fetch: () => Promise<Response>, options: Partial<ClientOptions> = {}) =>
  new CrossBorderClient({
    baseUrl: "https://service.test",
    auth: { accessToken: () => "t" },
    signingKey: signingKeysOf("gateway").privateKey,
    maxRetries: 0,
    fetch,
    ...options,
  });
const records = Array.from({ length: 10 }, (_, at) => ({ id: `p-${at}`, pagingToken: `${100 + at}` }));
/** Responds to the first request of a test only. */
const refuseLater = () => {
  let requests = 0;
  return clientOf(() => (requests++ === 0 ? Promise.resolve(Response.json(records)) : refuse()));
};
const client = clientOf(refuse);
const cut = clientOf(breakOff);
const followed = clientOf(refuse, { telemetry: openTelemetry(api) });
const takeFunds = () => ({ senderGatewayTransactionId: "tx-1", replayed: false }) as const;
const parts = { journal: new MemoryJournal(), takeFunds, releaseFunds: () => {} };
const flow = new PaymentFlow({ client, ...parts });
const cutFlow = new PaymentFlow({ client: cut, ...parts });
const why = { by: "ops", why: "r" };

const all = async (items: AsyncIterable<unknown>) => {
  for await (const _ of items);
};

/** Each is called as a user calls it: the caller's line has to be there, wherever the error was made. */
const calls: Readonly<Record<string, () => Promise<unknown>>> = {
  get: async () => await client.paymentIntents.get("1"),
  "get, with the response": async () => await client.paymentIntents.get("1").withResponse(),
  "get, followed by OpenTelemetry": async () => await followed.paymentIntents.get("1"),
  "get with a wrong option": async () => await client.paymentIntents.get("1", wrong),
  create: async () => await client.payments.create(payment),
  "create of a wrong body": async () => await client.payments.create(wrong),
  request: async () => await client.request({ method: "GET", path: "/refunds" }),
  pay: async () => await client.pay(request, takeFunds),
  "flow.run, cut off": async () => await cutFlow.run("k1", request),
  "flow.run of a wrong request": async () => await flow.run("k2", wrong),
  "flow.confirm of no flow": async () => await flow.confirm("k4", { intentId: "1" }),
  "flow.resolve of no flow": async () => await flow.resolve("k5", "release", { ...why, withoutProof: true }),
  "flow.list of a wrong query": async () => await all(flow.list(wrong)),
  "for await, on the second page": () => all(refuseLater().payments.list({ size: 10 })),
  "toArray, on the second page": async () => await refuseLater().payments.list({ size: 10 }).toArray({ max: 99 }),
  "awaited list": async () => await client.payments.list(),
  "for await": () => all(client.payments.list()),
  pages: () => all(client.payments.list().pages()),
  toArray: async () => await client.payments.list().toArray({ max: 10 }),
};

const { stackTraceLimit } = Error;
beforeAll(() => {
  Error.stackTraceLimit = 10;
});
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit;
});

it.each(Object.keys(calls))(
  "the stack trace of an error shows the caller in its first five frames: %s",
  async (name) => {
    const error = await calls[name]?.().then(
      () => undefined,
      (thrown: Error) => thrown,
    );
    const frames = error?.stack?.split("\n    at ").slice(1) ?? [];
    const caller = frames.findIndex((frame) => frame.includes("stack-traces.test.ts")) + 1;
    expect(caller, error?.stack).toBeGreaterThan(0);
    expect(caller, error?.stack).toBeLessThanOrEqual(5);
  },
);
