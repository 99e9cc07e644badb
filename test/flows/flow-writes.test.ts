import { AbortedError, ConfigError } from "cross-border-payments";
import { type FlowEvent, FlowPausedError, type Journal, JournalError, MemoryJournal } from "cross-border-payments/flow";
import type { SandboxOptions } from "cross-border-payments/sandbox";
import { describe, expect, it, vi } from "vitest";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { stretched } from "../support/patience.js";
import { RecordedTracing } from "../tracing/recorded-tracing.js";
import { boundJournal } from "./bound-journal.js";
import {
  afterPayment,
  brief,
  closed,
  type FlowFixture,
  flowFixture,
  isList,
  isPayment,
  onPayment,
  request,
} from "./flow-fixture.js";
import { errorOf } from "./results.js";

const lost = afterPayment(() => Response.error());

/** Notes the calls of a journal by their names. */
function counted(journal: Journal): { readonly journal: Journal; readonly calls: string[] } {
  const calls: string[] = [];
  const noting = <A extends unknown[], R>(name: string, work: (...args: A) => R) => {
    return (...args: A): R => {
      calls.push(name);
      return work(...args);
    };
  };
  return {
    calls,
    journal: boundJournal(journal, {
      begin: noting("begin", (...args) => journal.begin(...args)),
      read: noting("read", (...args) => journal.read(...args)),
      acquire: noting("acquire", (...args) => journal.acquire(...args)),
      renew: noting("renew", (...args) => journal.renew(...args)),
      write: noting("write", (...args) => journal.write(...args)),
      replaceQuote: noting("replaceQuote", (...args) => journal.replaceQuote(...args)),
      release: noting("release", (...args) => journal.release(...args)),
    }),
  };
}

