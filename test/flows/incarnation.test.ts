import { paymentFromIntent } from "cross-border-payments";
import { MemoryJournal, type TakeFundsByKey } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { closed, isList, isPayment, refusal } from "./flow-fixture.js";
import { errorOf } from "./results.js";
import { leaseMs, request, waitingFixture } from "./waiting-fixture.js";

/** What a process that waits for lost claims does not do within a test, whose time passes as it does. */
const atOnceMs = leaseMs / 2;

async function timed<T>(work: Promise<T>): Promise<readonly [T, boolean]> {
  const startMs = performance.now();
  return [await work, performance.now() - startMs < atOnceMs];
}

type Waiting = Awaited<ReturnType<typeof waitingFixture>>;

/** An owner that took the money, knows that nobody had before, and stops before it claims the payment. */
async function stopFunded({ process, logIn, bank }: Waiting, incarnation: string | undefined): Promise<void> {
  const token = await logIn();
  let isAway = false;
  const takeFunds: typeof bank.takeFunds = (call) => {
    isAway = true;
    return bank.takeFunds(call);
  };
  const accessToken = async () => {
    if (isAway) throw new Error("the login is away");
    return token;
  };
  const error = await errorOf(process(incarnation, { takeFunds }, { auth: { accessToken } }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
}

/** A flow that is held, of which an operator decides to give the money back, and the bank is away. What comes of its requests is as the test says then. */
async function decidedFixture(incarnation: string | undefined, decision: { readonly withoutProof?: true } = {}) {
  let service: "slow" | "well" | "away" = "slow";
  const fixture = await waitingFixture({
    onRequest: (seen) => {
      const isFailing = (service === "slow" && isPayment(seen)) || (service === "away" && isList(seen));
      return isFailing ? Response.json({ message: "upstream timed out" }, { status: 504 }) : undefined;
    },
  });
  const { process, wait, client, stateOf } = fixture;
  const first = process(incarnation, { releaseFunds: closed });
  expect(await first.run("k", request)).toMatchObject({ status: "held" });
  const deciding = errorOf(first.resolve("k", "release", { by: "olga", why: "it will not be made", ...decision }));
  await expect.poll(async () => (await stateOf()).leaseUntilMs).toBeDefined();
  // Until its request can no longer be sent.
  await wait(leaseMs);
  expect(await deciding).toMatchObject({ code: "flow_paused", phase: "refused" });
  const [claim] = (await first.details("k"))?.claims ?? [];
  return {
    ...fixture,
    is: (now: typeof service) => {
      service = now;
    },
    /** As another owner does, which knows of another decision. */
    pay: async () => {
      service = "well";
      await client.payments.create(JSON.parse(claim?.body ?? ""));
    },
  };
}

describe("in the journal's one incarnation nobody waits for lost claims", () => {
  it("where an operator decided that the money is given back, and another process does it", async () => {
    const { process, bank } = await decidedFixture("one");
    expect(await timed(process("one").run("k", request))).toMatchObject([{ status: "rejected" }, true]);
    expect(bank.released).toEqual(["k"]);
  });

  it("where the bank failed before it took the money", async () => {
    const { process, sandbox } = await waitingFixture();
    await errorOf(process("one", { takeFunds: closed }).run("k", request));
    expect(await timed(process("one").run("k", request))).toMatchObject([{ status: "paid" }, true]);
    expect(sandbox.payments).toHaveLength(1);
  });

  it("where a process that had taken the money was closed, and the next one goes on", async () => {
    const fixture = await waitingFixture();
    await stopFunded(fixture, "one");
    expect(await timed(fixture.process("one").run("k", request))).toMatchObject([{ status: "paid" }, true]);
  });

  it("where a process was closed while it waited after a refusal, and the next one gives the money back", async () => {
    const { process, bank, waiting } = await waitingFixture({
      onRequest: (seen) => (isPayment(seen) ? refusal() : undefined),
    });
    const first = process("one", { readBackDelayMs: 600_000 });
    const running = errorOf(first.run("k", request));
    await waiting();
    await first.close();
    await running;
    expect(await timed(process("one").run("k", request))).toMatchObject([{ status: "rejected" }, true]);
    expect(bank.released).toEqual(["k"]);
  });
});

describe.each([
  ["another incarnation", "one", "two"],
  ["a journal that can't tell any more", "one", undefined],
  ["a journal that never could tell", undefined, undefined],
])("in %s whoever takes a flow over waits in full", (_, before, incarnation) => {
  it("before it gives money back for a refusal that another owner may not have known of", async () => {
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? refused?.() : undefined) });
    let refused: typeof refusal | undefined = refusal;
    const { process, bank, wait, client, stateOf } = fixture;
    const first = process(before, { releaseFunds: closed });
    expect(await errorOf(first.run("k", request))).toMatchObject({ phase: "refused" });
    refused = undefined;
    const { body } = (await first.details("k"))?.claims?.[0] ?? {};
    const second = process(incarnation);
    const retrying = errorOf(second.run("k", request));
    await expect.poll(async () => (await stateOf()).epoch).toBe(2);
    await client.payments.create(JSON.parse(body ?? ""));
    await wait(leaseMs + 200);
    expect(await retrying).toMatchObject({ phase: "refused", cause: { code: "flow_payment_found" } });
    expect(bank.released).toEqual([]);
  });

  it("and gives the money back where that owner has not paid either", async () => {
    const fixture = await waitingFixture({ onRequest: (seen) => (isPayment(seen) ? refusal() : undefined) });
    const { process, bank, wait, stateOf } = fixture;
    const first = process(before, { releaseFunds: closed });
    expect(await errorOf(first.run("k", request))).toMatchObject({ phase: "refused" });
    const releasing = process(incarnation).run("k", request);
    await expect.poll(async () => (await stateOf()).epoch).toBe(2);
    expect(bank.released).toEqual([]);
    await wait(leaseMs + 200);
    expect(await releasing).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it.each(["release", "resend"] as const)("before it does as an operator decides: %s", async (action) => {
    let isSlow = true;
    const fixture = await waitingFixture({
      onRequest: (seen) =>
        isSlow && isPayment(seen) ? Response.json({ message: "upstream timed out" }, { status: 504 }) : undefined,
    });
    const { process, bank, wait, stateOf, clock, client, sandbox } = fixture;
    const held = await process(before).run("k", request);
    if (held.status !== "held") throw new Error(`is ${held.status}`);
    // Its own request can no longer be sent, and that of a claim that was lost is on its way.
    clock.jump(leaseMs);
    isSlow = false;
    const deciding = errorOf(process(incarnation).resolve("k", action, { by: "olga", why: "it was not made" }));
    await expect.poll(async () => (await stateOf()).epoch).toBe(2);
    await wait(leaseMs / 2);
    await client.payments.create(JSON.parse(held.claim?.body ?? ""));
    await wait(leaseMs / 2 + 200);
    expect(await deciding).toMatchObject({ code: "flow_payment_found" });
    expect([bank.released, sandbox.payments.length]).toEqual([[], 1]);
  });

  it.each([{}, { withoutProof: true as const }])(
    "before it gives money back as an operator decided who may not have known what came after that (%o)",
    async (decision) => {
      const { process, bank, wait, stateOf, pay } = await decidedFixture(before, decision);
      const { epoch } = await stateOf();
      const retrying = errorOf(process(incarnation).run("k", request));
      await expect.poll(async () => (await stateOf()).epoch).not.toBe(epoch);
      await pay();
      await wait(leaseMs + 200);
      expect(await retrying).toMatchObject({ phase: "refused", cause: { code: "flow_payment_found" } });
      expect(bank.released).toEqual([]);
    },
  );

  it("and gives it back although it can't look, where an operator decided without a proof", async () => {
    const { process, bank, wait, stateOf, is } = await decidedFixture(before, { withoutProof: true });
    const { epoch } = await stateOf();
    const giving = process(incarnation).run("k", request);
    await expect.poll(async () => (await stateOf()).epoch).not.toBe(epoch);
    is("away");
    await wait(leaseMs + 200);
    expect(await giving).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("before it sends what may have been sent", async () => {
    const fixture = await waitingFixture();
    const { process, waiting, wait, sandbox } = fixture;
    await stopFunded(fixture, before);
    const running = process(incarnation).run("k", request);
    await waiting();
    await wait(leaseMs / 2);
    expect(sandbox.requests.filter(isPayment)).toEqual([]);
    await wait(leaseMs / 2 + 200);
    expect(await running).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("but not where the bank takes the money only now", async () => {
    const { process } = await waitingFixture();
    await errorOf(process(before, { takeFunds: closed }).run("k", request));
    expect(await timed(process(incarnation).run("k", request))).toMatchObject([{ status: "paid" }, true]);
  });
});

it("waits as long as the process that began the flow may send a claim that the journal lost, whose lease is a longer one", async () => {
  const fixture = await waitingFixture();
  const { process, waiting, wait, client, journal, sandbox, logIn } = fixture;
  await stopFunded(fixture, "one");
  const token = await logIn();
  const auth = { accessToken: () => token };
  const running = process("two", { leaseMs: leaseMs / 2 }, { auth }).run("k", request);
  await waiting();
  await wait(leaseMs / 2 + 200);
  // What it does once it has waited, it does now.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const { intent, senderGatewayTransactionId } = JSON.parse((await journal.read("k"))?.data ?? "").state;
  await client.payments.create(paymentFromIntent(intent, senderGatewayTransactionId));
  await wait(leaseMs / 2);
  expect(await running).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
});

it("waits in full where the bank failed after it took the money: nobody heard that it was the first time", async () => {
  const { process, bank, waiting, sandbox } = await waitingFixture();
  const takeFunds: typeof bank.takeFunds = (call) => {
    bank.takeFunds(call);
    throw new Error("the connection to the bank broke");
  };
  await errorOf(process("one", { takeFunds }).run("k", request));
  const next = process("one");
  const running = errorOf(next.run("k", request));
  await waiting();
  await next.close();
  await running;
  expect(sandbox.requests.filter(isPayment)).toEqual([]);
});

describe("the mark of an entry", () => {
  it("is stored by the writes of an owner that knows, and not by begin, acquire, renew or release", async () => {
    const { process, journal, stateOf } = await waitingFixture();
    const seen: unknown[] = [];
    const takeFunds: TakeFundsByKey = async () => {
      const { epoch = 0, nonce = "" } = (await journal.read("k")) ?? {};
      seen.push((await stateOf()).incarnationMark);
      await journal.renew("k", { epoch, nonce }, leaseMs);
      seen.push((await stateOf()).incarnationMark);
      throw new Error("the bank is closed");
    };
    for (const _ of ["begin", "acquire"]) await errorOf(process("one", { takeFunds }).run("k", request));
    // Its failures were written, by owners that did not know.
    seen.push((await stateOf()).incarnationMark);
    expect(seen).toEqual([undefined, undefined, undefined, undefined, undefined]);
    expect(await process("one").run("k", request)).toMatchObject({ status: "paid" });
    expect((await stateOf()).incarnationMark).toBe("one");
  });

  it("stays as it is where an owner of another incarnation writes that it waits, and is left by none of them", async () => {
    const fixture = await waitingFixture();
    const { process, live, stateOf, waitedMs } = fixture;
    await stopFunded(fixture, "one");
    expect((await stateOf()).incarnationMark).toBe("one");
    for (const _ of ["first", "second"]) {
      const beforeMs = await waitedMs();
      await live(process("two"), 20_000);
      expect(await waitedMs()).toBeGreaterThan(beforeMs);
      expect((await stateOf()).incarnationMark).toBe("one");
    }
  });

  it("is the new one once an owner has waited in full, so that the next one need not", async () => {
    let isListAway = false;
    const fixture = await waitingFixture({
      onRequest: (seen) => (isListAway && isList(seen) ? new Response("", { status: 503 }) : undefined),
    });
    const { process, waiting, wait, stateOf } = fixture;
    await stopFunded(fixture, "one");
    // It waits, and its look fails.
    const running = errorOf(process("two").run("k", request));
    await waiting();
    isListAway = true;
    await wait(leaseMs + 200);
    expect(await running).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
    expect((await stateOf()).incarnationMark).toBe("two");
    isListAway = false;
    expect(await timed(process("two").run("k", request))).toMatchObject([{ status: "paid" }, true]);
  });

  it("is not stored where an entry was lost and its look failed: the next one waits, and sees what is listed late", async () => {
    const list = { status: 200 };
    const { process, waiting, wait, stateOf, sandbox } = await waitingFixture({
      onRequest: (seen) => {
        if (!isList(seen) || list.status === 0) return undefined;
        return list.status === 503 ? new Response("", { status: 503 }) : Response.json([]);
      },
    });
    const lost = new MemoryJournal();
    expect(await process("one", { journal: lost }).run("k", request)).toMatchObject({ status: "paid" });
    const looking: TakeFundsByKey = () => {
      list.status = 503;
      return { senderGatewayTransactionId: "TX-1", replayed: true };
    };
    expect(await errorOf(process("two", { takeFunds: looking }).run("k", request))).toMatchObject({
      code: "flow_paused",
      phase: "funds-requested",
    });
    expect((await stateOf()).incarnationMark).toBeUndefined();
    list.status = 200;
    const running = process("two").run("k", request);
    await waiting();
    list.status = 0;
    await wait(leaseMs + 200);
    // The payment of the lost entry has another intent.
    expect(await running).toMatchObject({ status: "held", reason: expect.stringContaining("same transaction id") });
    expect(sandbox.payments).toHaveLength(1);
  });
});
