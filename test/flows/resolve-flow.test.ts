import type { Payment } from "cross-border-payments";
import {
  type FlowEvent,
  FlowPausedError,
  JournalError,
  MemoryJournal,
  type ResolveAction,
} from "cross-border-payments/flow";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkResolution } from "../../src/flows/check-resolution.js";
import { FlowCall } from "../../src/flows/flow-call.js";
import { toFlowContext } from "../../src/flows/flow-options.js";
import { decideFlow } from "../../src/flows/resolve-flow.js";
import { Alarm } from "../../src/timing/alarm.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { boundJournal } from "./bound-journal.js";
import { closed, flowFixture, isList, isPayment, request } from "./flow-fixture.js";
import { RestorableJournal } from "./restorable-journal.js";
import { errorOf } from "./results.js";

const decision = { by: "Olga Operator", why: "the service's back office looked" };

/** Long enough for a busy machine. */
const leaseMs = 60_000;

/** A held flow, whose payment nobody knows anything about, and whose later looks are answered as the test says. */
async function heldFixture() {
  let looked: ((query: string) => Response | undefined) | undefined;
  let aheadMs = 0;
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen)) return Response.json({ message: "upstream timed out" }, { status: 504 });
      return isList(seen) ? looked?.(seen.query) : undefined;
    },
  });
  const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const held = await fixture.flow({ journal, leaseMs }).run("k", request);
  if (held.status !== "held") throw new Error(`is ${held.status}`);
  // Its request can no longer be sent.
  const realNow = Date.now;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => realNow() + leaseMs);
  onTestFinished(() => clock.mockRestore());
  const { client, bank } = fixture;
  const { takeFunds, releaseFunds } = bank;
  const context = toFlowContext({ client, journal, takeFunds, releaseFunds, leaseMs });
  return {
    ...fixture,
    held,
    journal,
    flow: (...[options, client]: Parameters<typeof fixture.flow>) =>
      fixture.flow({ journal, leaseMs, ...options }, client),
    onLook: (respond: (query: string) => Response | undefined) => {
      looked = respond;
    },
    /** Another process gets the flow, for which the lease has ended before it does for its owner. */
    takeOver: async () => {
      aheadMs = leaseMs;
      const entry = await journal.acquire("k", { owner: "another process", leaseMs, nonce: "m" });
      expect(entry).toBeDefined();
      return entry;
    },
    decide: (action: ResolveAction, more: { readonly withoutProof?: true } = {}) => {
      const call = new FlowCall(undefined, new Alarm(), undefined);
      return decideFlow(context, "k", checkResolution(action, { ...decision, ...more }), call);
    },
  };
}

const bare = (payment: Partial<Payment>) => () => Response.json([payment]);

describe("what resolve is given", () => {
  it.each([
    ["pay", decision, 'the action must be "found", "release" or "resend"'],
    ["release", undefined, "by must be who decides, in 200 characters or fewer; found undefined"],
    ["release", "because", "the decision must be an object"],
    ["release", { by: "Olga Operator" }, "why must be on what grounds it is decided"],
    ["release", { ...decision, by: 5 }, "by must be who decides, in 200 characters or fewer; found 5"],
    ["release", { ...decision, why: "" }, "why must be on what grounds it is decided"],
    [
      "release",
      { ...decision, why: "w".repeat(2001) },
      "grounds it is decided, in 2000 characters or fewer; found a string",
    ],
    [
      "found",
      { ...decision, payment: { note: "é".repeat(140_000) } },
      "as JSON of 262144 bytes or fewer; found an object",
    ],
    ["release", { ...decision, withoutproof: true }, 'Did you mean "withoutProof"?'],
    ["found", { ...decision, payment: null }, "payment must be the service's record of the payment"],
    ["found", { ...decision, payment: "payment-1" }, "payment must be the service's record of the payment"],
    ["resend", { ...decision, payment: {} }, 'for "found" only, not for "resend"'],
    ["found", { ...decision, withoutProof: true }, 'withoutProof is for "release" and "resend" only'],
    ["found", { ...decision, withoutProof: "no" }, "withoutProof must be true or false"],
    ["release", { ...decision, withoutProof: null }, "withoutProof must be true or false"],
    ["resend", { ...decision, withoutProof: "yes" }, "withoutProof must be true or false"],
  ])("is refused before anything is done (case %#): %s", async (action, resolution, message) => {
    const { flow } = await flowFixture();
    const error = await errorOf(flow().resolve("k", action as "release", resolution as never));
    expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining(message) });
    expect(String(Object(error).message)).toMatch(/^resolve: /);
  });

  it("is accepted up to the longest that it may be", () => {
    const longest = { by: "b".repeat(200), why: "w".repeat(2000) };
    expect(checkResolution("release", longest).decision).toMatchObject(longest);
    const payment = (characters: number) => ({ note: "n".repeat(characters) }) as never;
    const around = '{"note":""}'.length;
    const found = checkResolution("found", { ...longest, payment: payment(256 * 1024 - around) });
    expect(found.payment).toEqual(payment(256 * 1024 - around));
    const tooLong = { ...longest, payment: payment(256 * 1024 - around + 1) };
    expect(() => checkResolution("found", tooLong)).toThrow("payment must be the service's record of the payment");
  });

  it("is stored with when it was decided, and whether it was although not every payment could be seen", () => {
    const fromMs = Date.now();
    const { decision: plain } = checkResolution("found", { ...decision, withoutProof: false } as never);
    const { decision: unseen } = checkResolution("release", { ...decision, withoutProof: true });
    expect(plain).toEqual({ action: "found", ...decision, atMs: plain.atMs });
    expect(unseen).toEqual({ action: "release", ...decision, atMs: unseen.atMs, withoutProof: true });
    expect(plain.atMs).toBeGreaterThanOrEqual(fromMs);
    expect(unseen.atMs).toBeLessThanOrEqual(Date.now());
  });
});