it("takes no money for an entry that a journal of somebody's own returned under another key", async () => {
  const { flow, journal, sandbox, bank } = await flowFixture({}, brief);
  const begin: Journal["begin"] = async (...args) => {
    const { entry, created } = await journal.begin(...args);
    return { entry: { ...entry, key: "other" }, created };
  };
  const error = await errorOf(flow({ journal: boundJournal(journal, { begin }) }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", effect: "possible", key: "k", cause: { code: "journal_failed" } });
  expect([bank.calls, sandbox.payments.length]).toEqual([0, 0]);
  await eventually(async () => expect(await flow().run("k", request)).toMatchObject({ status: "paid" }));
  expect([...bank.taken.keys()]).toEqual(["k"]);
});

describe("durable writes", () => {
  /** Long enough for a busy machine: a lease that gets old is renewed. */
  const leaseMs = 60_000;

  it("are three for run, after one read", async () => {
    const { flow, journal } = await flowFixture();
    const { calls, journal: counting } = counted(journal);
    await flow({ journal: counting, leaseMs }).run("k", request);
    expect(calls).toEqual(["read", "begin", "write", "write"]);
  });

  it("are four for quote and confirm together, also in two processes", async () => {
    const { flow, journal } = await flowFixture();
    const { calls, journal: counting } = counted(journal);
    const { intent } = await flow({ journal: counting, leaseMs }).quote("k", request);
    await flow({ journal: counting, leaseMs }).confirm("k", { intentId: intent.id });
    expect(calls).toEqual(["read", "begin", "read", "replaceQuote", "write", "write"]);
  });

  it("are one where the intent is refused, and where it has an outcome there is but a read", async () => {
    const { flow, journal } = await flowFixture();
    const { calls, journal: counting } = counted(journal);
    const one = flow({ journal: counting });
    const refused = { ...request, receiverGatewayId: "nobody" };
    for (let round = 0; round < 2; round += 1) {
      expect(await one.run("refused", refused)).toMatchObject({ status: "rejected" });
    }
    expect(calls).toEqual(["read", "begin", "read"]);
    await one.run("k", request);
    calls.length = 0;
    expect(await one.run("k", request)).toMatchObject({ status: "paid" });
    expect(calls).toEqual(["read"]);
  });

  it("are two to renew a quote, the reading included", async () => {
    const { flow } = await flowFixture();
    let aheadMs = 0;
    const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
    const { calls, journal: counting } = counted(journal);
    await flow({ journal: counting }).quote("k", request);
    aheadMs = 900_000;
    calls.length = 0;
    await flow({ journal: counting }).quote("k", request);
    expect(calls).toEqual(["read", "replaceQuote"]);
  });

  it("renew the lease with the claim, and end it with the outcome", async () => {
    const { flow, journal } = await flowFixture();
    const leases: (number | undefined)[] = [];
    const watching = boundJournal(journal, {
      write: async (...args) => {
        leases.push(args[3]);
        return journal.write(...args);
      },
    });
    await flow({ journal: watching, leaseMs }).run("k", request);
    expect(leases).toEqual([leaseMs, undefined]);
    expect((await journal.read("k"))?.leaseUntilMs).toBeUndefined();
  });
});

describe("a look for the mark", () => {
  it("serves all flows of a process for a second", async () => {
    const { flow, sandbox } = await flowFixture();
    const one = flow();
    for (const key of ["a", "b", "c"]) await one.run(key, request);
    expect(sandbox.requests.filter(isList)).toHaveLength(1);
    await flow().run("d", request);
    expect(sandbox.requests.filter(isList)).toHaveLength(2);
  });
});

describe("the caller's headers", () => {
  it.each(["run", "quote and confirm"])("of %s go with every request that is made for the flow", async (method) => {
    const seen: [string | undefined, string | null][] = [];
    const { flow } = await flowFixture({
      ...lost,
      onRequest: ({ operation, headers }) => {
        seen.push([operation, headers.get("x-correlation-id")]);
        return undefined;
      },
    });
    const headers = { "x-correlation-id": "order-42" };
    if (method === "run") await flow().run("k", request, { headers });
    else {
      const { intent } = await flow().quote("k", request, { headers });
      await flow().confirm("k", { intentId: intent.id }, { headers });
    }
    const made = seen.filter(([operation]) => operation !== undefined && !operation.includes("token"));
    expect(made.map(([operation]) => operation)).toEqual([
      "paymentIntents.create",
      "payments.list",
      "payments.create",
      "payments.list",
    ]);
    expect(made.map(([, header]) => header)).toEqual(made.map(() => "order-42"));
  });

  it.each(["x", { authorization: "Bearer mine" }, { "not a name": "x" }])(
    "of %o are refused before any I/O",
    async (wrong) => {
      const { flow, sandbox, journal } = await flowFixture();
      const { calls, journal: counting } = counted(journal);
      const before = sandbox.requests.length;
      const options = { headers: wrong as never };
      const one = flow({ journal: counting });
      for (const work of [
        one.run("k", request, options),
        one.quote("k", request, options),
        one.confirm("k", { intentId: "i" }, options),
      ]) {
        expect(await errorOf(work)).toMatchObject({ code: "invalid_argument", effect: "none" });
      }
      expect([sandbox.requests.length, calls]).toEqual([before, []]);
    },
  );
});

describe("the caller's signal", () => {
  it("ends the waits of confirm, and the flow goes on", async () => {
    let isHidden = true;
    const { flow, sandbox } = await flowFixture({
      ...lost,
      onRequest: (seen) => (isList(seen) && isHidden ? Response.json([]) : undefined),
    });
    const { intent } = await flow().quote("k", request);
    const abort = new AbortController();
    const confirming = errorOf(
      flow({ readBackDelayMs: 60_000 }).confirm("k", { intentId: intent.id }, { signal: abort.signal }),
    );
    await eventually(() => expect(sandbox.requests.filter(isList).length).toBeGreaterThan(1));
    abort.abort();
    const error = await confirming;
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", phase: "unknown" });
    expect(error.cause).toBeInstanceOf(AbortedError);
    isHidden = false;
    expect(await flow().confirm("k", { intentId: intent.id })).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("does not count as a failure of the flow", async () => {
    const { flow, bank } = await flowFixture();
    const takeFunds = vi.fn(async (context: { readonly key: string }) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return bank.takeFunds(context);
    });
    await errorOf(flow({ takeFunds }).run("k", request, { signal: AbortSignal.timeout(20) }));
    expect(await flow().status("k")).not.toHaveProperty("failures");
  });
});

/** Flows whose leases don't end while a busy machine runs the test. */
async function lastingFixture(options?: SandboxOptions): Promise<FlowFixture> {
  const fixture = await flowFixture(options);
  return { ...fixture, flow: (more, client) => fixture.flow({ leaseMs: 30_000, ...more }, client) };
}

describe("failures", () => {
  it("say nothing that is not true of the flow, nor what the bank's own functions threw", async () => {
    for (const [thrown, message] of [
      [
        Response.json({ error: "away", message: "no" }, { status: 503 }),
        "payments.list failed: 503 away for GET https://service.test/payments.",
      ],
      [Response.error(), expect.not.stringMatching(/Nothing was|The payment/)],
    ] as const) {
      let isAway = false;
      const { flow, bank } = await lastingFixture({
        onRequest: ({ operation }) => (isAway && operation === "payments.list" ? thrown.clone() : undefined),
      });
      const takeFunds = () => {
        throw new Error("no money on DE-0001");
      };
      const effects: unknown[] = [];
      const on = { flow: ({ effect }: { readonly effect?: unknown }) => void effects.push(effect) };
      expect(await errorOf(flow({ takeFunds, on }).run("k", request))).toMatchObject({ effect: "possible" });
      expect(effects).toEqual([undefined, "possible"]);
      expect(JSON.stringify((await flow().status("k"))?.failures)).not.toContain("DE-0001");
      isAway = true;
      await errorOf(flow().run("k", request));
      expect(bank.taken.size).toBe(1);
      expect(await flow().status("k")).toMatchObject({ failures: { count: 2, message } });
    }
  });

  it.each([
    ["nothing", undefined, "something threw nothing", "TypeError"],
    ["a text", "the bank is closed", "a value that is not an Error was thrown (string)", "Error"],
  ])("are counted also where a function throws %s", async (_, thrown, message, failure) => {
    const { flow } = await lastingFixture();
    const takeFunds = () => {
      throw thrown;
    };
    const error = await errorOf(flow({ takeFunds }).run("k", request));
    expect(error).toMatchObject({ code: "flow_paused", effect: "possible", phase: "funds-requested" });
    expect(error.cause).toMatchObject({ message });
    expect(await flow().status("k")).toMatchObject({ failures: { count: 1, code: failure } });
  });

  it("are stored with a thousand characters of their text", async () => {
    const { flow } = await lastingFixture();
    const takeFunds = () => {
      throw new ConfigError("x".repeat(5000));
    };
    await errorOf(flow({ takeFunds }).run("k", request));
    expect((await flow().status("k"))?.failures?.message).toBe("x".repeat(1000));
  });

  it("are the cause of the error, although the journal could not store them", async () => {
    const { flow, journal } = await lastingFixture();
    const write = vi.fn(() => Promise.reject(new JournalError("the disk failed", { stored: "nothing" })));
    const error = await errorOf(
      flow({ takeFunds: closed, journal: boundJournal(journal, { write }) }).run("k", request),
    );
    expect(error).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
    expect(error.cause).toMatchObject({ message: "the bank is closed" });
    expect(write).toHaveBeenCalledTimes(1);
  });

  it("are not stored once the lease has ended: another owner may have the flow", async () => {
    const { flow, journal } = await lastingFixture();
    const leaseMs = stretched(100);
    const takeFunds = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2 * leaseMs));
      throw new Error("the bank is closed");
    };
    const still = boundJournal(journal, { renew: () => Promise.reject(new Error("it stands still")) });
    expect(await errorOf(flow({ takeFunds, leaseMs, journal: still }).run("k", request))).toMatchObject({
      code: "flow_paused",
    });
    expect(await flow().status("k")).not.toHaveProperty("failures");
  });

  it("are counted from one again once a claim was sent whose response was lost", async () => {
    const { flow, bank, sandbox } = await lastingFixture({
      ...lost,
      onRequest: (seen) =>
        isList(seen) && sandbox.payments.length > 0 ? new Response("", { status: 503 }) : undefined,
    });
    for (const count of [1, 2]) {
      await errorOf(flow({ takeFunds: closed }).run("k", request));
      expect(await flow().status("k")).toMatchObject({ failures: { count } });
    }
    await errorOf(flow().run("k", request));
    expect(await flow().status("k")).toMatchObject({ phase: "unknown", failures: { count: 1, code: "http_503" } });
    expect(bank.taken.size).toBe(1);
  });

  it("are counted from one again once the payment was refused for good", async () => {
    const { flow } = await lastingFixture({
      onRequest: (seen) =>
        isPayment(seen) ? Response.json({ error: "limit", message: "no" }, { status: 400 }) : undefined,
    });
    for (const _ of [1, 2]) await errorOf(flow({ takeFunds: closed }).run("k", request));
    await errorOf(flow({ releaseFunds: closed }).run("k", request));
    expect(await flow().status("k")).toMatchObject({ phase: "refused", failures: { count: 1 } });
  });

  it("are counted until the flow gets further, and make it stuck after three", async () => {
    const { flow, bank } = await lastingFixture();
    let isClosed = true;
    const takeFunds: typeof bank.takeFunds = (context) => {
      if (isClosed) throw new Error("the bank is closed");
      return bank.takeFunds(context);
    };
    const held = async () => {
      const found = [];
      for await (const one of flow().held()) found.push(one);
      return found;
    };
    for (const count of [1, 2, 3]) {
      expect(await held()).toEqual([]);
      await errorOf(flow({ takeFunds }).run("k", request));
      expect(await flow().status("k")).toMatchObject({ failures: { count, code: "Error" } });
    }
    expect(await held()).toMatchObject([{ status: "stuck", key: "k", phase: "funds-requested" }]);
    const decision = { by: "Olga Operator", why: "the bank is open" };
    expect(await errorOf(flow().resolve("k", "release", decision))).toMatchObject({ code: "flow_not_held" });
    isClosed = false;
    expect(await flow({ takeFunds }).resolve("k", "resend", decision)).toMatchObject({ status: "paid" });
    expect(await held()).toEqual([]);
    expect(await flow().status("k")).not.toHaveProperty("failures");
  });
});

