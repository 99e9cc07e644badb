import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { Bank, request } from "../flows/flow-fixture.js";
import { setUpOpenTelemetry, startFollowed } from "./followed-client.js";

setUpOpenTelemetry();

/** A flow that is followed, between a bank that can be away and a service whose response to a payment can be lost. */
async function fixture() {
  let isServiceLost = false;
  const { client, tracer, exporter, ...followed } = await startFollowed({
    sandbox: {
      onRequest: ({ operation }) => (operation === "payments.create" && isServiceLost ? Response.error() : undefined),
    },
  });
  const bank = new Bank();
  const journal = new MemoryJournal();
  let isBankAway = false;
  /** The banks of a test make spans of their own. */
  const inSpan = <T>(name: string, work: () => T): T =>
    tracer.startActiveSpan(name, (span) => {
      try {
        return work();
      } finally {
        span.end();
      }
    });
  const flow = new PaymentFlow({
    client,
    journal,
    takeFunds: (given) =>
      inSpan("bank takes", () => {
        if (isBankAway) throw new Error("the bank is away");
        return bank.takeFunds(given);
      }),
    releaseFunds: (given) => inSpan("bank gives back", () => bank.releaseFunds(given)),
    readBackDelayMs: 1,
    readBacks: 2,
    // Nothing is released before the request can no longer be sent.
    leaseMs: 2_000,
  });
  const breakBank = (isAway: boolean) => {
    isBankAway = isAway;
  };
  const breakService = (isLost: boolean) => {
    isServiceLost = isLost;
  };
  return {
    flow,
    tracer,
    exporter,
    breakBank,
    breakService,
    async [Symbol.asyncDispose]() {
      await flow.close();
      await followed[Symbol.asyncDispose]();
    },
  };
}
type Fixture = Awaited<ReturnType<typeof fixture>>;

/** The intent of a quote. */
async function quoted({ flow }: Fixture, key: string): Promise<{ readonly intentId: string }> {
  const { intent } = await flow.quote(key, request);
  return { intentId: intent.id };
}

/** A flow whose owner has left it. */
async function left({ flow, breakBank }: Fixture, key: string): Promise<void> {
  breakBank(true);
  await expect(flow.run(key, request)).rejects.toMatchObject({ code: "flow_paused" });
  breakBank(false);
}

async function held({ flow, breakService }: Fixture, key: string): Promise<void> {
  breakService(true);
  expect(await flow.run(key, request)).toMatchObject({ status: "held" });
  breakService(false);
}

interface Case {
  readonly operation: string;
  /** Spans that have to be there, among others. */
  readonly spans: readonly string[];
  readonly to: string;
  /** What comes before, and what is to be followed then. */
  prepare(fixed: Fixture): Promise<() => Promise<unknown>>;
}

const cases: readonly Case[] = [
  {
    operation: "flow.run",
    spans: ["token request", "paymentIntents.create", "signature", "bank takes", "payments.create"],
    to: "paid",
    prepare:
      async ({ flow }) =>
      () =>
        flow.run("k", request),
  },
  {
    operation: "flow.quote",
    spans: ["token request", "paymentIntents.create", "signature"],
    to: "quoted",
    prepare:
      async ({ flow }) =>
      () =>
        flow.quote("k", request),
  },
  {
    operation: "flow.confirm",
    spans: ["bank takes", "signature", "payments.create"],
    to: "paid",
    async prepare(fixed) {
      const intent = await quoted(fixed, "k");
      return () => fixed.flow.confirm("k", intent);
    },
  },
  {
    operation: "flow.cancel",
    spans: [],
    to: "declined",
    async prepare(fixed) {
      await quoted(fixed, "k");
      return () => fixed.flow.cancel("k");
    },
  },
  {
    operation: "flow.recover",
    spans: ["bank takes", "signature", "payments.create"],
    to: "paid",
    async prepare(fixed) {
      await left(fixed, "k");
      return async () => {
        for await (const { status } of fixed.flow.recover()) expect(status).toBe("paid");
      };
    },
  },
  {
    operation: "flow.work",
    spans: ["bank takes", "signature", "payments.create"],
    to: "paid",
    async prepare(fixed) {
      await left(fixed, "k");
      return async () => {
        const end = new AbortController();
        const working = fixed.flow.work({ everyMs: 20, signal: end.signal });
        await expect.poll(() => fixed.flow.status("k")).toMatchObject({ phase: "paid" });
        // The flow is paid before its lease is given back.
        await expect.poll(() => spansNamed(fixed, "flow").length).toBe(1);
        end.abort();
        await working;
      };
    },
  },
  {
    operation: "flow.resolve",
    spans: ["payments.list", "bank gives back"],
    to: "rejected",
    async prepare(fixed) {
      await held(fixed, "k");
      return () => fixed.flow.resolve("k", "release", { by: "Olga", why: "the service says that it was not made" });
    },
  },
];