it("takes no record that can't be written, before anything is done", async () => {
  const { flow } = await flowFixture();
  const payment = { id: "p-1", amount: 1n } as never;
  expect(await errorOf(flow().resolve("k", "found", { ...decision, payment }))).toMatchObject({
    code: "invalid_argument",
  });
});

describe("a flow that can't be resolved", () => {
  const notHeld = (why: string) => ({
    code: "flow_not_held",
    effect: "possible",
    message: `the flow of key "k" can't be resolved: ${why}`,
  });

  it("is one that is not there, or that another process runs", async () => {
    const { flow, journal } = await flowFixture();
    expect(await errorOf(flow().resolve("k", "release", decision))).toMatchObject(notHeld("there is no such flow"));
    await flow({ leaseMs }).run("k", request);
    await journal.acquire("k", { owner: "another process", leaseMs, nonce: "n" });
    const why = '"another process" is running it, or carries out a decision about it';
    expect(await errorOf(flow().resolve("k", "release", decision))).toMatchObject(notHeld(why));
  });

  it("is one that gets further by itself: it has not failed", async () => {
    const { flow, bank, journal } = await flowFixture();
    const stop = new AbortController();
    const takeFunds: typeof bank.takeFunds = (call) => {
      stop.abort();
      return bank.takeFunds(call);
    };
    await errorOf(flow({ takeFunds, leaseMs }).run("k", request, { signal: stop.signal }));
    expect(await errorOf(flow().resolve("k", "release", decision))).toMatchObject(notHeld("it is funds-requested"));
    expect((await journal.read("k"))?.leaseUntilMs).toBeUndefined();
    // A process with another key does not get further, and says why.
    const { privateKey } = signingKeysOf("stranger");
    const error = await errorOf(flow({}, { signingKey: privateKey }).resolve("k", "release", decision));
    expect(error).toMatchObject({ phase: "funds-requested", cause: { code: "flow_foreign" } });
  });

  it("is one that was settled and pruned", async () => {
    const { flow, journal } = await flowFixture();
    await flow().run("k", request);
    await journal.prune({ settledBeforeMs: Date.now() + leaseMs });
    expect(await errorOf(flow().resolve("k", "found", decision))).toMatchObject(notHeld("there is no such flow"));
  });

  it("is one that is settled, also for a client with another key", async () => {
    const { flow } = await flowFixture();
    await flow({ leaseMs }).run("paid", request);
    await flow({ leaseMs }).quote("quoted", request);
    const { privateKey } = signingKeysOf("stranger");
    for (const phase of ["paid", "quoted"]) {
      expect(
        await errorOf(flow({ leaseMs }, { signingKey: privateKey }).resolve(phase, "found", decision)),
      ).toMatchObject({
        ...notHeld(`it is ${phase}`),
        message: `the flow of key "${phase}" can't be resolved: it is ${phase}`,
      });
    }
  });

  it("is one that another process took over before it was decided", async () => {
    const { flow, journal, onLook, takeOver, bank } = await heldFixture();
    let taken: ReturnType<typeof takeOver> | undefined;
    onLook(() => {
      taken ??= takeOver();
      return undefined;
    });
    const error = await errorOf(flow().resolve("k", "release", decision));
    expect(error).toMatchObject(notHeld("another process took it over"));
    // The journal's incarnation is only in an entry that was just leased.
    expect(await journal.read("k")).toEqual({ ...(await taken), incarnation: undefined });
    expect(bank.released).toEqual([]);
  });
});