describe("takeFunds", () => {
  it.each([
    ["without replayed", { senderGatewayTransactionId: "TX-1" }, "replayed is undefined"],
    ["with replayed as text", { senderGatewayTransactionId: "TX-1", replayed: "no" }, "replayed is a string"],
  ])("%s pauses the flow, since money may have been taken", async (_, returned, message) => {
    const { flow, journal, sandbox } = await flowFixture();
    const error = await errorOf(flow({ takeFunds: () => returned as never }).run("k", request));
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", cause: { code: "invalid_argument" } });
    expect((error.cause as Error).message).toContain(message);
    expect((await journal.read("k"))?.phase).toBe("funds-requested");
    expect(sandbox.payments).toEqual([]);
  });

  it.each([
    ["another id", { senderGatewayTransactionId: "TX-9", replayed: true }],
    ["null", null],
  ])("that returns %s after a claim stops the flow, and nothing is paid or declined", async (_, returned) => {
    let sent = 0;
    const { flow, sandbox, bank } = await flowFixture({
      onRequest: (seen) =>
        isPayment(seen) && ++sent === 1
          ? Response.json({ error: "slow_down", message: "no" }, { status: 429 })
          : undefined,
    });
    const takeFunds: typeof bank.takeFunds = (call) => (bank.calls === 0 ? bank.takeFunds(call) : returned);
    const error = await errorOf(flow({ takeFunds }).run("k", request));
    expect(error).toMatchObject({ code: "flow_paused", cause: { code: "invalid_argument" } });
    expect((error.cause as Error).message).toMatch(/its first response,? (which )?is final/);
    expect([sent, sandbox.payments.length, bank.released]).toEqual([1, 0, []]);
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  });
});