function spansNamed({ exporter }: Fixture, wanted: string): readonly ReadableSpan[] {
  return exporter.getFinishedSpans().filter(({ name }) => name === wanted);
}

describe.each(cases)("what $operation does for one key until it is $to", ({ operation, spans, to, prepare }) => {
  it("is one trace below its flow, without a span around it", async () => {
    await using fixed = await fixture();
    const work = await prepare(fixed);
    fixed.exporter.reset();
    await work();
    const [flow, ...others] = spansNamed(fixed, "flow");
    expect(others).toEqual([]);
    expect(flow?.parentSpanContext).toBeUndefined();
    expectOneTrace(fixed, spans);
    expect(flow?.attributes).toEqual({
      "cross_border.operation": operation,
      "cross_border.flow.key": "k",
      "cross_border.flow.to": to,
    });
  });

  it("is a part of the span around it", async () => {
    await using fixed = await fixture();
    const work = await prepare(fixed);
    fixed.exporter.reset();
    await fixed.tracer.startActiveSpan("mine", async (span) => {
      await work();
      span.end();
    });
    const [flow] = spansNamed(fixed, "flow");
    expect(flow?.parentSpanContext?.spanId).toBe(spansNamed(fixed, "mine")[0]?.spanContext().spanId);
    expectOneTrace(fixed, spans);
  });
});

/** One root, and below it everything. */
function expectOneTrace({ exporter }: Fixture, names: readonly string[]): void {
  const spans = exporter.getFinishedSpans();
  expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining([...names]));
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  expect(spans.filter(({ parentSpanContext }) => parentSpanContext === undefined)).toHaveLength(1);
}

it("gives each flow that recover takes over a trace of its own", async () => {
  await using fixed = await fixture();
  for (const key of ["a", "b", "c"]) await left(fixed, key);
  fixed.exporter.reset();
  const outcomes: string[] = [];
  for await (const { key, status } of fixed.flow.recover({ concurrency: 2 })) outcomes.push(`${key} ${status}`);
  expect(outcomes.sort()).toEqual(["a paid", "b paid", "c paid"]);
  const flows = spansNamed(fixed, "flow");
  expect(flows.map(({ attributes }) => attributes["cross_border.flow.key"]).sort()).toEqual(["a", "b", "c"]);
  expect(new Set(flows.map((span) => span.spanContext().traceId)).size).toBe(3);
  for (const name of ["bank takes", "payments.create"]) {
    const traces = spansNamed(fixed, name).map((span) => span.spanContext().traceId);
    expect(new Set(traces).size).toBe(3);
  }
});

it("says what became of a call for a key that was refused", async () => {
  await using fixed = await fixture();
  await expect(fixed.flow.cancel("nothing")).rejects.toMatchObject({ code: "flow_unknown" });
  const [flow] = spansNamed(fixed, "flow");
  expect(flow?.attributes).toMatchObject({ "error.type": "flow_unknown", "cross_border.effect": "none" });
  expect(flow?.status.code).toBe(2);
});
