import { ConfigError, InvalidArgumentError } from "cross-border-payments";
import {
  type FlowOutcome,
  FlowPausedError,
  type Journal,
  MemoryJournal,
  type PaymentFlow,
} from "cross-border-payments/flow";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { apiClientOf } from "../../src/api/api-client.js";
import { block } from "../support/block.js";
import { deferred } from "../support/deferred.js";
import { eventually } from "../support/eventually.js";
import { boundJournal } from "./bound-journal.js";
import { afterPayment, brief, flowFixture, isList, isPayment, onPayment, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

const lost = afterPayment(() => Response.error());
const resolution = { by: "Olga Operator", why: "the service's back office confirmed it" };

/** What made a flow stop without an outcome. */
async function causeOf(work: Promise<unknown>): Promise<unknown> {
  const error = await errorOf(work);
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({ code: "flow_paused", effect: "possible", key: "k" });
  expect(error).not.toHaveProperty("funds");
  return error.cause;
}

/** A journal that stops working at the named write, as if its owner's process had died. */
function dyingAt(journal: Journal, phase: string, when: "before" | "after"): Journal {
  let dead = false;
  const alive = <T>(work: () => Promise<T>): Promise<T> => (dead ? Promise.reject(new Error("is dead")) : work());
  const mortal = async <T>(state: { readonly phase: string }, work: () => Promise<T>): Promise<T> => {
    const dies = state.phase === phase;
    if (dies && when === "before") dead = true;
    const stored = await alive(work);
    if (dies) dead = true;
    return dead ? Promise.reject(new Error(`died ${when} ${phase}`)) : stored;
  };
  return boundJournal(journal, {
    begin: (...args) => mortal(args[2], () => journal.begin(...args)),
    write: (...args) => mortal(args[2], () => journal.write(...args)),
    replaceQuote: (...args) => mortal(args[2], () => journal.replaceQuote(...args)),
    read: (...args) => alive(() => journal.read(...args)),
    acquire: (...args) => alive(() => journal.acquire(...args)),
    renew: (...args) => alive(() => journal.renew(...args)),
    release: (...args) => alive(() => journal.release(...args)),
  });
}

describe("run", () => {
  it("pays once, and gives the same outcome to everyone who runs the key again", async () => {
    const { flow, sandbox, bank } = await flowFixture();
    const first = await flow().run("order-42", request);
    const again = await flow().run("order-42", request);
    expect(first).toMatchObject({ status: "paid", key: "order-42", payment: { senderGatewayTransactionId: "TX-1" } });
    expect(again).toEqual(first);
    expect(sandbox.payments).toHaveLength(1);
    expect(bank.calls).toBe(1);
  });

  it("lets one of many callers run, and the others wait for its outcome", async () => {
    const { flow, sandbox, bank } = await flowFixture();
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => flow({ leaseMs: 60_000 }).run("order-42", request)),
    );
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect(sandbox.payments).toHaveLength(1);
    expect(bank.calls).toBe(1);
  });

  it("takes nothing and pays nothing when the sender declines", async () => {
    const { flow, sandbox, bank } = await flowFixture();
    bank.decline = true;
    expect(await flow().run("k", request)).toMatchObject({ status: "declined", key: "k" });
    expect(sandbox.payments).toEqual([]);
    expect(bank.released).toEqual([]);
  });

  it("pays with the id that it checked, although the object of takeFunds has another one by then", async () => {
    const { flow, sandbox } = await flowFixture();
    const ids = ["TX-1", "TX-2"];
    const takeFunds = () => ({
      replayed: false,
      get senderGatewayTransactionId() {
        return ids.shift() ?? "";
      },
    });
    expect(await flow({ takeFunds }).run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toMatchObject([{ senderGatewayTransactionId: "TX-1" }]);
  });

  it("refuses a bad request and a bad key before it writes anything", async () => {
    const { flow, journal } = await flowFixture();
    await expect(flow().run("k", { ...request, receiverAmount: "1,5" })).rejects.toBeInstanceOf(InvalidArgumentError);
    for (const key of ["", "a\0b", "\ud800", "x".repeat(1025), 7 as unknown as string]) {
      await expect(flow().run(key, request)).rejects.toBeInstanceOf(InvalidArgumentError);
    }
    expect(await journal.read("k")).toBeUndefined();
  });

  it("is rejected without touching money when the service refuses the intent", async () => {
    const { flow, bank } = await flowFixture();
    const outcome = await flow().run("k", { ...request, receiverGatewayId: "nobody" });
    expect(outcome).toMatchObject({ status: "rejected", refusal: { by: "service", status: 400 } });
    expect(bank.calls).toBe(0);
    expect(bank.released).toEqual([]);
  });

  it("calls releaseFunds again until it succeeds", async () => {
    const { flow, bank } = await flowFixture(
      onPayment(() => Response.json({ error: "no", message: "no" }, { status: 400 })),
    );
    let failures = 1;
    const releaseFunds = ({ key }: { readonly key: string }) => {
      if (failures-- > 0) throw new Error("the bank is closed");
      bank.released.push(key);
    };
    expect(await causeOf(flow({ releaseFunds }).run("k", request))).toMatchObject({ message: "the bank is closed" });
    expect(await all(flow({ releaseFunds }).recover())).toMatchObject([{ status: "rejected" }]);
    expect(bank.released).toEqual(["k"]);
  });

  it("finds a payment whose response was lost, and sends it once", async () => {
    const { flow, sandbox, bank } = await flowFixture(lost);
    const outcome = await flow().run("k", request);
    expect(outcome).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
    expect(bank.released).toEqual([]);
  });

  it("finds it after hundreds of newer payments", async () => {
    const { flow, sandbox } = await flowFixture({ ...lost, maxSize: 7 });
    // Long enough for a busy machine: a lease that has lapsed leads elsewhere.
    const leaseMs = 30_000;
    const first = flow({ leaseMs, readBackDelayMs: 200 }).run("k0", request);
    await Promise.all(Array.from({ length: 30 }, (_, index) => flow({ leaseMs }).run(`k${index + 1}`, request)));
    expect(await first).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(31);
    expect(new Set(sandbox.payments.map((payment) => payment.senderGatewayTransactionId)).size).toBe(31);
  });

  it("holds a payment that was not found, with everything an operator needs", async () => {
    const { flow, sandbox, bank } = await flowFixture(onPayment(() => Response.error()));
    const outcome = await flow({ leaseMs: 60_000 }).run("k", request);
    if (outcome.status !== "held") throw new Error(`is ${outcome.status}`);
    expect(outcome.looks).toHaveLength(2);
    expect((outcome.looks[1]?.atMs ?? 0) - (outcome.looks[0]?.atMs ?? 0)).toBeGreaterThanOrEqual(9);
    expect(JSON.parse(outcome.claim?.body ?? "")).toMatchObject({
      senderGatewayTransactionId: "TX-1",
      receiverAmount: "150.00",
    });
    expect(outcome.claim?.signature).toMatch(/^[\w+/]+=*$/);
    expect(outcome).toMatchObject({ claim: { path: "/payments" }, senderGatewayTransactionId: "TX-1", decisions: [] });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
    expect(bank.released).toEqual([]);
    expect(await flow().run("k", request)).toEqual(outcome);
    expect(await all(flow().held())).toEqual([
      { ...outcome, createdAtMs: expect.any(Number), sinceMs: expect.any(Number) },
    ]);
    expect(await all(flow().recover())).toEqual([]);
  });

  it.each([
    ["no response came", () => Response.error(), undefined],
    ["the service responded with 503", () => new Response("", { status: 503 }), { status: 503 }],
    [
      "the service responded with 302",
      () => new Response("", { status: 302, headers: { location: "/" } }),
      { status: 302 },
    ],
    [
      "the service responded with 409",
      () => Response.json({ error: "dup", message: "no" }, { status: 409 }),
      { status: 409 },
    ],
    ["the service responded with 201", () => new Response("<html>", { status: 201 }), { status: 201 }],
  ])("says of a held payment what came in response: %s", async (reason, respond, response) => {
    const { flow } = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? respond() : undefined) });
    const outcome = await flow({ leaseMs: 60_000 }).run("k", request);
    if (outcome.status !== "held") throw new Error(`is ${outcome.status}`);
    expect(outcome.reason).toContain(reason);
    expect(outcome.reason).toContain("2 looks at the list of payments did not find it");
    if (response === undefined) expect(outcome).not.toHaveProperty("response");
    else expect(outcome.response).toMatchObject(response);
    expect(outcome.looks).toMatchObject([{ complete: true }, { complete: true }]);
  });

  it("holds and shows a payment with its transaction id that is not certainly its own, and never releases for it", async () => {
    const { flow, sandbox, bank } = await flowFixture({
      ...lost,
      onResponse: async (seen, response) => {
        if (isPayment(seen)) return Response.error();
        if (!isList(seen)) return undefined;
        const records = JSON.parse(await response.clone().text()) as object[];
        const foreign = { creationRequestSignatureBase64: Buffer.alloc(256).toString("base64") };
        return Response.json(records.map((record) => ({ ...record, ...foreign })));
      },
    });
    const outcome = await flow().run("k", request);
    expect(outcome).toMatchObject({
      status: "held",
      lookalike: { id: sandbox.payments[0]?.id },
      reason: expect.stringContaining("a payment with the same transaction id is listed"),
    });
    expect(await errorOf(flow().resolve("k", "found", resolution))).toMatchObject({ code: "flow_payment_not_found" });
    expect(bank.released).toEqual([]);
    const [payment] = sandbox.payments;
    if (payment === undefined) throw new Error("there is no payment");
    expect(await flow().resolve("k", "found", { ...resolution, payment })).toMatchObject({ status: "paid" });
  });

  it("holds where the service knows another payment by its transaction id, and responds with that one", async () => {
    const { flow, sandbox } = await flowFixture({
      onRequest: (seen) =>
        isPayment(seen) && sandbox.payments.length > 0 ? Response.json(sandbox.payments[0]) : undefined,
    });
    const takeFunds = () => ({ senderGatewayTransactionId: "TX-1", replayed: false });
    expect(await flow({ takeFunds }).run("k", request)).toMatchObject({ status: "paid" });
    const other = await flow({ takeFunds }).run("other", { ...request, receiverAccount: "KE-7001" });
    expect(sandbox.payments).toHaveLength(1);
    expect(other).toMatchObject({
      status: "held",
      lookalike: { id: sandbox.payments[0]?.id },
      reason: expect.stringContaining("the service responded with another payment that has the same transaction id"),
    });
  });

  it.each<[string, (body: string) => Record<string, unknown>]>([
    ["as it was", (body) => JSON.parse(body)],
    ["beside a word of its own", (body) => ({ ...JSON.parse(body), status: "queued", createdAt: null })],
  ])(
    "does not call paid what came back in place of a record, and was never made: its own request %s",
    async (_, echoed) => {
      const { flow, sandbox, bank } = await flowFixture({
        onRequest: (seen) => (isPayment(seen) ? Response.json(echoed(seen.body), { status: 202 }) : undefined),
      });
      const outcome = await flow().run("k", request);
      expect(sandbox.payments).toEqual([]);
      expect(outcome).toMatchObject({ status: "held", reason: expect.stringContaining("does not say whether") });
      expect(bank.released).toEqual([]);
    },
  );

  it("forgets a payment that looked like its own once an operator has it sent again", async () => {
    let looks = 0;
    const { flow } = await flowFixture(
      {
        onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined),
        onResponse: (seen) => {
          if (!isList(seen) || ++looks < 2 || isSentAgain) return undefined;
          return Response.json([{ pagingToken: "1", senderGatewayTransactionId: "TX-1" }]);
        },
      },
      brief,
    );
    let isSentAgain = false;
    expect(await flow().run("k", request)).toMatchObject({ status: "held", lookalike: { pagingToken: "1" } });
    isSentAgain = true;
    const outcome = await flow().resolve("k", "resend", resolution);
    expect(outcome).toMatchObject({ status: "held", looks: { length: 4 } });
    expect(outcome).not.toHaveProperty("lookalike");
    expect(Reflect.get(outcome, "reason")).not.toContain("transaction id");
    expect(Reflect.get(outcome, "reason")).toContain("2 looks");
  });

  it("leaves the flow as it was when takeFunds throws, and calls it again with the same key", async () => {
    const { flow, bank, sandbox } = await flowFixture();
    const takeFunds = vi.fn(bank.takeFunds).mockImplementationOnce(() => {
      throw new Error("the bank is closed");
    });
    expect(await causeOf(flow({ takeFunds }).run("k", request))).toMatchObject({ message: "the bank is closed" });
    expect(await flow({ takeFunds }).run("k", request)).toMatchObject({ status: "paid" });
    expect(takeFunds.mock.calls.map(([{ key }]) => key)).toEqual(["k", "k"]);
    expect(sandbox.requests.filter(({ operation }) => operation === "paymentIntents.create")).toHaveLength(1);
  });

  it.each([
    ["its id alone", "TX-1", "it returned a string"],
    ["nothing", undefined, "it returned undefined"],
  ])(
    "makes no payment when takeFunds returns %s, says what to return, and calls it again",
    async (_, returned, found) => {
      const { flow, journal, sandbox } = await flowFixture();
      const cause = await causeOf(flow({ takeFunds: () => returned as never }).run("k", request));
      expect(cause).toBeInstanceOf(InvalidArgumentError);
      const { message } = cause as Error;
      expect(message).toContain("takeFunds must return { senderGatewayTransactionId }");
      expect(message).toContain(found);
      expect(message).toMatch(/No payment was made; .*takeFunds is called again with the same key/);
      expect((await journal.read("k"))?.phase).toBe("funds-requested");
      expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
      expect(sandbox.payments).toHaveLength(1);
    },
  );

  it("takes no money while it could not look for the payment later", async () => {
    const { flow, bank, journal } = await flowFixture({
      onRequest: ({ operation }) => (operation === "payments.list" ? new Response("", { status: 403 }) : undefined),
    });
    expect(await errorOf(flow().run("k", request))).toMatchObject({ status: 403, effect: "none" });
    expect(bank.calls).toBe(0);
    expect(await journal.read("k")).toBeUndefined();
  });

  it("hands over when another owner took the flow over, and returns the other's outcome", async () => {
    const { flow, sandbox, bank } = await flowFixture({}, brief);
    const { promise: closed, resolve: open } = deferred();
    const journal = new MemoryJournal();
    const stuck = flow({
      journal: boundJournal(journal, { renew: () => Promise.reject(new Error("the journal is away")) }),
      takeFunds: async (context) => {
        await closed;
        return bank.takeFunds(context);
      },
    }).run("k", request);
    await new Promise((resolve) => setTimeout(resolve, brief.leaseMs + 50));
    const other = await flow({ journal }).run("k", request);
    open();
    expect(await stuck).toEqual(other);
    expect(sandbox.payments).toHaveLength(1);
    expect(bank.taken.size).toBe(1);
  });
});

