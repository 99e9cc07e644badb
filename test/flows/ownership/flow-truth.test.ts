import { createSign } from "node:crypto";
import { CrossBorderClient, CrossBorderError } from "cross-border-payments";
import {
  FlowPausedError,
  type Journal,
  type JournalEntry,
  JournalError,
  type JournalState,
  type PaymentFlowOptions,
} from "cross-border-payments/flow";
import type { SandboxOptions } from "cross-border-payments/sandbox";
import { describe, expect, it, onTestFinished } from "vitest";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { keyPairOf } from "../../support/key-pairs.js";
import { stretched } from "../../support/patience.js";
import { boundJournal } from "../bound-journal.js";
import {
  afterPayment,
  brief,
  cipher,
  closed,
  type FlowFixture,
  flowFixture,
  isList,
  isPayment,
  onPayment,
  request,
} from "../flow-fixture.js";
import { all, errorOf } from "../results.js";

const resolution = { by: "Olga Operator", why: "the service's back office confirmed it" };

function expectPaused(error: unknown, phase: string): void {
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({ code: "flow_paused", effect: "possible", key: "k", phase });
  expect(error).not.toHaveProperty("funds");
  expect((error as Error).message).not.toContain("Nothing was");
}

/** The service made the payment and its response was lost; looks fail as `looked` says until `mend` is called. */
async function lostFixture(
  looked: () => Response | undefined,
  defaults?: Partial<PaymentFlowOptions>,
): Promise<FlowFixture & { mend(): void }> {
  let isMended = false;
  const fixture = await flowFixture(
    {
      onResponse: (seen) => (isPayment(seen) ? Response.error() : undefined),
      onRequest: (seen) => {
        if (isMended || !isList(seen) || !fixture.sandbox.requests.some(isPayment)) return undefined;
        return looked();
      },
    } satisfies SandboxOptions,
    defaults,
  );
  return {
    ...fixture,
    mend: () => {
      isMended = true;
    },
  };
}

/** A journal whose named write fails `times` times, after it has stored or without. */
function failing(journal: Journal, phase: string, times: number, stored: "nothing" | "unknown"): Journal {
  let left = times;
  const fail = async (state: JournalState, write: () => Promise<unknown>): Promise<void> => {
    if (state.phase !== phase || left-- <= 0) return;
    if (stored === "unknown") await write();
    throw new JournalError("the disk failed", { stored });
  };
  return boundJournal(journal, {
    begin: async (key, scope, state, lease) => {
      await fail(state, () => journal.begin(key, scope, state, lease));
      return journal.begin(key, scope, state, lease);
    },
    write: async (key, id, state, leaseMs) => {
      await fail(state, () => journal.write(key, id, state, leaseMs));
      return journal.write(key, id, state, leaseMs);
    },
    replaceQuote: async (key, seen, state, lease, expired) => {
      await fail(state, () => journal.replaceQuote(key, seen, state, lease, expired));
      return journal.replaceQuote(key, seen, state, lease, expired);
    },
  });
}

/** Stores a flow whose state can't be read, and that is nobody's. */
async function unreadable(journal: Journal, key: string): Promise<void> {
  const { entry } = await journal.begin(
    key,
    { service: "https://service.test", gateway: "alpha-bank" },
    { phase: "unknown", settled: false, data: "{", evidence: "" },
    { owner: "a program", leaseMs: 300, nonce: "n" },
  );
  await journal.release(key, entry);
}

