import * as api from "@opentelemetry/api";
import { CrossBorderClient, type CrossBorderError } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { openTelemetry } from "cross-border-payments/opentelemetry";
import type { SandboxRequest } from "cross-border-payments/sandbox";
import { expect, it } from "vitest";
import { request } from "../flows/flow-fixture.js";
import { setUpOpenTelemetry, startFollowed } from "./followed-client.js";

setUpOpenTelemetry();

const fail = () => {
  throw new Error("a mistake of what watches");
};
const reject = async () => fail();
type Work = (...given: unknown[]) => unknown;

/** Each stands for a part of the API that a broken SDK has in its place. */
const contexts: Record<string, object> = {
  "an active that throws": { active: fail },
  "an active that gives nothing": { active: () => undefined },
  "a with that throws": { with: fail },
  "a with that throws afterwards": {
    with(_: unknown, work: Work) {
      void work();
      return fail();
    },
  },
  "a with that rejects": { with: reject },
  "a with that rejects afterwards": {
    async with(_: unknown, work: Work) {
      await work();
      return fail();
    },
  },
  "a with that never calls back": { with: () => undefined },
  "a with that calls back later": { with: (_: unknown, work: Work) => void setImmediate(work) },
  "a with that calls back twice": {
    with(_: unknown, work: Work) {
      void work();
      return work();
    },
  },
  "a with that calls back again later": {
    with(_: unknown, work: Work) {
      setImmediate(work);
      return work();
    },
  },
  "a with that returns something else": {
    with(_: unknown, work: Work) {
      void work();
      return Promise.resolve({ data: "something else" });
    },
  },
};
const traces: Record<string, object> = {
  "a setSpan that throws": { setSpan: fail },
  "a setSpan that gives nothing": { setSpan: () => undefined },
};
const propagations: Record<string, object> = {
  "an inject that throws": { inject: fail },
  "an inject that rejects": { inject: reject },
};
const spans: Record<string, object | typeof fail> = {
  "spans that reject": { setAttributes: reject, setStatus: reject, end: reject },
  "spans that throw": { setAttributes: fail, setStatus: fail, end: fail },
  "spans that can't be asked": { isRecording: fail, spanContext: fail },
  "a tracer that makes none": fail,
};

const { context, trace, propagation } = api;
const apiWith = (part: "context" | "trace" | "propagation", methods: object): typeof api => ({
  ...api,
  [part]: { ...bound({ context, trace, propagation }[part]), ...methods },
});

/** The singletons of the API look at `this`. */
function bound(part: object): object {
  const names = Object.getOwnPropertyNames(Object.getPrototypeOf(part)).filter((name) => name !== "constructor");
  return Object.fromEntries(
    names.flatMap((name) => {
      const method: unknown = Reflect.get(part, name);
      return typeof method === "function" ? [[name, method.bind(part)]] : [];
    }),
  );
}

const worlds: [string, typeof api, object?][] = [
  ...Object.entries(contexts).map(([name, methods]): [string, typeof api] => [name, apiWith("context", methods)]),
  ...Object.entries(traces).map(([name, methods]): [string, typeof api] => [name, apiWith("trace", methods)]),
  ...Object.entries(propagations).map(([name, methods]): [string, typeof api] => [
    name,
    apiWith("propagation", methods),
  ]),
  ...Object.entries(spans).map(([name, methods]): [string, typeof api, object] => [name, api, methods]),
];

it.each(worlds)("does every call once, and with its own result, beside %s", async (_, broken, ofSpans = {}) => {
  await using fixed = await startFollowed();
  const tracer: api.Tracer = {
    startSpan: (...given) =>
      Object.assign(fixed.tracer.startSpan(...given), typeof ofSpans === "function" ? ofSpans() : ofSpans),
    startActiveSpan: fail,
  };
  await using client = new CrossBorderClient({ ...fixed.options, telemetry: openTelemetry(broken, { tracer }) });
  expect(await client.payments.list().toArray({ max: 1 })).toEqual([]);
  const failure = (await client.liquidityProviders.get("nobody").catch((error: unknown) => error)) as CrossBorderError;
  expect(failure).toMatchObject({ code: "http_400", effect: "none" });
  let taken = 0;
  const takeFunds = async () => {
    taken += 1;
    return { senderGatewayTransactionId: `T-${taken}` };
  };
  const paid = await client.pay(request, takeFunds);
  const flow = new PaymentFlow({
    client,
    journal: new MemoryJournal(),
    takeFunds: async () => ({ ...(await takeFunds()), replayed: false }),
    releaseFunds: async () => {},
  });
  const outcome = await flow.run("key", request);
  expect(outcome).toMatchObject({ status: "paid" });
  await new Promise((resolve) => setImmediate(resolve));
  const ids = [paid, outcome].map((made) => Reflect.get(Reflect.get(made, "payment"), "id"));
  expect(fixed.server.sandbox.payments.map(({ id }) => id)).toEqual(ids);
  expect(taken).toBe(2);
  expect(fixed.server.sandbox.tokenRequests.length).toBeLessThanOrEqual(2);
});

it.each<[string, Record<string, unknown>]>([
  ["a value with a line break", { traceparent: "00-1\r\nx-evil: 1" }],
  ["a value that is not ASCII", { traceparent: "00-€" }],
  ["a name that is none", { "trace parent": "1", "": "2", "x:y": "3" }],
  ["the client's own header", { Authorization: "Bearer evil", authorization: "Bearer evil", AUTHORIZATION: "evil" }],
])("sends nothing of a propagator that injects %s, and all else as ever", async (_, injected) => {
  const seen: SandboxRequest[] = [];
  const onRequest = (sent: SandboxRequest) => void seen.push(sent);
  await using fixed = await startFollowed({ sandbox: { onRequest } });
  const inject = (_context: unknown, carrier: object) => {
    Object.defineProperties(carrier, Object.getOwnPropertyDescriptors(injected));
  };
  const broken = apiWith("propagation", { inject });
  const telemetry = openTelemetry(broken, { tracer: fixed.tracer });
  await using client = new CrossBorderClient({ ...fixed.options, telemetry });
  await using plain = new CrossBorderClient(fixed.options);
  const takeFunds = async () => ({ senderGatewayTransactionId: crypto.randomUUID() });
  const headersOf = async (user: CrossBorderClient) => {
    seen.length = 0;
    await user.pay(request, takeFunds);
    return seen.flatMap(({ operation, headers }) => (operation === "token" ? [] : [[...headers.keys()].sort()]));
  };
  expect(await headersOf(client)).toEqual(await headersOf(plain));
  expect(fixed.server.sandbox.payments).toHaveLength(2);
});

it("sends what names a trace, whoever's it is", async () => {
  const seen: SandboxRequest[] = [];
  await using fixed = await startFollowed({ sandbox: { onRequest: (sent) => void seen.push(sent) } });
  const names = { traceparent: "00-a", tracestate: "a=1", Baggage: "b=2", "X-B3-TraceId": "c", "uber-trace-id": "d:e" };
  const broken = apiWith("propagation", { inject: (_: unknown, carrier: object) => Object.assign(carrier, names) });
  const telemetry = openTelemetry(broken, { tracer: fixed.tracer });
  await using client = new CrossBorderClient({ ...fixed.options, telemetry });
  await client.payments.list();
  for (const [name, value] of Object.entries(names)) expect(seen.at(-1)?.headers.get(name)).toBe(value);
});