it("may have got a lease where the journal fails, and says that the flow still owns its payment", async () => {
  const { flow, journal, bank } = await heldFixture();
  const failure = new JournalError("the connection broke", { stored: "unknown" });
  const failing = boundJournal(journal, { acquire: () => Promise.reject(failure) });
  const error = await errorOf(flow({ journal: failing }).resolve("k", "release", decision));
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({ effect: "possible", key: "k", cause: failure });
  expect(bank.released).toEqual([]);
});

it("goes on elsewhere where another process took the flow over once it was decided", async () => {
  const { flow, journal, takeOver, bank } = await heldFixture();
  const releaseFunds = async (call: { readonly key: string }) => {
    await takeOver();
    bank.releaseFunds(call);
  };
  const error = await errorOf(flow({ releaseFunds }).resolve("k", "release", decision));
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({ code: "flow_paused", effect: "possible", key: "k", phase: "refused" });
  expect(error.cause).toBeUndefined();
  expect(await journal.read("k")).toMatchObject({ phase: "refused", owner: "another process", nonce: "m" });
});

describe("a decision that another program carries out", () => {
  it("to release is stored, and gives nothing back by itself", async () => {
    const { flow, decide, bank } = await heldFixture();
    const decided = await decide("release");
    expect(decided).toMatchObject({
      phase: "refused",
      refusal: { by: "operator", code: "released", message: decision.why },
      decisions: [{ action: "release", ...decision }],
    });
    expect(decided.history?.steps.at(-1)).toMatchObject({
      from: "held",
      to: "refused",
      durationMs: expect.any(Number),
    });
    expect([bank.released, (await flow().status("k"))?.phase]).toEqual([[], "refused"]);
    expect(await flow().run("k", request)).toMatchObject({ status: "rejected", decisions: [{ action: "release" }] });
    expect(bank.released).toEqual(["k"]);
  });

  it("to send again is stored without what came in response to the request before, and sends nothing by itself", async () => {
    const { flow, decide, sandbox } = await heldFixture();
    const decided = await decide("resend");
    expect(decided).toMatchObject({ phase: "funds-requested", decisions: [{ action: "resend" }], claims: [{}] });
    for (const field of ["response", "refusal", "reason", "claim"]) expect(decided).not.toHaveProperty(field);
    expect([sandbox.requests.filter(isPayment).length, (await flow().status("k"))?.phase]).toEqual([
      1,
      "funds-requested",
    ]);
  });

  it("is free for that program at once", async () => {
    const { decide, journal } = await heldFixture();
    await decide("release");
    expect((await journal.read("k"))?.leaseUntilMs).toBeUndefined();
  });
});

it.each([
  ["release", "keeps the look by which the money is given back", [{ claims: 1, complete: true, seen: 0 }]],
  ["resend", "needs no look of before another request", []],
] as const)("%s %s", async (action, _, added) => {
  const { flow, decide } = await heldFixture();
  const looks = (await flow().details("k"))?.looks ?? [];
  expect(await decide(action)).toMatchObject({ looks: [...looks, ...added] });
});

it("keeps no look where it failed, and the money is given back without proof", async () => {
  const { flow, decide, onLook } = await heldFixture();
  const { looks } = (await flow().details("k")) ?? {};
  onLook(() => Response.json({}, { status: 503 }));
  expect(await decide("release", { withoutProof: true })).toMatchObject({ phase: "refused", looks });
});

it("is refused where there is more to see than was looked at", async () => {
  const { flow, bank } = await heldFixture();
  const seen = "0".repeat(64);
  expect(await errorOf(flow().resolve("k", "release", { ...decision, seen }))).toMatchObject({
    code: "flow_moved_on",
    message: 'there is more to see of the flow of key "k" than was looked at: look at it again, and decide then',
  });
  expect(bank.released).toEqual([]);
});