describe("never says `none` of a payment that was made", () => {
  it.each([
    ["gets 503", () => new Response("", { status: 503 })],
    [
      "gets 401, also with a new token",
      () => Response.json({ error: "invalid_token", message: "no" }, { status: 401 }),
    ],
    ["gets 429", () => Response.json({ error: "slow_down", message: "no" }, { status: 429 })],
    ["gets a page of HTML", () => new Response("<html>", { headers: { "content-type": "text/html" } })],
    ["gets no response", () => Response.error()],
  ])("when a look %s", async (_, looked) => {
    const { flow, sandbox, mend, bank } = await lostFixture(looked);
    const error = await errorOf(flow().run("k", request));
    expect(sandbox.payments).toHaveLength(1);
    expectPaused(error, "unknown");
    const [payment] = sandbox.payments;
    expect((error as FlowPausedError).request).toEqual({
      path: "/payments",
      body: payment?.creationRequestBody,
      signature: payment?.creationRequestSignatureBase64,
    });
    expect(JSON.stringify(error)).not.toContain(request.receiverAccount);
    mend();
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect([bank.calls, bank.released]).toEqual([1, []]);
  });

  it("although a look is strict about what it reads", async () => {
    const { flow, sandbox } = await flowFixture({
      onResponse: async (seen, response) => {
        if (isPayment(seen)) return Response.error();
        if (!isList(seen) || sandbox.payments.length === 0) return undefined;
        const records = JSON.parse(await response.clone().text()) as object[];
        return Response.json(records.map((record) => ({ ...record, senderAmount: 5 })));
      },
    });
    const outcome = await flow({}, { validation: "strict" }).run("k", request);
    expect(outcome).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("when the client is closed between two looks", async () => {
    const { flow, sandbox, client, mend } = await lostFixture(() => Response.json([]));
    const waiting = flow({ client, readBackDelayMs: 300 }).run("k", request);
    const error = errorOf(waiting);
    await eventually(() => expect(sandbox.requests.filter(isList).length).toBeGreaterThan(1));
    await client.close();
    expectPaused(await error, "unknown");
    mend();
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  });

  it.each([400, 429])("when sending again is answered with %s", async (status) => {
    const { flow, sandbox, bank } = await flowFixture(
      {
        onResponse: (seen) => (isPayment(seen) ? Response.error() : undefined),
        onRequest: (seen) => {
          if (isList(seen)) return Response.json([]);
          if (!isPayment(seen) || sandbox.payments.length === 0) return undefined;
          return Response.json({ error: "no", message: "no" }, { status });
        },
      },
      brief,
    );
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    expect(await flow().resolve("k", "resend", resolution)).toMatchObject({ status: "held", response: { status } });
    expect(sandbox.payments).toHaveLength(1);
    expect(await flow().outcome("k")).toMatchObject({ status: "held" });
    expect(bank.released).toEqual([]);
  });

  it.each(["paid", "claimed"])("when the journal can't store %s", async (phase) => {
    const { flow, sandbox, journal } = await flowFixture({}, brief);
    const error = await errorOf(flow({ journal: failing(journal, phase, 99, "nothing") }).run("k", request));
    expect(error).toMatchObject({ cause: { code: "journal_failed" } });
    expectPaused(error, phase === "paid" ? "claimed" : "funds-requested");
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it.each(["nothing", "unknown"] as const)(
    "when the journal can't store that nobody knows the outcome (stored: %s)",
    async (stored) => {
      const { flow, sandbox, journal } = await lostFixture(() => undefined);
      const error = await errorOf(flow({ journal: failing(journal, "unknown", 99, stored) }).run("k", request));
      expect(error).toMatchObject({ cause: { code: "journal_failed" } });
      expectPaused(error, "claimed");
      expect(await flow().run("k", request)).toMatchObject({
        status: "paid",
        payment: { id: sandbox.payments[0]?.id },
      });
      expect(sandbox.payments).toHaveLength(1);
    },
  );

  it("when the caller stops waiting for another process", async () => {
    const { promise: closed, resolve: open } = deferred();
    const { flow, journal, bank, sandbox } = await flowFixture();
    const takeFunds: FlowFixture["bank"]["takeFunds"] = (context) => bank.takeFunds(context);
    const owner = flow({ takeFunds: (context) => closed.then(() => takeFunds(context)) }).run("k", request);
    await eventually(async () => expect((await journal.read("k"))?.phase).toBe("funds-requested"));
    const error = await errorOf(flow().run("k", request, { signal: AbortSignal.timeout(20) }));
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", key: "k", cause: { code: "aborted" } });
    open();
    expect(await owner).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("when the first write was stored although it failed", async () => {
    const { flow, journal, sandbox } = await flowFixture({}, brief);
    const error = await errorOf(
      flow({ journal: failing(journal, "funds-requested", 99, "unknown") }).run("k", request),
    );
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", key: "k", cause: { code: "journal_failed" } });
    // Once the lease has ended.
    const recovered = () => all(flow().recover());
    await expect.poll(recovered).toMatchObject([{ key: "k", status: "paid" }]);
    expect(sandbox.payments).toHaveLength(1);
  });

  it("and says it where the first write certainly stored nothing", async () => {
    const { flow, journal } = await flowFixture();
    const error = await errorOf(
      flow({ journal: failing(journal, "funds-requested", 99, "nothing") }).run("k", request),
    );
    expect(error).toMatchObject({ code: "journal_failed", effect: "none" });
    expect(await journal.read("k")).toBeUndefined();
  });
});

describe.each([
  ["an empty object", () => ({})],
  ["a maintenance notice", () => ({ status: "maintenance" })],
  ["somebody else's record", (other: object | undefined) => ({ ...other })],
] as const)("a 2xx with %s", (_, bodyOf) => {
  it("settles nothing: the payment that was made is found, and its own record is the outcome", async () => {
    let respond = (): Response | undefined => undefined;
    const { flow, sandbox, bank } = await flowFixture(afterPayment(() => respond()));
    await flow().run("other", request);
    const [other] = sandbox.payments;
    respond = () => Response.json(bodyOf(other));
    const outcome = await flow().run("k", request);
    const [, own] = sandbox.payments;
    expect(outcome).toMatchObject({
      status: "paid",
      payment: { id: own?.id, senderGatewayTransactionId: bank.taken.get("k") },
    });
    expect(sandbox.payments).toHaveLength(2);
  });

  it("is not taken for a payment that was never made", async () => {
    let respond = (): Response | undefined => undefined;
    const { flow, sandbox, bank } = await flowFixture(onPayment(() => respond()));
    await flow().run("other", request);
    const [other] = sandbox.payments;
    respond = () => Response.json(bodyOf(other));
    expect(await flow().run("k", request)).toMatchObject({ status: "held", response: { status: 200 } });
    expect([sandbox.payments.length, bank.released]).toEqual([1, []]);
  });
});

describe("a definite no", () => {
  /** What a proxy says in the service's place, after the service has made the payment. */
  const answers = [400, 401, 422, 429].map((status) => [status, { error: "dup", message: "no" }] as const);

  it.each<readonly [number, object]>([
    ...answers,
    [400, { error: "duplicate", message: "the intent has been paid" }],
    // Spring's words, and NestJS's.
    [400, { timestamp: "2026-01-01T00:00:00Z", status: 400, error: "Bad Request", message: "no", path: "/" }],
    [400, { statusCode: 400, error: "Bad Request", message: "Validation failed" }],
  ])(
    "of %s that somebody else gave does not release the money of a payment that is there: %j",
    async (status, body) => {
      const { flow, sandbox, bank } = await flowFixture(afterPayment(() => Response.json(body, { status })));
      const outcome = await flow().run("k", request);
      expect(sandbox.payments).toHaveLength(1);
      expect(outcome).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
      expect([sandbox.requests.filter(isPayment).length, bank.released]).toEqual([1, []]);
    },
  );

  it.each(answers)(
    "of %s that somebody else gave is not believed before a payment is listed that came late",
    async (status) => {
      let refusedAtMs = Number.POSITIVE_INFINITY;
      const { flow, sandbox, bank } = await flowFixture({
        onResponse: (seen) => {
          if (!isPayment(seen)) return undefined;
          refusedAtMs = Date.now();
          return Response.json({ error: "dup", message: "no" }, { status });
        },
        // Less than the time that a flow waits after a refusal.
        onRequest: (seen) => (isList(seen) && Date.now() < refusedAtMs + 100 ? Response.json([]) : undefined),
      });
      expect(await flow({ readBackDelayMs: 250 }).run("k", request)).toMatchObject({ status: "paid" });
      expect([sandbox.payments.length, sandbox.requests.filter(isPayment).length, bank.released]).toEqual([1, 1, []]);
    },
  );

  it("releases the money after a look that could see every payment", async () => {
    const order: string[] = [];
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => {
        order.push(seen.operation ?? "");
        return isPayment(seen) ? Response.json({ error: "limit", message: "no" }, { status: 400 }) : undefined;
      },
    });
    const releaseFunds: FlowFixture["bank"]["releaseFunds"] = (context) => {
      order.push("release");
      bank.releaseFunds(context);
    };
    expect(await flow({ releaseFunds }).run("k", request)).toMatchObject({
      status: "rejected",
      refusal: { status: 400, code: "limit" },
    });
    const after = order.slice(order.indexOf("payments.create") + 1);
    expect(after.filter((step) => step === "payments.list").length).toBeGreaterThanOrEqual(1);
    expect(after.at(-1)).toBe("release");
    expect(bank.released).toEqual(["k"]);
  });

  it.each([
    ["could not see every payment", { senderGatewayTransactionId: "another" }],
    ["saw one that looks like it", { senderGatewayTransactionId: "TX-1", pagingToken: "1" }],
  ])("holds it after looks that %s", async (_, listed) => {
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => {
        if (isPayment(seen)) return Response.json({ error: "limit", message: "no" }, { status: 400 });
        return isList(seen) && bank.calls > 0 ? Response.json([listed]) : undefined;
      },
    });
    expect(await flow().run("k", request)).toMatchObject({
      status: "held",
      response: { status: 400, serviceCode: "limit" },
    });
    expect(bank.released).toEqual([]);
  });

  it("releases the money when it comes after a passing refusal that was looked into", async () => {
    let calls = 0;
    const { flow, bank } = await flowFixture({
      onRequest: (seen) => {
        if (!isPayment(seen)) return undefined;
        return Response.json({ error: "no", message: "no" }, { status: ++calls === 1 ? 429 : 400 });
      },
    });
    expect(await flow().run("k", request)).toMatchObject({ status: "rejected", refusal: { status: 400 } });
    expect([calls, bank.released]).toEqual([2, ["k"]]);
  });
});

describe.each(["release", "resend"] as const)("%s by an operator", (action) => {
  it("is refused when the payment is there by then", async () => {
    const { flow, mend, sandbox, bank } = await lostFixture(() => Response.json([]), brief);
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    mend();
    for (const withoutProof of [undefined, true]) {
      const error = await errorOf(flow().resolve("k", action, { ...resolution, withoutProof }));
      const message = 'resolve: the payment is there, so the flow can only be resolved as "found"';
      expect(error).toMatchObject({ code: "flow_payment_found", effect: "possible", message });
    }
    expect([sandbox.requests.filter(isPayment).length, bank.released]).toEqual([1, []]);
    expect(await flow().resolve("k", "found", resolution)).toMatchObject({ status: "paid" });
  });

  it.each([
    [
      "can't see every payment",
      () => Response.json([{ senderGatewayTransactionId: "another" }]),
      "flow_payment_unseen",
    ],
    ["sees a lookalike", () => Response.json([{ senderGatewayTransactionId: "TX-1" }]), "flow_payment_unseen"],
    ["fails", () => new Response("", { status: 503 }), "flow_paused"],
  ])("is refused when the look %s, unless it is to be decided even so", async (_, looked, code) => {
    let isHeld = false;
    const { flow, sandbox, bank } = await lostFixture(() => (isHeld ? looked() : Response.json([])), brief);
    expect(await flow().run("k", request)).toMatchObject({ status: "held" });
    isHeld = true;
    const error = await errorOf(flow().resolve("k", action, resolution));
    expect(error).toMatchObject({ code, effect: "possible" });
    expect([sandbox.requests.filter(isPayment).length, bank.released]).toEqual([1, []]);
    expect(await flow().outcome("k")).toMatchObject({ status: "held", decisions: [] });
    await flow({ leaseMs: 60_000 })
      .resolve("k", action, { ...resolution, withoutProof: true })
      .catch(() => {});
    expect([sandbox.requests.filter(isPayment).length, bank.released]).toEqual(
      action === "resend" ? [2, []] : [1, ["k"]],
    );
  });

  it("waits until the request can no longer be sent", async () => {
    const { flow, bank } = await flowFixture({ onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined) });
    const outcome = await flow({ leaseMs: stretched(1500) }).run("k", request);
    if (outcome.status !== "held") throw new Error(`is ${outcome.status}`);
    await flow({ leaseMs: stretched(1500) }).resolve("k", action, resolution);
    expect(Date.now()).toBeGreaterThanOrEqual(outcome.claim?.sendByMs ?? 0);
    expect(bank.released).toEqual(action === "release" ? ["k"] : []);
  });
});

it.each(["nothing", "unknown"] as const)("writes again what could not be written (stored: %s)", async (stored) => {
  for (const phase of ["funds-requested", "claimed", "paid"]) {
    const { flow, journal, sandbox } = await flowFixture();
    const outcome = await flow({ journal: failing(journal, phase, 2, stored), leaseMs: 10_000 }).run("k", request);
    expect(outcome).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  }
});

describe("an intent of which nobody knows whether it was made", () => {
  it.each([
    ["gets 503", () => new Response("", { status: 503 }), "http_503"],
    ["gets no response", () => Response.error(), "outcome_unknown"],
    [
      "gets a response that is cut short",
      () => new Response("{", { headers: { "content-type": "application/json" } }),
      "unexpected_response",
    ],
  ])("moves nothing: run and quote say `none` when it %s", async (_, respond, code) => {
    const { flow, journal, bank } = await flowFixture({
      onResponse: ({ operation }) => (operation === "paymentIntents.create" ? respond() : undefined),
    });
    for (const failed of [flow().run("k", request), flow().quote("k", request)]) {
      const error = await errorOf(failed);
      expect(error).toMatchObject({ code, effect: "none", operation: "paymentIntents.create", cause: { code } });
      expect((error as CrossBorderError).cause).not.toHaveProperty("effect", "none");
      expect((error as Error).message).toContain(`the same key can be used again (paymentIntents.create: ${code})`);
    }
    expect([await journal.read("k"), bank.calls]).toEqual([undefined, 0]);
  });

  it("says so of a quote that could not be renewed as well", async () => {
    let isAway = false;
    const { flow } = await flowFixture({
      onResponse: ({ operation }) =>
        isAway && operation === "paymentIntents.create" ? new Response("", { status: 503 }) : undefined,
    });
    const quoting = flow({ quoteTtlMs: 1000 });
    await quoting.quote("k", request);
    isAway = true;
    await eventually(async () => expect((await quoting.status("k"))?.isExpired).toBe(true));
    for (const failed of [quoting.quote("k", request), quoting.run("k", request)]) {
      expect(await errorOf(failed)).toMatchObject({ code: "http_503", effect: "none", cause: { effect: "possible" } });
    }
  });
});

it("says `none` of a quote that could not be cancelled, and what failed", async () => {
  const { flow, journal } = await flowFixture();
  await flow().quote("k", request);
  const replaceQuote = () =>
    Promise.reject(new JournalError("the disk failed", { stored: "unknown", effect: "possible" }));
  const error = await errorOf(flow({ journal: boundJournal(journal, { replaceQuote }) }).cancel("k"));
  expect(error).toMatchObject({ code: "journal_failed", effect: "none", cause: { effect: "possible" } });
  expect(error.message).toContain("the same key can be used again (journal_failed)");
});

describe("what the journal shows of a flow that a call sent the payment of, and lost", () => {
  it.each<[string, (own: JournalEntry, declined: JournalEntry) => JournalEntry | undefined, string]>([
    ["another flow's row", (own, { phase, data, settled }) => ({ ...own, phase, data, settled }), "flow_unreadable"],
    ["nothing", () => undefined, "flow_unknown"],
    ["its quote, which has expired", (own) => ({ ...own, isExpired: true }), "quote_expired"],
  ])("may be %s: the error does not say that nothing was done", async (_, shown, code) => {
    const { flow, sandbox, journal } = await lostFixture(() => Response.json([]));
    await flow().quote("declined", request);
    await flow().cancel("declined");
    const { intent } = await flow().quote("k", request);
    const [quoted, declined] = await Promise.all([journal.read("k"), journal.read("declined")]);
    if (quoted === undefined || declined === undefined) throw new Error("there is no flow");
    const isLost = () => sandbox.payments.length > 0;
    const lossy = boundJournal(journal, {
      read: async (key) => (isLost() ? shown(quoted, declined) : journal.read(key)),
      write: async (...args) => (isLost() ? false : journal.write(...args)),
    });
    const error = await errorOf(flow({ journal: lossy }).confirm("k", { intentId: intent.id }));
    expect(sandbox.payments).toHaveLength(1);
    expect(error).toMatchObject({ code: "flow_paused", effect: "possible", cause: { code } });
  });

  it("may be another flow's row, also for a call that has done nothing itself", async () => {
    const { flow, journal } = await lostFixture(() => Response.json([]));
    await flow().quote("declined", request);
    await flow().cancel("declined");
    const { intent } = await flow().quote("k", request);
    const copied = boundJournal(journal, {
      read: async (key) => {
        const [entry, declined] = await Promise.all([journal.read(key), journal.read("declined")]);
        return entry && declined && { ...entry, phase: declined.phase, data: declined.data, settled: declined.settled };
      },
    });
    const other = flow({ journal: copied });
    for (const called of [other.confirm("k", { intentId: intent.id }), other.cancel("k"), other.quote("k", request)]) {
      expect(await errorOf(called)).toMatchObject({ effect: "possible", cause: { code: "flow_unreadable" } });
    }
  });
});

describe("one unreadable row", () => {
  async function withUnreadableRow(phase: string, settled: boolean): Promise<FlowFixture> {
    const fixture = await lostFixture(() => Response.json([]));
    for (const key of ["a", "b", "c"]) await fixture.flow({ cipher }).run(key, request);
    const id = await fixture.journal.acquire("b", { owner: "a program", leaseMs: 300, nonce: "n" });
    if (id === undefined) throw new Error("the flow is leased");
    await fixture.journal.write("b", id, { phase, settled, data: "{", evidence: "" });
    await fixture.journal.release("b", id);
    return fixture;
  }

  it("hides no held flow, and is named at the end", async () => {
    const { flow } = await withUnreadableRow("held", true);
    const keys: string[] = [];
    const listing = (async () => {
      for await (const found of flow({ cipher }).held()) if (found.status !== "elsewhere") keys.push(found.key);
    })();
    const error = await errorOf(listing);
    expect(keys).toEqual(["a", "c"]);
    expect(error).toBeInstanceOf(AggregateError);
    expect(error).toMatchObject({ message: expect.stringContaining('"b"'), errors: [{ code: "flow_unreadable" }] });
  });

  it("keeps no other from being recovered, is named at the end, and is nobody's", async () => {
    const { flow, journal } = await withUnreadableRow("unknown", false);
    const error = await errorOf(all(flow({ cipher }).recover()));
    expect(error).toMatchObject({
      message: expect.stringContaining('"b"'),
      errors: [{ code: "flow_paused", key: "b", effect: "possible", cause: { code: "flow_unreadable" } }],
    });
    expect(await journal.acquire("b", { owner: "another", leaseMs: 300, nonce: "m" })).toBeDefined();
  });

  it("is told from a flow that can be run", async () => {
    const { flow } = await withUnreadableRow("unknown", false);
    const error = await errorOf(flow({ cipher }).run("b", request));
    expect(error).toMatchObject({ code: "flow_paused", key: "b", cause: { code: "flow_unreadable" } });
  });
});

it("names the flows that a failing journal kept from being recovered, and finishes the others", async () => {
  const { flow, journal } = await lostFixture(() => new Response("", { status: 503 }));
  for (const key of ["a", "b"]) await errorOf(flow().run(key, request));
  let calls = 0;
  const broken: Journal = failing(journal, "", 0, "nothing");
  const acquireAbandoned: Journal["acquireAbandoned"] = async (...args) => {
    calls += 1;
    if (calls === 2) throw new JournalError("the disk failed");
    return journal.acquireAbandoned(...args);
  };
  const recovering = all(flow({ journal: { ...broken, acquireAbandoned } }).recover());
  const { errors } = await errorOf<AggregateError>(recovering);
  expect(errors.every((one) => one instanceof CrossBorderError)).toBe(true);
  expect(errors.map(({ code }) => code).sort()).toEqual(["flow_paused", "journal_failed"]);
});

it("names the flows that it paused where the journal's release throws at once, and leaves no rejection unhandled", async () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  const { flow, journal } = await flowFixture();
  const takeFunds = closed;
  for (const key of ["a", "b"]) await errorOf(flow({ takeFunds }).run(key, request));
  await unreadable(journal, "c");
  const broken: Journal = {
    ...failing(journal, "", 0, "nothing"),
    release: () => {
      throw new Error("the journal is closed");
    },
  };
  const { errors } = await errorOf<AggregateError>(all(flow({ journal: broken, takeFunds }).recover()));
  expect(errors.map(({ code, key }) => [code, key]).sort()).toEqual([
    ["flow_paused", "a"],
    ["flow_paused", "b"],
    ["flow_paused", "c"],
  ]);
  // Node tells of them after the microtasks of a turn.
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

describe("what is paid is what was asked for and intended", () => {
  it("by three runs in a loop over one object", async () => {
    const { flow, sandbox } = await flowFixture();
    const one = { ...request };
    const outcomes = ["KE-7001", "KE-7002", "KE-7003"].map((receiverAccount) => {
      one.receiverAccount = receiverAccount;
      return flow().run(receiverAccount, one);
    });
    await Promise.all(outcomes);
    expect(sandbox.payments.map(({ receiverAccount }) => receiverAccount).sort()).toEqual([
      "KE-7001",
      "KE-7002",
      "KE-7003",
    ]);
  });

  it("whatever takeFunds does with the intent", async () => {
    const { flow, sandbox, bank } = await flowFixture();
    const outcome = await flow({
      takeFunds: (context) => {
        expect(Reflect.set(context.intent, "receiverAccount", "KE-1")).toBe(false);
        return bank.takeFunds(context);
      },
    }).run("k", request);
    expect(outcome).toMatchObject({ status: "paid", payment: { receiverAccount: request.receiverAccount } });
    expect(sandbox.payments).toMatchObject([{ receiverAccount: request.receiverAccount }]);
  });

  it("and not the intent of another request", async () => {
    let isWrong = true;
    const { flow, bank, sandbox } = await flowFixture({
      onResponse: async ({ operation }, response) => {
        if (operation !== "paymentIntents.create" || !isWrong) return undefined;
        const intent = JSON.parse(await response.clone().text()) as object;
        return Response.json({ ...intent, receiverAccount: "KE-7001" });
      },
    });
    const error = await errorOf(flow().run("k", request));
    expect(error).toMatchObject({
      code: "intent_mismatch",
      effect: "none",
      message: expect.stringContaining("differs in receiverAccount"),
    });
    expect([bank.calls, sandbox.payments]).toEqual([0, []]);
    isWrong = false;
    expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  });
});

it("is paid by a record that repeats the request in another form, which is reported", async () => {
  const { flow, sandbox } = await flowFixture({
    onResponse: async (seen, response) => {
      if (!isPayment(seen)) return undefined;
      const record = JSON.parse(await response.clone().text()) as { creationRequestBody: string };
      const creationRequestBody = JSON.stringify(JSON.parse(record.creationRequestBody), null, 1);
      return Response.json({ ...record, creationRequestBody, creationRequestSignatureBase64: "AAAA" }, response);
    },
  });
  const mismatches: unknown[] = [];
  const on = { mismatch: (event: { readonly field: string }) => void mismatches.push(event.field) };
  expect(await flow({}, { on }).run("k", request)).toMatchObject({ status: "paid" });
  expect(mismatches).toEqual(["creationRequestBody", "creationRequestSignatureBase64"]);
  expect(sandbox.payments).toHaveLength(1);
});

describe("extras nested 20,000 deep", () => {
  const extras = `${'{"a":['.repeat(10_000)}1${"]}".repeat(10_000)}`;
  const deepen = (operation: string): SandboxOptions => ({
    onResponse: async (seen, response) => {
      if (seen.operation !== operation) return undefined;
      const text = await response.clone().text();
      return new Response(text.replace('"extras":null', `"extras":${extras}`), {
        status: response.status,
        headers: { "content-type": "application/json" },
      });
    },
  });

  it("in the payment's response: the flow is paid, also when it is run again", async () => {
    const { flow, sandbox } = await flowFixture(deepen("payments.create"));
    expect((await flow().run("k", request)).status).toBe("paid");
    expect((await flow().run("k", request)).status).toBe("paid");
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("in the intent: no money is taken, and the cause says why", async () => {
    const { flow, bank } = await flowFixture(deepen("paymentIntents.create"));
    const error = await errorOf(flow().run("k", request));
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("levels") });
    expect(bank.calls).toBe(0);
  });
});

describe("a signer that can't sign", () => {
  const failing = async (): Promise<Uint8Array> => {
    throw new Error("the key service is away");
  };

  it("is found before money is taken, by pay and by a flow", async () => {
    const { flow, bank, client, sandbox } = await flowFixture();
    const { publicKey } = keyPairOf("stranger");
    const signingKey = { publicKey, sign: failing };
    const error = await errorOf(flow({}, { signingKey }).run("k", request));
    expect(error).toMatchObject({ code: "signing_failed", effect: "none" });
    const other = new CrossBorderClient({
      ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
      signingKey,
      fetch: sandbox.fetch,
    });
    expect(await errorOf(other.pay(request, () => bank.takeFunds({ key: "k" })))).toMatchObject({
      code: "signing_failed",
      effect: "none",
    });
    expect([bank.calls, sandbox.payments]).toEqual([0, []]);
    expect(await flow({ client }).run("k", request)).toMatchObject({ status: "paid" });
  });

  it("keeps no operator from resolving a flow whose money was taken", async () => {
    for (const action of ["release", "found"] as const) {
      const { flow, bank } = await flowFixture();
      const { privateKey, publicKey } = keyPairOf("stranger");
      let isAway = false;
      const sign = async (text: Uint8Array) =>
        isAway ? failing() : createSign("sha256").update(text).sign(privateKey);
      const takeFunds: PaymentFlowOptions["takeFunds"] = (context) => {
        isAway = true;
        return bank.takeFunds(context);
      };
      const started = flow({ takeFunds }, { signingKey: { publicKey, sign } });
      for (let round = 0; round < 3; round += 1)
        expectPaused(await errorOf(started.run("k", request)), "funds-requested");
      expect(await all(started.held())).toMatchObject([{ status: "stuck", failures: { code: "signing_failed" } }]);
      if (action === "found") {
        expect(await errorOf(started.resolve("k", action, resolution))).toMatchObject({
          code: "flow_payment_not_found",
        });
      } else {
        expect(await started.resolve("k", action, resolution)).toMatchObject({ status: "rejected" });
      }
      expect(bank.released).toEqual(action === "found" ? [] : ["k"]);
    }
  });

  it("is tried once in the life of a client", async () => {
    const { bank, sandbox } = await flowFixture();
    const { privateKey, publicKey } = keyPairOf("stranger");
    const signed: string[] = [];
    const signingKey = {
      publicKey,
      sign: async (text: Uint8Array) => {
        signed.push(Buffer.from(text).toString());
        return createSign("sha256").update(text).sign(privateKey);
      },
    };
    const client = new CrossBorderClient({
      ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
      signingKey,
      fetch: sandbox.fetch,
    });
    // The sandbox knows another key, so the payments themselves are refused.
    for (const key of ["a", "b"]) await errorOf(client.pay(request, () => bank.takeFunds({ key })));
    expect(signed.map((text) => text.slice(0, 10))).toEqual(["/", "/payments{", "/payments{"]);
  });
});