describe("a claim is not sent after its time", () => {
  const hourMs = 3_600_000;

  it("when the process stood still between storing the claim and sending it; a later run pays once", async () => {
    const { flow, journal, sandbox, bank } = await flowFixture({}, brief);
    const stopping = afterClaim(journal, () => block(brief.leaseMs + 100));
    expect(await causeOf(flow({ journal: stopping }).run("k", request))).toMatchObject({
      code: "timeout",
      operation: "payments.create",
      message: expect.stringContaining("the lease of the flow ended"),
    });
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
    // The money is asked for again before every further claim.
    expect(bank.calls).toBe(2);
    expect(bank.taken.size).toBe(1);
  });

  it.each([
    ["the process stood still", () => block(brief.leaseMs + 100)],
    ["the machine was suspended, which only the wall clock shows", () => shiftClock(hourMs)],
  ])("when %s just before the first byte", async (_, happen) => {
    const { flow, journal, sandbox, logIn } = await flowFixture({}, brief);
    const { auth, journal: watched } = beforePayment(journal, await logIn(), happen);
    const work = flow({ journal: watched }, { auth }).run("k", request);
    expect(await causeOf(work)).toMatchObject({ code: "timeout", effect: "none" });
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
    expect((await journal.read("k"))?.phase).toBe("funds-requested");
  });

  it.each([
    ["and the process stood still", () => block(brief.leaseMs + 100)],
    ["and nobody can tell whether the machine was suspended", () => {}],
  ])("when the clock was set back meanwhile, %s", async (_, happen) => {
    const { flow, journal, sandbox } = await flowFixture();
    const stopping = afterClaim(journal, () => {
      shiftClock(-hourMs);
      happen();
    });
    expect(await causeOf(flow({ journal: stopping }).run("k", request))).toMatchObject({ code: "timeout" });
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("but all the same when the clock was corrected by half a second", async () => {
    const { flow, journal, sandbox } = await flowFixture();
    const correcting = afterClaim(journal, () => shiftClock(-500));
    expect(await flow({ journal: correcting, leaseMs: 60_000 }).run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("and a clock that was set back by an hour prolongs no wait", async () => {
    const { flow, sandbox, bank } = await flowFixture(
      {
        onRequest: async (seen) => {
          if (isPayment(seen)) {
            shiftClock(-hourMs);
            // Longer than the lease, and not answered in time.
            await new Promise((resolve) => setTimeout(resolve, 2 * brief.leaseMs + 100));
          }
          return isList(seen) && bank.calls > 0 ? Response.json([]) : undefined;
        },
      },
      brief,
    );
    const startMs = performance.now();
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    expect(await flow().resolve("k", "release", resolution)).toMatchObject({ status: "rejected" });
    expect(performance.now() - startMs).toBeLessThan(30_000);
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("when another owner got the flow, although the lease has not ended by the owner's own clocks", async () => {
    const { flow, sandbox, logIn } = await flowFixture();
    let aheadMs = 0;
    const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
    let takenOver: Promise<unknown> | undefined;
    const { auth, journal: watched } = beforePayment(journal, await logIn(), () => {
      aheadMs = hourMs;
      takenOver = journal.acquire("k", { owner: "another process", leaseMs: 60_000, nonce: "another" });
      // Longer than a third of the lease, when the owner renews it and is told.
      return new Promise((resolve) => setTimeout(resolve, 160));
    });
    const outcome = flow({ journal: watched, leaseMs: 400 }, { auth }).run("k", request);
    await eventually(() => expect(takenOver).toBeDefined());
    expect(await takenOver).toMatchObject({ phase: "claimed", epoch: 2 });
    await journal.release("k", { epoch: 2, nonce: "another" });
    expect(await outcome).toMatchObject({ status: "held" });
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
  });
});

describe("the caller's signal", () => {
  it("ends the request for the intent, and recover takes over nothing more", async () => {
    const { flow, journal, sandbox } = await flowFixture({
      onRequest: async ({ operation }) => {
        if (operation === "paymentIntents.create") await new Promise((resolve) => setTimeout(resolve, 10_000));
        return undefined;
      },
    });
    const signal = AbortSignal.timeout(50);
    expect(await errorOf(flow().run("k", request, { signal }))).toMatchObject({
      effect: "none",
      operation: "paymentIntents.create",
      cause: { cause: { code: "aborted" } },
    });
    expect(await journal.read("k")).toBeUndefined();
    expect(await all(flow().recover({ signal }))).toEqual([]);
    expect(sandbox.requests.filter(({ operation }) => operation === "paymentIntents.create")).toHaveLength(1);
  });
});

describe("after a crash", () => {
  const writes = ["funds-requested", "claimed", "paid"];

  it.each(writes.flatMap((phase) => [[phase, "before"] as const, [phase, "after"] as const]))(
    "at the write of %s (%s it) pays at most once, and settles",
    async (phase, when) => {
      const { flow, sandbox, bank, journal } = await flowFixture({}, brief);
      await flow({ journal: dyingAt(journal, phase, when) })
        .run("k", request)
        .catch(() => {});
      await eventually(async () => {
        const { leaseUntilMs = 0 } = (await journal.read("k")) ?? {};
        expect(leaseUntilMs).toBeLessThan(Date.now());
      });
      const outcomes = await all(flow({ leaseMs: 1000 }).recover());
      const outcome = await flow().run("k", request);
      const leavesNothing = phase === "funds-requested" && when === "before";
      const hasSettled = phase === "paid" && when === "after";
      expect(outcomes).toEqual(leavesNothing || hasSettled ? [] : [outcome]);
      expect(bank.taken.size).toBe(1);
      // The claim was stored, and nobody can know that it was not sent: it is held.
      const held = phase === "claimed" && when === "after";
      expect(outcome.status).toBe(held ? "held" : "paid");
      expect(sandbox.payments).toHaveLength(held ? 0 : 1);
      expect(sandbox.requests.filter(isPayment).length).toBeLessThanOrEqual(1);
    },
  );

  it("recovers flows of dead owners only", async () => {
    const { flow, journal, bank } = await flowFixture({}, brief);
    const { promise: closed, resolve: open } = deferred();
    const alive = flow({
      takeFunds: async (context) => {
        await closed;
        return bank.takeFunds(context);
      },
    }).run("alive", request);
    await flow({ journal: dyingAt(journal, "claimed", "before") })
      .run("dead", request)
      .catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, brief.leaseMs + 100));
    expect((await all(flow().recover())).map(({ key }) => key)).toEqual(["dead"]);
    open();
    expect(await alive).toMatchObject({ status: "paid" });
  });

  it("continues with the others when one flow can't be recovered, and says so at the end", async () => {
    const { flow, journal, bank } = await flowFixture({}, brief);
    for (const key of ["a", "b", "c"]) {
      await flow({ journal: dyingAt(journal, "claimed", "before") })
        .run(key, request)
        .catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, brief.leaseMs + 10));
    const takeFunds = (context: { readonly key: string }) => {
      if (context.key === "b") throw new Error("the bank is closed");
      return bank.takeFunds(context);
    };
    const settled: FlowOutcome[] = [];
    const recovering = async () => {
      for await (const outcome of flow({ takeFunds, leaseMs: 1000 }).recover({ concurrency: 2 })) settled.push(outcome);
    };
    await expect(recovering()).rejects.toMatchObject({
      message: expect.stringContaining('"b"'),
      errors: [expect.objectContaining({ key: "b", phase: "funds-requested", code: "flow_paused" })],
    });
    expect(settled.map(({ key }) => key).sort()).toEqual(["a", "c"]);
    expect((await all(flow({ leaseMs: 1000 }).recover())).map(({ key }) => key)).toEqual(["b"]);
  });
});

it("sends the same bytes and signature once an operator has it sent again, with who decided and why on record", async () => {
  let down = true;
  const bodies: string[] = [];
  const { flow, sandbox } = await flowFixture(
    {
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        bodies.push(seen.headers.get("x-service-signature-base64") + seen.body);
        return down ? Response.error() : undefined;
      },
    },
    brief,
  );
  await flow().run("k", request);
  down = false;
  const outcome = await flow().resolve("k", "resend", resolution);
  expect(outcome).toMatchObject({ status: "paid", decisions: [{ action: "resend", ...resolution }] });
  expect(bodies).toHaveLength(2);
  expect(bodies[0]).toBe(bodies[1]);
  expect(sandbox.payments).toHaveLength(1);
});

describe("what the journal holds", () => {
  it("has no token, key or password", async () => {
    const { flow, journal, sandbox } = await flowFixture();
    await flow().run("k", request);
    const entry = await journal.read("k");
    expect(entry?.data).not.toContain(sandbox.credentials.password);
    expect(entry?.data).not.toMatch(/Bearer|BEGIN|accessToken/);
  });

  it("can be encrypted by a function of the caller", async () => {
    const { flow, journal } = await flowFixture();
    const cipher = {
      encrypt: async (text: string) => Buffer.from(text).toString("base64"),
      decrypt: async (text: string) => Buffer.from(text, "base64").toString(),
    };
    const outcome = await flow({ cipher }).run("k", request);
    expect((await journal.read("k"))?.data).not.toContain(request.receiverAccount);
    expect(await flow({ cipher }).outcome("k")).toEqual(outcome);
    expect(await errorOf(flow().outcome("k"))).toMatchObject({ code: "flow_unreadable" });
  });
});

it.each([
  ["client", { client: {} }],
  ["journal", { journal: {} }],
  ["takeFunds", { takeFunds: undefined }],
  ["releaseFunds", { releaseFunds: 1 }],
  ["leaseMs", { leaseMs: 5 }],
  ["readBackDelayMs", { readBackDelayMs: -1 }],
  ["listedWithinMs", { service: { listedWithinMs: 8 * 86_400_000 } }],
  ["leaseMs", { leaseMs: 300.5 }],
  ["readBacks", { readBacks: 1 }],
  ["cipher", { cipher: { encrypt: (text: string) => text } }],
  ["owner", { owner: 5 }],
  ["leaseMS", { leaseMS: 1000 }],
])("refuses a wrong %s", async (option, wrong) => {
  const { flow } = await flowFixture();
  expect(() => flow(wrong as never)).toThrow(ConfigError);
  expect(() => flow(wrong as never)).toThrow(option);
});

it.each([
  [undefined, "client must be a CrossBorderClient; found undefined"],
  [{ pay: () => {}, close: () => {} }, "client must be a CrossBorderClient; found an object"],
])("refuses %o as the client", async (client, message) => {
  const { flow } = await flowFixture();
  expect(() => flow({ client } as never)).toThrow(new ConfigError(message));
});

it("works with a client from another copy of the package", async () => {
  const { flow, client } = await flowFixture();
  const other = {
    pay: client.pay.bind(client),
    close: client.close.bind(client),
    [Symbol.for("cross-border-payments.api-client")]: apiClientOf(client),
  };
  expect(await flow({ client: other }).run("k", request)).toMatchObject({ status: "paid" });
});

it.each([
  ["run", (flow: PaymentFlow, options: object) => flow.run("k", request, options)],
  ["quote", (flow: PaymentFlow, options: object) => flow.quote("k", request, options)],
  ["confirm", (flow: PaymentFlow, options: object) => flow.confirm("k", { intentId: "i" }, options)],
  ["recover", async (flow: PaymentFlow, options: object) => all(flow.recover(options))],
])("refuses options that %s does not have", async (method, call) => {
  const { flow } = await flowFixture();
  const error = await errorOf(call(flow(), { timeoutMs: 5 }));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain(`${method}: unknown option "timeoutMs"`);
});

it.each([null, 8, "8", new Map(), Promise.resolve({})])(
  "refuses %o in the place of recover's options",
  async (options) => {
    const { flow } = await flowFixture();
    expect(() => flow().recover(options as never)).toThrow(InvalidArgumentError);
    expect(() => flow().recover(options as never)).toThrow("recover: the options must be an object");
  },
);

it("recovers with the options that recover was given, whatever becomes of them before it begins", async () => {
  const { flow } = await flowFixture();
  const options = { concurrency: 1 };
  const recovering = flow().recover(options);
  options.concurrency = 0;
  expect(await all(recovering)).toEqual([]);
});

it.each([0, 1.5, "2"])("refuses a concurrency of %o", async (concurrency) => {
  const { flow } = await flowFixture();
  expect(() => flow().recover({ concurrency } as never)).toThrow("recover: concurrency must be a whole number above 0");
});

/** Does something once the claim is stored, before `write` returns. */
function afterClaim(journal: Journal, happen: () => void): Journal {
  return boundJournal(journal, {
    write: async (key, id, state, leaseMs) => {
      const written = await journal.write(key, id, state, leaseMs);
      if (state.phase === "claimed") happen();
      return written;
    },
  });
}

/** Does something while the payment waits for its access token: after the flow's own check, and before the first byte. */
function beforePayment(journal: Journal, token: string, happen: () => Promise<void> | void) {
  let isNext = false;
  const accessToken = async (): Promise<string> => {
    if (isNext) {
      isNext = false;
      await happen();
    }
    return token;
  };
  const watched = afterClaim(journal, () => {
    isNext = true;
  });
  return { auth: { accessToken }, journal: watched };
}

/** For the rest of the test. */
function shiftClock(ms: number): void {
  const clock = Date.now;
  const shifted = vi.spyOn(Date, "now").mockImplementation(() => clock() + ms);
  onTestFinished(() => shifted.mockRestore());
}