describe("a payment that the pages of a list pass over, since its token grew meanwhile", () => {
  async function passedOver() {
    const fixture = await heldFixture();
    const [claim] = (await fixture.flow().details("k"))?.claims ?? [];
    const own = { senderGatewayTransactionId: "TX-1", creationRequestSignatureBase64: claim?.signature };
    const listed: { readonly id: string; readonly pagingToken: string }[] = Array.from({ length: 150 }, (_, index) => ({
      ...{ id: `p-${index}`, pagingToken: String(index + 1), senderGatewayTransactionId: `other-${index}` },
      ...{ createdAt: new Date(1000 * index).toISOString(), creationRequestSignatureBase64: "b3RoZXI=" },
      ...(index === 20 && own),
    }));
    fixture.onLook((query) => {
      const { _sort, _size, _after = "0", _before = "1000" } = Object.fromEntries(new URLSearchParams(query));
      const isUp = _sort !== "createdAt.desc" && _sort !== "pagingToken.desc";
      const inOrder = isUp ? listed : listed.toReversed();
      const within = inOrder.filter(({ pagingToken }) => +pagingToken > +_after && +pagingToken < +_before);
      const shown = _sort === "createdAt.asc" ? within : within.filter(({ id }) => id !== "p-20");
      return Response.json(shown.slice(0, Number(_size)));
    });
    return fixture;
  }

  it.each(["release", "resend"] as const)("is there for an operator's decision: %s", async (action) => {
    const { flow, bank } = await passedOver();
    expect(await errorOf(flow().resolve("k", action, decision))).toMatchObject({
      code: "flow_payment_found",
      message: 'resolve: the payment is there, so the flow can only be resolved as "found"',
    });
    expect(bank.released).toEqual([]);
  });

  it("is found", async () => {
    const { flow } = await passedOver();
    expect(await flow().resolve("k", "found", decision)).toMatchObject({ status: "paid", payment: { id: "p-20" } });
  });
});

describe("found without a record", () => {
  const alike = { senderGatewayTransactionId: "TX-1" };
  const twin = "a payment with the same transaction id is listed, and its signature or its content is another";

  it.each([
    ["is not listed", () => Response.json([]), "flow_payment_not_found", "it is not among the listed ones"],
    ["has a lookalike, although not all payments can be seen", bare(alike), "flow_payment_not_found", twin],
    [
      "may be one that can't be seen",
      bare({ senderGatewayTransactionId: "another" }),
      "flow_payment_unseen",
      "it may be there although it was not seen: payments without a paging token are listed",
    ],
  ])("is refused where the payment %s", async (_, respond, code, why) => {
    const { flow, onLook } = await heldFixture();
    onLook(respond);
    expect(await errorOf(flow().resolve("k", "found", decision))).toMatchObject({
      code,
      effect: "possible",
      message: `resolve: the payment was not found: ${why}. If you have its record, pass it as \`payment\``,
    });
    expect(await flow().outcome("k")).toMatchObject({ status: "held", decisions: [] });
  });
});

describe("release and resend", () => {
  it.each([
    ["release", bare({ senderGatewayTransactionId: "TX-1" }), "a payment with the same transaction id is listed"],
    [
      "resend",
      bare({ senderGatewayTransactionId: "another" }),
      "it may be there although it was not seen: payments without",
    ],
  ] as const)("say what the look came to, and how to decide all the same: %s", async (action, respond, why) => {
    const { flow, onLook } = await heldFixture();
    onLook(respond);
    const { code, message } = await errorOf(flow().resolve("k", action, decision));
    expect([code, message.startsWith(`resolve: ${why}`)]).toEqual(["flow_payment_unseen", true]);
    expect(message).toContain("pass `withoutProof: true`");
  });
});

it("reports a decision as a step of the flow, and each step that follows", async () => {
  const { flow } = await heldFixture();
  const events: FlowEvent[] = [];
  const on = { flow: (event: FlowEvent) => void events.push(event) };
  expect(await flow({ on }).resolve("k", "release", decision)).toMatchObject({ status: "rejected" });
  expect(events.map(({ from, to }) => [from, to])).toEqual([
    ["held", "refused"],
    ["refused", "rejected"],
  ]);
  expect(events.every(({ durationMs }) => durationMs >= 0)).toBe(true);
});

