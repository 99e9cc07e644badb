import { CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { FlowPausedError, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { Bank, brief, cipher, closed, flowFixture, isPayment, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

type Seen = { readonly operation: string | undefined };
const lease = { owner: "a program", leaseMs: 300, nonce: "n" };
const refuse = (seen: Seen) =>
  isPayment(seen) ? Response.json({ error: "limit", message: "no" }, { status: 400 }) : undefined;

/** Two gateways with a key and a bank of their own, over one journal. */
async function gatewaysFixture(sandboxOptions: Parameters<typeof flowFixture>[0] = {}) {
  const { client, sandbox, journal, bank, flow } = await flowFixture(sandboxOptions);
  const { privateKey, publicKeyBase64 } = signingKeysOf("stranger");
  await client.paymentGateways.create({
    institutionId: "gamma-bank",
    currency: "EUR",
    rsaPublicKeyBase64: publicKeyBase64,
  });
  const other = new CrossBorderClient({
    ...sandbox.clientOptions({ baseUrl: "https://service.test", authUrl: "https://login.test" }),
    signingKey: privateKey,
    fetch: sandbox.fetch,
    maxRetries: 0,
  });
  const otherBank = new Bank();
  const common = { journal, leaseMs: 5000, readBackDelayMs: 10 };
  const ofGamma = { ...request, senderGatewayId: "gamma-bank" };
  return {
    sandbox,
    journal,
    bank,
    otherBank,
    ofGamma,
    alpha: (gatewayId?: string, takeFunds = bank.takeFunds) => flow({ gatewayId, takeFunds }),
    gamma: (gatewayId?: string, takeFunds = otherBank.takeFunds) =>
      new PaymentFlow({ ...common, client: other, takeFunds, releaseFunds: otherBank.releaseFunds, gatewayId }),
  };
}

describe("two gateways over one journal", () => {
  it("leave each other's flows alone where gatewayId is given", async () => {
    const { alpha, gamma, bank, otherBank, ofGamma, journal, sandbox } = await gatewaysFixture({ onRequest: refuse });
    await errorOf(gamma("gamma-bank", closed).run("k", ofGamma));
    const before = await journal.read("k");
    expect(await all(alpha("alpha-bank").recover())).toEqual([]);
    expect(await all(alpha("alpha-bank").held())).toEqual([]);
    expect(await all(alpha("alpha-bank").list())).toEqual([]);
    expect(await alpha("alpha-bank").counts()).toMatchObject({ "funds-requested": 0 });
    for (const work of [
      alpha("alpha-bank").run("k", request),
      alpha("alpha-bank").confirm("k", { intentId: "any" }),
      alpha("alpha-bank").cancel("k"),
      alpha("alpha-bank").quote("k", request),
      alpha("alpha-bank").status("k"),
      alpha("alpha-bank").resolve("k", "release", { by: "Olga Operator", why: "a mistake" }),
    ]) {
      const error = await errorOf(work);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error).toMatchObject({ code: "flow_foreign", effect: "possible" });
      expect(error.message).toMatch(/^the flow of key "k" belongs to another gateway, .* of that gateway can/);
    }
    expect((await journal.read("k"))?.data).toBe(before?.data);
    expect([bank.calls, bank.released, sandbox.requests.filter(isPayment)]).toEqual([0, [], []]);
    expect(await all(gamma("gamma-bank").recover())).toMatchObject([{ key: "k", status: "rejected" }]);
    expect([otherBank.released, bank.released]).toEqual([["k"], []]);
  });

  it("are told apart by their keys where it is not given, and the flow is free for its own at once", async () => {
    const { alpha, gamma, bank, otherBank, ofGamma, sandbox } = await gatewaysFixture();
    await errorOf(gamma(undefined, closed).run("k", ofGamma));
    const error = await errorOf(all(alpha().recover()));
    expect(error).toMatchObject({
      errors: [
        {
          code: "flow_paused",
          key: "k",
          effect: "possible",
          message: expect.stringContaining("pass its gatewayId"),
          cause: {
            code: "flow_foreign",
            effect: "possible",
            message: 'the flow of key "k" was begun with another signing key',
          },
        },
      ],
    });
    const running = await errorOf(alpha().run("k", ofGamma));
    expect(running).toBeInstanceOf(FlowPausedError);
    expect(running.message).toContain("pass its gatewayId");
    expect([bank.calls, sandbox.requests.filter(isPayment)]).toEqual([0, []]);
    expect(await all(gamma().recover())).toMatchObject([{ key: "k", status: "paid" }]);
    expect([otherBank.taken.size, sandbox.payments.length]).toEqual([1, 1]);
  });

  it("release, send and confirm nothing of each other's where it is not given", async () => {
    const { alpha, gamma, bank, ofGamma, sandbox } = await gatewaysFixture({
      onRequest: (seen) => (isPayment(seen) ? Response.error() : undefined),
    });
    expect(await gamma().run("held", ofGamma)).toMatchObject({ status: "held" });
    const decision = { by: "Olga Operator", why: "the back office looked" };
    for (const action of ["release", "resend"] as const) {
      expect(await errorOf(alpha().resolve("held", action, { ...decision, withoutProof: true }))).toMatchObject({
        cause: { code: "flow_foreign" },
      });
    }
    expect(bank.released).toEqual([]);
    const { intent } = await gamma().quote("quoted", ofGamma);
    expect(await errorOf(alpha().confirm("quoted", { intentId: intent.id }))).toMatchObject({
      code: "flow_foreign",
      effect: "none",
      message: expect.stringContaining("pass its gatewayId"),
    });
    expect([bank.calls, bank.released, sandbox.requests.filter(isPayment).length]).toEqual([0, [], 1]);
  });

  it("refuse a request of the other before any request is made", async () => {
    const { alpha, ofGamma, sandbox, journal } = await gatewaysFixture();
    const before = sandbox.requests.length;
    for (const work of [alpha("alpha-bank").run("k", ofGamma), alpha("alpha-bank").quote("k", ofGamma)]) {
      const error = await errorOf(work);
      expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining("gatewayId") });
    }
    expect([sandbox.requests.length, await journal.read("k")]).toEqual([before, undefined]);
  });

  it("make no request for a gateway whose id no journal could store", async () => {
    const { alpha, sandbox, journal } = await gatewaysFixture();
    const before = sandbox.requests.length;
    const endless = { ...request, senderGatewayId: "a".repeat(513) };
    for (const work of [alpha().run("k", endless), alpha().quote("k", endless)]) {
      const error = await errorOf(work);
      expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
      expect(error.message).toContain("gateway has 513 bytes");
    }
    expect([sandbox.requests.length, await journal.read("k")]).toEqual([before, undefined]);
  });

  it("go on after the key was changed where gatewayId is given", async () => {
    const { gamma, ofGamma, alpha, sandbox } = await gatewaysFixture();
    await errorOf(gamma("gamma-bank", closed).run("k", ofGamma));
    // The sandbox knows gamma by the old key, and refuses the new one: what counts here is that the flow goes on.
    expect(await alpha("gamma-bank").run("k", ofGamma)).toMatchObject({ status: "rejected" });
    expect(sandbox.requests.filter(isPayment)).toHaveLength(1);
  });

  it("go by the key that confirmed, where it was changed since the quote", async () => {
    const { gamma, ofGamma, alpha } = await gatewaysFixture();
    const { intent } = await gamma("gamma-bank").quote("k", ofGamma);
    await errorOf(alpha("gamma-bank", closed).confirm("k", { intentId: intent.id }));
    expect(await gamma().status("k")).toMatchObject({ failures: { code: "flow_foreign" } });
    expect(await alpha().status("k")).toMatchObject({ failures: { code: "Error" } });
  });

  it("give the outcome to whoever finds that its own process has just settled it", async () => {
    const { gamma, ofGamma, alpha, journal, sandbox } = await gatewaysFixture();
    await errorOf(gamma(undefined, closed).run("k", ofGamma));
    const acquire = journal.acquire.bind(journal);
    // The other key's process asks for the flow after its own has taken it.
    vi.spyOn(journal, "acquire").mockImplementationOnce(async (...args) => {
      expect(await gamma().run("k", ofGamma)).toMatchObject({ status: "paid" });
      return acquire(...args);
    });
    expect(await alpha().run("k", ofGamma)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });
});

describe("two services over one journal", () => {
  it("leave each other's flows alone, also where they have the same gateway", async () => {
    const { flow, journal, bank, sandbox } = await flowFixture();
    await errorOf(flow({ takeFunds: closed }).run("k", request));
    const before = [await journal.read("k"), sandbox.requests.length];
    for (const gatewayId of [undefined, request.senderGatewayId]) {
      const other = flow({ gatewayId }, { baseUrl: "https://other.test" });
      expect(await all(other.recover())).toEqual([]);
      for (const work of [other.run("k", request), other.status("k"), other.outcome("k")]) {
        const error = await errorOf(work);
        expect(error).toMatchObject({ code: "flow_foreign", effect: "possible" });
        expect(error.message).toMatch(/^the flow of key "k" belongs to another service, .* of that service can/);
      }
    }
    expect([await journal.read("k"), sandbox.requests.length]).toEqual(before);
    expect(bank.calls).toBe(0);
  });
});

describe("after the key was changed, and without gatewayId", () => {
  const decision = { by: "Olga Operator", why: "the back office looked" };

  async function rotatedFixture(isAway: boolean) {
    let isSent = false;
    const fixture = await flowFixture(
      {
        onRequest: (seen) => {
          if (isAway && isSent && seen.operation === "payments.list") return new Response("", { status: 503 });
          if (!isPayment(seen)) return undefined;
          isSent = true;
          return Response.error();
        },
      },
      brief,
    );
    await fixture
      .flow()
      .run("k", request)
      .catch(() => {});
    const { privateKey } = signingKeysOf("stranger");
    const rotate = (options: { readonly gatewayId?: string }) => fixture.flow(options, { signingKey: privateKey });
    return { ...fixture, rotate, rotated: rotate({}) };
  }

  it("shows every flow that is left open as stuck, and says what to do", async () => {
    const { rotated } = await rotatedFixture(true);
    const failures = { code: "flow_foreign", message: expect.stringContaining("pass its gatewayId") };
    expect(await rotated.status("k")).toMatchObject({ phase: "unknown", failures });
    expect(await all(rotated.held())).toMatchObject([{ status: "stuck", key: "k", phase: "unknown", failures }]);
  });

  it("shows no flow that somebody is running as stuck", async () => {
    const { flow, journal } = await flowFixture();
    await errorOf(flow({ takeFunds: closed }).run("k", request));
    await journal.acquire("k", { ...lease, leaseMs: 60_000 });
    const { privateKey } = signingKeysOf("stranger");
    expect(await all(flow({}, { signingKey: privateKey }).held())).toEqual([]);
  });

  it("releases what is held, and what is left open, once gatewayId says whose it is", async () => {
    const release = { ...decision, withoutProof: true };
    for (const isAway of [false, true]) {
      const { rotated, rotate, bank } = await rotatedFixture(isAway);
      expect(await errorOf(rotated.resolve("k", "release", release))).toMatchObject({
        cause: { code: "flow_foreign" },
      });
      expect(bank.released).toEqual([]);
      // What was left open is run by whoever knows whose it is: it is held, or it fails until somebody decides.
      const own = rotate({ gatewayId: request.senderGatewayId });
      while ((await own.status("k"))?.phase !== "held" && ((await own.status("k"))?.failures?.count ?? 0) < 3) {
        await errorOf(own.run("k", request));
      }
      const outcome = await own.resolve("k", "release", release);
      expect([outcome.status, bank.released]).toEqual(["rejected", ["k"]]);
    }
  });

  it("settles what was found, without a signature of its own", async () => {
    const { flow, sandbox, bank } = await flowFixture({
      onResponse: (seen) => (isPayment(seen) ? Response.error() : undefined),
      onRequest: (seen) => {
        const isLook = seen.operation === "payments.list" && sandbox.payments.length > 0;
        return isLook && isAway ? new Response("", { status: 503 }) : undefined;
      },
    });
    let isAway = true;
    await errorOf(flow().run("k", request));
    isAway = false;
    const { privateKey } = signingKeysOf("stranger");
    const rotated = flow({}, { signingKey: privateKey });
    expect(await rotated.resolve("k", "found", decision)).toMatchObject({ status: "paid" });
    expect([bank.released, sandbox.payments.length]).toEqual([[], 1]);
  });
});

describe("a row that was moved", () => {
  it("to another key is unreadable, and not paid again", async () => {
    const { flow, journal, sandbox, bank } = await flowFixture();
    const takeFunds = () => closed();
    await errorOf(flow({ cipher, takeFunds }).run("a", request));
    const stored = await journal.read("a");
    if (stored?.scope === undefined) throw new Error("there is no flow");
    await journal.begin("b", stored.scope, stored, lease);
    await journal.release("b", { epoch: 1, nonce: "n" });
    expect(await flow({ cipher }).run("a", request)).toMatchObject({ status: "paid" });
    expect(await errorOf(flow({ cipher }).run("b", request))).toMatchObject({
      code: "flow_paused",
      cause: { code: "flow_unreadable" },
    });
    expect(await errorOf(all(flow({ cipher }).recover()))).toMatchObject({
      errors: [{ key: "b", cause: { code: "flow_unreadable" } }],
    });
    expect([sandbox.payments.length, bank.taken.size]).toEqual([1, 1]);
  });

  it("to another gateway is unreadable", async () => {
    const { flow, journal } = await flowFixture();
    await flow().run("a", request);
    const stored = await journal.read("a");
    if (stored === undefined) throw new Error("there is no flow");
    const moved = new MemoryJournal();
    await moved.begin("a", { service: "https://service.test", gateway: "gamma-bank" }, stored, lease);
    expect(await errorOf(flow({ journal: moved }).outcome("a"))).toMatchObject({
      code: "flow_unreadable",
      effect: "possible",
    });
  });
});

it.each([
  ["1,024 bytes", "é".repeat(512), undefined],
  ["1,025 bytes", `${"é".repeat(512)}x`, "1 to 1024 bytes of UTF-8"],
  ["no characters", "", "1 to 1024 bytes of UTF-8"],
])("takes keys of up to 1,024 bytes: one of %s", async (_, key, message) => {
  const { flow, sandbox } = await flowFixture();
  if (message === undefined) {
    expect(await flow().run(key, request)).toMatchObject({ status: "paid", key });
    return;
  }
  const before = sandbox.requests.length;
  for (const work of [
    flow().run(key, request),
    flow().quote(key, request),
    flow().confirm(key, { intentId: "i" }),
    flow().cancel(key),
    flow().status(key),
    flow().outcome(key),
    flow().resolve(key, "found", { by: "Olga Operator", why: "it is there" }),
  ]) {
    const error = await errorOf(work);
    expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
    expect(error.message).toContain(message);
  }
  expect(sandbox.requests).toHaveLength(before);
});