it("does not say rejected of a paid key because the intent of its second run is refused", async () => {
  let isRefusing = false;
  const { flow, sandbox, journal } = await flowFixture({
    onRequest: ({ operation }) =>
      operation === "paymentIntents.create" && isRefusing
        ? Response.json({ error: "limit", message: "no" }, { status: 400 })
        : undefined,
  });
  // The second run reads the key before the first has stored it.
  const { promise: read, resolve: hasRead } = deferred();
  const { promise: first, resolve: goOn } = deferred();
  let reads = 0;
  const slow = boundJournal(journal, {
    read: async (key) => {
      const entry = await journal.read(key);
      if (++reads > 1) return entry;
      hasRead();
      await first;
      return entry;
    },
  });
  const second = flow({ journal: slow }).run("k", request);
  await read;
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  isRefusing = true;
  goOn();
  expect(await second).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
});

it("knows by its nonce that it got a flow whose lease's response was lost", async () => {
  const { flow, journal, sandbox } = await flowFixture();
  await errorOf(flow({ takeFunds: closed }).run("k", request));
  let isLost = false;
  const losing = boundJournal(journal, {
    acquire: async (...args) => {
      const entry = await journal.acquire(...args);
      if (isLost) return entry;
      isLost = true;
      throw new JournalError("the connection broke", { stored: "unknown" });
    },
  });
  const startMs = performance.now();
  expect(await flow({ journal: losing, leaseMs: 60_000 }).run("k", request)).toMatchObject({ status: "paid" });
  expect(performance.now() - startMs).toBeLessThan(30_000);
  expect(sandbox.payments).toHaveLength(1);
});