describe("a stuck flow for which no money is known to have been taken", () => {
  async function stuckFixture() {
    const fixture = await flowFixture();
    for (const _ of [1, 2, 3]) await errorOf(fixture.flow({ takeFunds: closed, leaseMs }).run("k", request));
    return fixture;
  }

  it.each(["release", "found"] as const)("can only be let go on: not %s", async (action) => {
    const { flow } = await stuckFixture();
    expect(await errorOf(flow().resolve("k", action, decision))).toMatchObject({
      code: "flow_not_held",
      message: expect.stringContaining(
        'it is funds-requested, and no money is known to have been taken: "resend" lets it go on',
      ),
    });
  });

  it("goes on as it was, and looks for a payment before it makes one", async () => {
    const { flow, journal, sandbox } = await stuckFixture();
    const events: FlowEvent[] = [];
    const on = { flow: (event: FlowEvent) => void events.push(event) };
    const write = vi.spyOn(journal, "write");
    const before = sandbox.requests.length;
    expect(await flow({ on, leaseMs }).resolve("k", "resend", decision)).toMatchObject({
      status: "paid",
      decisions: [],
    });
    expect(events.map(({ from, to }) => [from, to])).toEqual([
      ["funds-requested", "claimed"],
      ["claimed", "paid"],
    ]);
    expect(write.mock.calls.map(([, , { phase }]) => phase)).toEqual(["claimed", "paid"]);
    const asked = sandbox.requests.slice(before).filter((seen) => isList(seen) || isPayment(seen));
    expect(asked.findIndex(isList)).toBe(0);
    expect(asked.filter(isPayment)).toHaveLength(1);
  });
});

describe("a look before an operator's decision", () => {
  it("refuses it where a payment only looks like this flow's, although all can be seen", async () => {
    const { flow, onLook } = await heldFixture();
    const alike = { senderGatewayTransactionId: "TX-1", pagingToken: "1" };
    onLook((query) => Response.json(query.includes("_after") ? [] : [alike]));
    expect(await errorOf(flow().resolve("k", "release", decision))).toMatchObject({ code: "flow_payment_unseen" });
    onLook((query) =>
      Response.json(query.includes("_after") ? [] : [{ ...alike, senderGatewayTransactionId: "TX-9" }]),
    );
    expect(await flow().resolve("k", "release", decision)).toMatchObject({ status: "rejected" });
  });

  it.each(["found", "resend", "release"] as const)("leaves the flow as it was where it fails: %s", async (action) => {
    const { flow, journal, onLook } = await heldFixture();
    onLook(() => new Response("", { status: 503 }));
    const error = await errorOf(flow().resolve("k", action, decision));
    const paused = { code: "flow_paused", effect: "possible", key: "k", phase: "held" };
    expect(error).toMatchObject({ ...paused, cause: { code: "http_503" } });
    expect(await journal.read("k")).toMatchObject({ phase: "held", leaseUntilMs: undefined });
  });
});

describe("the record of a payment that was found", () => {
  it("is refused where it is another flow's", async () => {
    const { flow } = await heldFixture();
    const payment = { id: "p-1", senderGatewayTransactionId: "TX-9" } as Payment;
    expect(await errorOf(flow().resolve("k", "found", { ...decision, payment }))).toMatchObject({
      code: "flow_payment_not_found",
      message: "resolve: the given payment is no record with this flow's signature, body or senderGatewayTransactionId",
    });
  });

  it("is the flow's as it was given, whatever becomes of it later", async () => {
    const { flow } = await heldFixture();
    const payment = { id: "p-1", senderGatewayTransactionId: "TX-1" } as Payment;
    const resolving = flow().resolve("k", "found", { ...decision, payment });
    payment.id = "p-2";
    expect(await resolving).toMatchObject({ status: "paid", payment: { id: "p-1" } });
  });
});

