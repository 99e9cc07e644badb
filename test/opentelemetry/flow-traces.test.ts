import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { Bank, request } from "../flows/flow-fixture.js";
import { paths, setUpOpenTelemetry, startFollowed } from "./followed-client.js";

setUpOpenTelemetry();

/** A followed flow, whose bank can be away and whose service can lose payments. */
async function fixture() {
  const world = { isBankAway: false, isServiceLost: false };
  const followed = await startFollowed({
    onRequest: ({ operation }) =>
      operation === "payments.create" && world.isServiceLost ? Response.error() : undefined,
  });
  const { client, tracer } = followed;
  const bank = new Bank();
  /** The bank makes spans of its own. */
  const inSpan = <T>(name: string, work: () => T): T =>
    tracer.startActiveSpan(name, (span) => {
      span.end();
      return work();
    });
  const flow = new PaymentFlow({
    ...{ client, journal: new MemoryJournal(), readBackDelayMs: 1, readBacks: 2, leaseMs: 2_000 },
    takeFunds: (given) =>
      inSpan("bank takes", () => {
        if (world.isBankAway) throw new Error("the bank is away");
        return bank.takeFunds(given);
      }),
    releaseFunds: (given) => inSpan("bank gives back", () => bank.releaseFunds(given)),
  });
  return {
    ...{ ...followed, world, flow },
    async [Symbol.asyncDispose]() {
      await flow.close();
      await followed[Symbol.asyncDispose]();
    },
  };
}
type Fixture = Awaited<ReturnType<typeof fixture>>;

/** A flow whose owner has left it. */
async function left({ flow, world }: Fixture, key: string): Promise<void> {
  world.isBankAway = true;
  await expect(flow.run(key, request)).rejects.toMatchObject({ code: "flow_paused" });
  world.isBankAway = false;
}

const pays = ["bank takes", "signature", "payments.create"];
const quotes = ["token request", "paymentIntents.create", "signature"];

/** `begin` is what comes before, and isn't part of the trace. */
interface Case {
  readonly operation: string;
  /** Spans of the trace, among others. */
  readonly spans: readonly string[];
  readonly to: string;
  readonly begin?: (fixed: Fixture) => Promise<unknown>;
  readonly work: (fixed: Fixture) => Promise<unknown>;
}

const cases: readonly Case[] = [
  { operation: "run", spans: [...quotes, ...pays], to: "paid", work: ({ flow }) => flow.run("k", request) },
  { operation: "quote", spans: quotes, to: "quoted", work: ({ flow }) => flow.quote("k", request) },
  {
    ...{ operation: "confirm", spans: pays, to: "paid" },
    begin: ({ flow }) => flow.quote("k", request),
    work: async ({ flow }) => flow.confirm("k", { intentId: (await flow.status("k"))?.intent?.id ?? "" }),
  },
  {
    ...{ operation: "recover", spans: pays, to: "paid" },
    begin: (fixed) => left(fixed, "k"),
    async work({ flow }) {
      for await (const { status } of flow.recover()) expect(status).toBe("paid");
    },
  },
  {
    ...{ operation: "work", spans: pays, to: "paid" },
    begin: (fixed) => left(fixed, "k"),
    async work(fixed) {
      const end = new AbortController();
      const working = fixed.flow.work({ everyMs: 20, signal: end.signal });
      // The flow is paid before its lease is given back.
      await expect.poll(() => spansNamed(fixed, "flow").length).toBe(1);
      end.abort();
      await working;
    },
  },
  {
    ...{ operation: "resolve", spans: ["payments.list", "bank gives back"], to: "rejected" },
    async begin({ flow, world }) {
      world.isServiceLost = true;
      expect(await flow.run("k", request)).toMatchObject({ status: "held" });
    },
    work: ({ flow }) => flow.resolve("k", "release", { by: "Olga", why: "ticket 4711" }),
  },
];

function spansNamed({ exporter }: Fixture, expected: string): readonly ReadableSpan[] {
  return exporter.getFinishedSpans().filter(({ name }) => name === expected);
}

it.each(cases)("traces all that $operation does for one key until it is $to", async ({ operation, ...one }) => {
  await using fixed = await fixture();
  await one.begin?.(fixed);
  fixed.exporter.reset();
  await one.work(fixed);
  const [flow, ...others] = spansNamed(fixed, "flow");
  expect([others, flow?.parentSpanContext]).toEqual([[], undefined]);
  expect(flow?.attributes).toEqual({
    "cross_border.operation": `flow.${operation}`,
    "cross_border.flow.key": "k",
    "cross_border.flow.to": one.to,
  });
  const spans = fixed.spans();
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining([...one.spans]));
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(paths(spans).every((path) => path.startsWith("flow"))).toBe(true);
});

it("makes a flow a part of the span around it", async () => {
  await using fixed = await fixture();
  await fixed.tracer.startActiveSpan("mine", async (span) => {
    await fixed.flow.run("k", request);
    span.end();
  });
  expect(paths(fixed.spans()).every((path) => path.startsWith("mine"))).toBe(true);
});

it("notes why a call was refused", async () => {
  await using fixed = await fixture();
  await expect(fixed.flow.cancel("nothing")).rejects.toMatchObject({ code: "flow_unknown" });
  const [flow] = spansNamed(fixed, "flow");
  expect(flow?.attributes).toMatchObject({
    "cross_border.operation": "flow.cancel",
    "error.type": "flow_unknown",
    "cross_border.effect": "none",
  });
  expect(flow?.status.code).toBe(2);
});