it("reports each step to on.flow", async () => {
  const events: FlowEvent[] = [];
  const on = { flow: (event: FlowEvent) => void events.push(event) };
  const { flow } = await flowFixture(lost);
  await flow({ on }).run("k", request);
  const { intent } = await flow({ on }).quote("q", request);
  await flow({ on }).confirm("q", { intentId: intent.id });
  const steps = (key: string) => events.filter((event) => event.key === key).map(({ from, to }) => [from, to]);
  const paying = [
    ["funds-requested", "claimed"],
    ["claimed", "unknown"],
    ["unknown", "paid"],
  ];
  expect(steps("k")).toEqual([[undefined, "funds-requested"], ...paying]);
  expect(steps("q")).toEqual([[undefined, "quoted"], ["quoted", "funds-requested"], ...paying]);
  expect(events.find(({ to }) => to === "unknown")).toMatchObject({ effect: "possible", attempt: 1 });
  expect(events.every(({ durationMs }) => durationMs >= 0)).toBe(true);
});

it("makes a part of the work of each step, where the client's work is followed", async () => {
  const { flow } = await lastingFixture(lost);
  const tracing = new RecordedTracing();
  await flow({}, { telemetry: tracing.telemetry }).run("k", request);
  const step = (phase: string) => ({ name: `flow step ${phase}`, kind: "internal", attributes: {} });
  expect(tracing.parts.filter(({ name }) => name.startsWith("flow step"))).toEqual([
    step("funds-requested"),
    step("claimed"),
    step("unknown"),
  ]);
});

it("takes the money for every payment where that was turned off", async () => {
  const { flow, bank } = await flowFixture(onPayment(() => new Response("<html>", { status: 403 })));
  const one = flow({ circuitBreaker: false });
  for (let count = 1; count <= 6; count += 1) {
    const { intent } = await one.quote(`quoted ${count}`, request);
    expect(await one.confirm(`quoted ${count}`, { intentId: intent.id })).toMatchObject({ status: "held" });
    expect(await one.run(`run ${count}`, request)).toMatchObject({ status: "held" });
  }
  expect(bank.calls).toBe(12);
});

it("looks for the outcome soon after another process has settled the flow, however long its lease is", async () => {
  const { flow, bank, journal } = await flowFixture();
  const { promise: waiting, resolve: isWaiting } = deferred();
  const takeFunds = async (context: { readonly key: string }) => {
    await waiting;
    return bank.takeFunds(context);
  };
  const leaseMs = 3_600_000;
  const running = flow({ takeFunds, leaseMs }).run("k", request);
  await eventually(async () => expect(await journal.read("k")).toBeDefined());
  const watching = boundJournal(journal, {
    acquire: async (...args) => {
      const entry = await journal.acquire(...args);
      isWaiting();
      return entry;
    },
  });
  const other = await flow({ journal: watching, leaseMs }).run("k", request);
  expect(other).toMatchObject({ status: "paid" });
  expect(await running).toEqual(other);
});