/** A stuck flow whose payment was made, and whose claim was lost: its journal was restored to before it. */
async function lostClaimFixture() {
  let change: (record: object) => object = () => ({ senderGatewayTransactionId: "without a token" });
  const fixture = await flowFixture({
    onResponse: async (seen, response) => {
      if (!isList(seen)) return undefined;
      const records = JSON.parse(await response.clone().text()) as object[];
      return Response.json(records.map((record) => change(record)));
    },
  });
  await fixture.flow({ leaseMs }).run("other", request);
  const restorable = new RestorableJournal();
  const { journal } = restorable;
  const flow: typeof fixture.flow = (options, client) => fixture.flow({ journal, leaseMs, ...options }, client);
  await errorOf(flow({ takeFunds: closed }).run("k", request));
  for (const _ of [1, 2]) await errorOf(flow().run("k", request));
  expect(await flow().status("k")).toMatchObject({ failures: { count: 3, code: "flow_payment_unseen" } });
  const writes = restorable.count;
  change = (record) => record;
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  await restorable.restore(writes);
  const payment = fixture.sandbox.payments.at(-1);
  if (payment === undefined) throw new Error("there is no payment");
  return {
    ...fixture,
    flow,
    payment,
    /** Payments are listed without all of this. */
    hide: (...fields: readonly (keyof Payment)[]) => {
      change = (record) => ({ ...record, ...Object.fromEntries(fields.map((field) => [field, ""])) });
    },
  };
}

describe("a payment whose claim was lost", () => {
  const { senderGatewayId: gatewayId } = request;

  it("is found by the signature that its request has whenever it is signed", async () => {
    const { flow, payment, hide } = await lostClaimFixture();
    hide("creationRequestBody", "senderGatewayTransactionId");
    expect(await flow().resolve("k", "found", decision)).toMatchObject({ status: "paid", payment: { id: payment.id } });
  });

  it("is found by its body where the client has another key", async () => {
    const { flow, payment } = await lostClaimFixture();
    const { privateKey } = signingKeysOf("stranger");
    const rotated = flow({}, { signingKey: privateKey });
    expect(await rotated.resolve("k", "found", decision)).toMatchObject({
      status: "paid",
      payment: { id: payment.id },
    });
  });

  it.each(["release", "resend"] as const)(
    "stands against %s without proof, after the key was changed too",
    async (action) => {
      const { flow, bank } = await lostClaimFixture();
      const { privateKey } = signingKeysOf("stranger");
      for (const client of [{}, { signingKey: privateKey }]) {
        const resolved = flow({ gatewayId }, client).resolve("k", action, { ...decision, withoutProof: true });
        expect(await errorOf(resolved)).toMatchObject({ code: "flow_payment_found" });
      }
      expect(bank.released).toEqual([]);
    },
  );

  it("needs no signer where its record is given", async () => {
    const { flow, payment } = await lostClaimFixture();
    const { publicKey } = signingKeysOf("stranger");
    const sign = vi.fn(() => Promise.reject(new Error("the key service is away")));
    const remote = flow({ gatewayId }, { signingKey: { publicKey, sign } });
    expect(await remote.resolve("k", "found", { ...decision, payment })).toMatchObject({ status: "paid" });
    expect(sign).not.toHaveBeenCalled();
  });

  it("is not looked for while the signer does not respond", async () => {
    const { flow, bank } = await lostClaimFixture();
    const { publicKey } = signingKeysOf("stranger");
    const signingKey = { publicKey, sign: () => new Promise<never>(() => {}) };
    const remote = flow({ gatewayId }, { signingKey, timeoutMs: 20 });
    expect(await errorOf(remote.resolve("k", "release", decision))).toMatchObject({
      code: "flow_paused",
      cause: { code: "timeout" },
    });
    expect(bank.released).toEqual([]);
  });
});

it("finds a payment by the signature that was sent, after the key was changed", async () => {
  const { flow, held, onLook } = await heldFixture();
  const { privateKey } = signingKeysOf("stranger");
  const rotated = flow({ gatewayId: request.senderGatewayId }, { signingKey: privateKey });
  onLook(bare({ id: "p-1", creationRequestSignatureBase64: held.claim?.signature ?? "" }));
  expect(await rotated.resolve("k", "found", decision)).toMatchObject({ status: "paid", payment: { id: "p-1" } });
});

it("takes the flow's own request, which the desk shows, for no record of its payment", async () => {
  const { flow } = await heldFixture();
  const details = await flow().details("k");
  const sent = JSON.parse(details?.claims?.at(-1)?.body ?? "");
  expect(sent).toMatchObject({ senderGatewayTransactionId: "TX-1" });
  for (const payment of [sent, { ...sent, senderAccount: "•••", createdAt: null }]) {
    const refused = await errorOf(flow().resolve("k", "found", { ...decision, payment }));
    expect(refused).toMatchObject({ code: "flow_payment_not_found" });
  }
  const payment = { ...sent, id: "payment-1" };
  expect(await flow().resolve("k", "found", { ...decision, payment })).toMatchObject({ status: "paid", payment });
});
