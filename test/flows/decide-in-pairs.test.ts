import {
  type Journal,
  MemoryJournal,
  type PaymentFlow,
  type PaymentFlowOptions,
  verifyDecisions,
} from "cross-border-payments/flow";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { toFlowContext } from "../../src/flows/flow-options.js";
import type { StateOf } from "../../src/flows/state/flow-state.js";
import { boundJournal } from "./bound-journal.js";
import { closed, flowFixture, isList, isPayment, request } from "./flow-fixture.js";
import { errorOf } from "./results.js";

const leaseMs = 60_000;
const olga = { by: "Olga Operator", why: "ticket 4711" };
const petra = { by: "Petra Prüferin" };
const decisions = { people: 2 } as const;

/** A held flow whose payment was never made, and that two people decide about. */
async function heldFixture() {
  let isHidden = false;
  let gate: { readonly reached: () => void; readonly until: Promise<undefined> } | undefined;
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (isPayment(seen) && fate === "lost") return Response.json({}, { status: 504 });
      if (!isList(seen)) return undefined;
      const { until } = gate ?? {};
      gate?.reached();
      gate = undefined;
      return isHidden ? Response.json({}, { status: 503 }) : until;
    },
  });
  let fate: "lost" | "made" = "lost";
  const writes: string[] = [];
  const store = new MemoryJournal();
  const journal: Journal = boundJournal(store, {
    write: (...args) => {
      writes.push(args[0]);
      return store.write(...args);
    },
  });
  const newFlow = (people: 1 | 2 = 2, more: Partial<PaymentFlowOptions> = {}): PaymentFlow =>
    fixture.flow({ journal, leaseMs, decisions: { people }, ...more });
  const flow = newFlow();
  expect(await flow.run("k", request)).toMatchObject({ status: "held" });
  const realNow = Date.now;
  let leases = 1;
  const clock = vi.spyOn(Date, "now").mockImplementation(() => realNow() + leases * leaseMs);
  let goOn = (): void => {};
  const until = new Promise<undefined>((resolve) => {
    goOn = () => resolve(undefined);
  });
  onTestFinished(() => clock.mockRestore());
  writes.length = 0;
  return {
    ...fixture,
    flow,
    newFlow,
    journal,
    writes,
    heal: () => {
      fate = "made";
    },
    /** The next look's request gets no response before `goOn`. */
    waitForLook: () =>
      new Promise<void>((reached) => {
        gate = { reached, until };
      }),
    goOn,
    passLease: () => {
      leases += 1;
    },
    hideList: () => {
      isHidden = true;
    },
  };
}

describe("a decision that takes two people", () => {
  it("is proposed by one and carried out when another approves it, and all of it is kept in a chain", async () => {
    const { flow, bank } = await heldFixture();
    const before = await flow.details("k");
    const proposed = await flow.propose("k", "release", { ...olga, seen: before?.seen });
    expect(proposed).toMatchObject({
      ...{ key: "k", step: "proposed", action: "release", ...olga },
      saw: { revision: expect.any(Number), looks: 2, hash: before?.seen },
    });
    expect(bank.released).toEqual([]);
    const { proposal, seen } = (await flow.details("k")) ?? {};
    expect(seen).toBe(before?.seen);
    expect(proposal).toMatchObject({ hash: proposed.hash, isOutdated: false });
    const outcome = await flow.approve("k", { ...petra, proposal: proposed.hash });
    expect(outcome).toMatchObject({
      status: "rejected",
      decisions: [
        { step: "proposed", ...olga },
        { step: "approved", action: "release", ...petra, why: olga.why },
      ],
    });
    expect(bank.released).toEqual(["k"]);
    const report = verifyDecisions(outcome as never);
    expect(report).toEqual({ isIntact: true, unchained: 0, hashes: [proposed.hash, expect.any(String)] });
  });

  it("can be found, with the record that the proposer had, or sent again", async () => {
    const { flow, heal, sandbox } = await heldFixture();
    await flow.propose("k", "resend", olga);
    heal();
    expect(await flow.approve("k", petra)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("keeps the record that was given with it, and its hash where names are left out", async () => {
    const { flow, journal, heal, newFlow, hideList } = await heldFixture();
    heal();
    await newFlow().run("other", { ...request, receiverAmount: "7.00" });
    const [claim] = (await flow.details("k"))?.claims ?? [];
    const other = await flow.outcome("other");
    if (other?.status !== "paid" || claim === undefined) throw new Error("there is no payment");
    expect(await errorOf(flow.propose("k", "found", { ...olga, payment: other.payment }))).toMatchObject({
      code: "flow_payment_not_found",
    });
    const payment = { ...other.payment, id: "p-9", creationRequestSignatureBase64: claim.signature };
    await flow.propose("k", "found", { ...olga, payment });
    hideList();
    const outcome = await flow.approve("k", petra);
    expect(outcome).toMatchObject({ status: "paid", payment: { id: "p-9" } });
    const evidence = JSON.parse((await journal.read("k"))?.evidence ?? "");
    expect(evidence.decisions[0].payment).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(evidence)).not.toContain(request.receiverAccount);
    expect(verifyDecisions(evidence)).toEqual(verifyDecisions(outcome as never));
    expect(verifyDecisions(evidence).isIntact).toBe(true);
  });

  it("needs no proof at its approval where its proposer decided without it, and says so in both steps", async () => {
    const { flow, bank, hideList } = await heldFixture();
    hideList();
    await flow.propose("k", "release", olga);
    expect(await errorOf(flow.approve("k", petra))).not.toBeUndefined();
    expect(bank.released).toEqual([]);
    await flow.refuse("k", { ...olga, why: "the list can't be read" });
    await flow.propose("k", "release", { ...olga, withoutProof: true });
    expect(await flow.approve("k", petra)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
    const { decisions = [] } = (await flow.details("k")) ?? {};
    expect(decisions.map(({ step, withoutProof }) => [step, withoutProof])).toEqual([
      ["proposed", undefined],
      ["refused", undefined],
      ["proposed", true],
      ["approved", true],
    ]);
  });

  it("is not proposed against money that is being given back", async () => {
    const { flow, newFlow } = await heldFixture();
    await flow.propose("k", "release", olga);
    const failing = newFlow(2, { releaseFunds: closed });
    await errorOf(failing.approve("k", petra));
    for (let round = 0; round < 3; round += 1) await errorOf(failing.run("k", request));
    expect((await flow.status("k"))?.phase).toBe("refused");
    for (const action of ["resend", "found"] as const) {
      expect(await errorOf(flow.propose("k", action, olga))).toMatchObject({
        code: "flow_not_held",
        message: expect.stringContaining("its money is being given back, and may have been already"),
      });
    }
    expect(await flow.propose("k", "release", olga)).toMatchObject({ step: "proposed", action: "release" });
  });

  it("is refused to one alone, before anything is read", async () => {
    const { flow, writes } = await heldFixture();
    expect(await errorOf(flow.resolve("k", "release", olga))).toMatchObject({
      code: "flow_approval_needed",
      message:
        "resolve: a decision takes two people here (decisions: { people: 2 }): propose it, and let another person approve it",
    });
    expect(writes).toEqual([]);
  });

  it.each(["Olga Operator", " olga  OPERATOR ", "Olga\u200b Operator", "Ｏlga Operator"])(
    "is refused to the same person under the name %j",
    async (by) => {
      const { flow, bank } = await heldFixture();
      await flow.propose("k", "release", olga);
      expect(await errorOf(flow.approve("k", { by }))).toMatchObject({
        ...{ code: "flow_same_person", effect: "possible" },
        message: 'approve: Olga Operator proposed this for the flow of key "k", and another person has to approve it',
      });
      expect(bank.released).toEqual([]);
    },
  );

  it("is not approved where nothing is proposed, twice, or where it was refused", async () => {
    const { flow } = await heldFixture();
    const notProposed = { code: "flow_not_proposed", message: 'nothing is proposed for the flow of key "k"' };
    expect(await errorOf(flow.approve("k", petra))).toMatchObject(notProposed);
    await flow.propose("k", "release", olga);
    await flow.refuse("k", { ...petra, why: "they are still looking" });
    expect(await errorOf(flow.approve("k", petra))).toMatchObject(notProposed);
    expect(await errorOf(flow.refuse("k", { ...petra, why: "again" }))).toMatchObject(notProposed);
    await flow.propose("k", "release", olga);
    expect(await flow.approve("k", petra)).toMatchObject({ status: "rejected" });
    expect(await errorOf(flow.approve("k", petra))).toMatchObject({ code: "flow_not_held" });
    const { decisions } = (await flow.details("k")) ?? {};
    expect(decisions?.map(({ step }) => step)).toEqual(["proposed", "refused", "proposed", "approved"]);
    expect(verifyDecisions({ key: "k", decisions }).isIntact).toBe(true);
  });

  it("is not proposed beside another, nor approved or proposed by who looked at something else", async () => {
    const { flow } = await heldFixture();
    const proposed = await flow.propose("k", "release", olga);
    expect(await errorOf(flow.propose("k", "resend", olga))).toMatchObject({ code: "flow_proposed" });
    expect(await errorOf(flow.approve("k", { ...petra, proposal: "0".repeat(64) }))).toMatchObject({
      code: "flow_moved_on",
    });
    expect(await errorOf(flow.propose("k", "release", { ...olga, seen: "0".repeat(64) }))).toMatchObject({
      code: "flow_moved_on",
    });
    expect(await flow.approve("k", { ...petra, proposal: proposed.hash })).toMatchObject({ status: "rejected" });
  });

  it("is not approved where there is more to see than its proposer saw, and can be proposed again", async () => {
    const { flow, journal, client, bank } = await heldFixture();
    await flow.propose("k", "release", olga);
    // Another process has looked once more meanwhile.
    const { takeFunds, releaseFunds } = bank;
    const { codec } = toFlowContext({ client, journal, takeFunds, releaseFunds, leaseMs });
    const entry = await journal.acquire("k", { owner: "another process", leaseMs, nonce: "n" });
    if (entry === undefined) throw new Error("it is leased");
    const state = (await codec.decode(entry)) as StateOf<"held">;
    const looked = { ...state, looks: [...state.looks, { atMs: 1, claims: 1, seen: 0, complete: true }] };
    expect(await journal.write("k", entry, await codec.encode("k", entry.scope, looked))).toBe(true);
    expect(await errorOf(flow.approve("k", petra))).toMatchObject({
      ...{ code: "flow_moved_on", effect: "possible" },
      message:
        'approve: the flow of key "k" has moved on since Olga Operator proposed this: propose again what is right now',
    });
    expect((await flow.details("k"))?.proposal).toMatchObject({ isOutdated: true });
    expect(bank.released).toEqual([]);
    await flow.propose("k", "release", olga);
    expect(await flow.approve("k", petra)).toMatchObject({ status: "rejected" });
  });

  it("is refused to one alone while a proposal waits, whatever this process was told of people", async () => {
    const { flow, newFlow } = await heldFixture();
    await flow.propose("k", "release", olga);
    expect(await errorOf(newFlow(1).resolve("k", "release", petra as never))).toMatchObject({
      code: "invalid_argument",
    });
    expect(await errorOf(newFlow(1).resolve("k", "release", { ...petra, why: "alone" }))).toMatchObject({
      code: "flow_proposed",
      message: 'for the flow of key "k" "release" was proposed by Olga Operator: approve it, or refuse it first',
    });
  });

  it("is not proposed again and again without an end, and one person's proposals don't keep others from deciding", async () => {
    const { flow, journal } = await heldFixture();
    const back = async (by: string) => {
      await flow.propose("k", "release", { by, why: "w" });
      await flow.refuse("k", { by, why: "taken back" });
    };
    for (let round = 0; round < 20; round += 1) await back(round % 2 === 0 ? "Olga" : "OLGA");
    const writes = (await journal.read("k"))?.revision;
    expect(await errorOf(flow.propose("k", "release", { by: " olga ", why: "once more" }))).toMatchObject({
      ...{ code: "flow_too_many_proposals", effect: "possible" },
      message: expect.stringMatching(
        /^propose: 20 proposals of {2}olga {2}for the flow .*: another person has to propose$/,
      ),
    });
    expect((await journal.read("k"))?.revision).toBe(writes);
    for (let round = 0; round < 80; round += 1) await back(`person ${round % 7}`);
    expect(await errorOf(flow.propose("k", "release", { by: "Quentin", why: "w" }))).toMatchObject({
      code: "flow_too_many_proposals",
      message: expect.stringMatching(
        /^propose: 100 proposals for the flow .*: .* decisions: \{ people: 1 \} can still/,
      ),
    });
    const { decisions = [] } = (await flow.details("k")) ?? {};
    expect(decisions).toHaveLength(200);
    expect(verifyDecisions({ key: "k", decisions }, { people: 2 })).toMatchObject({ isIntact: true });
  });

  it("keeps a given record only while its proposal waits, and its hash for ever", async () => {
    const { flow, journal } = await heldFixture();
    const { claims: [claim] = [], intent } = (await flow.details("k")) ?? {};
    if (claim === undefined) throw new Error("there is none");
    const extras = { note: "x".repeat(200_000) };
    const payment = { ...intent, id: "p-9", creationRequestSignatureBase64: claim.signature, extras } as never;
    for (let round = 0; round < 10; round += 1) {
      await flow.propose("k", "found", { ...olga, payment });
      await flow.refuse("k", { ...petra, why: "not that one" });
    }
    expect((await journal.read("k"))?.data.length).toBeLessThan(50_000);
    const { hash } = await flow.propose("k", "found", { ...olga, payment });
    expect((await flow.details("k"))?.proposal).toMatchObject({ hash, payment: { id: "p-9" } });
    const outcome = await flow.approve("k", petra);
    expect(outcome).toMatchObject({ status: "paid", payment: { id: "p-9" } });
    expect(verifyDecisions(outcome as never, { people: 2 })).toMatchObject({ isIntact: true });
    expect(verifyDecisions({ ...outcome, payment: { ...Object(outcome).payment, id: "p-8" } } as never).isIntact).toBe(
      false,
    );
  });

  it("is not lost where a signal ends the look: the proposal waits, and can be approved", async () => {
    const { flow, bank, waitForLook, journal } = await heldFixture();
    await flow.propose("k", "release", olga);
    const stop = new AbortController();
    const looking = waitForLook();
    const approving = errorOf(flow.approve("k", petra, { signal: stop.signal }));
    await looking;
    expect(await errorOf(flow.approve("k", { by: "Quentin" }))).toMatchObject({
      code: "flow_not_held",
      message: expect.stringContaining("is running it, or carries out a decision about it"),
    });
    expect(await flow.status("k")).toMatchObject({ phase: "held", owner: expect.any(String) });
    stop.abort();
    expect(await approving).toMatchObject({ code: "flow_paused", phase: "held", cause: { code: "aborted" } });
    expect([bank.released, (await journal.read("k"))?.leaseUntilMs]).toEqual([[], undefined]);
    expect((await flow.details("k"))?.proposal).toMatchObject({ ...olga, isOutdated: false });
    expect(await flow.approve("k", petra)).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("is stored before the money is given back: where its process ends meanwhile, another one goes on", async () => {
    const { newFlow, flow, bank } = await heldFixture();
    await flow.propose("k", "release", olga);
    const stop = new AbortController();
    const releaseFunds = () => {
      stop.abort();
      throw new Error("the process is about to end");
    };
    const ending = newFlow(2, { releaseFunds });
    expect(await errorOf(ending.approve("k", petra, { signal: stop.signal }))).toMatchObject({ phase: "refused" });
    expect((await flow.details("k"))?.decisions).toMatchObject([olga, { step: "approved", ...petra }]);
    expect(await errorOf(flow.approve("k", petra))).toMatchObject({ code: "flow_not_held" });
    for await (const outcome of flow.recover()) expect(outcome).toMatchObject({ status: "rejected" });
    expect(bank.released).toEqual(["k"]);
  });

  it("is approved again where the first approval's process stood still before it was stored, and the money given back once", async () => {
    const { newFlow, flow, bank, waitForLook, goOn, journal, passLease } = await heldFixture();
    await flow.propose("k", "release", olga);
    const looking = waitForLook();
    const stopped = newFlow(2, { journal: boundJournal(journal, { renew: () => new Promise(() => {}) }) });
    const approving = errorOf(stopped.approve("k", petra));
    await looking;
    passLease();
    const outcome = await flow.approve("k", { by: "Quentin" });
    expect(outcome).toMatchObject({ status: "rejected", decisions: [{ step: "proposed" }, { by: "Quentin" }] });
    goOn();
    expect(await approving).toMatchObject({ code: "flow_not_held" });
    expect(bank.released).toEqual(["k"]);
  });

  it("costs one write for each step, and none that was not made before", async () => {
    const { flow, writes } = await heldFixture();
    await flow.propose("k", "release", olga);
    expect(writes).toEqual(["k"]);
    await flow.approve("k", petra);
    expect(writes).toEqual(["k", "k", "k"]);
  });

  it("is approved by one of two who try at once", async () => {
    const { flow, newFlow, bank } = await heldFixture();
    await flow.propose("k", "release", olga);
    const tries = await Promise.allSettled([newFlow().approve("k", petra), newFlow().approve("k", { by: "Quentin" })]);
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(bank.released).toEqual(["k"]);
  });
});

it("lets nobody propose about money that was not taken, or about a flow that gets further by itself", async () => {
  const { flow } = await flowFixture();
  const stuck = flow({ takeFunds: closed, leaseMs, decisions });
  for (let round = 0; round < 3; round += 1) await errorOf(stuck.run("k", request));
  expect(await errorOf(stuck.propose("k", "resend", olga))).toMatchObject({
    code: "flow_not_held",
    message: expect.stringContaining("no money is known to have been taken"),
  });
  expect(await errorOf(stuck.propose("none", "resend", olga))).toMatchObject({ code: "flow_not_held" });
});

it.each([
  ["approve", {}, "by must be who decides"],
  ["approve", { by: "P".repeat(201) }, "by must be who decides, in 200 characters or fewer"],
  ["approve", { by: "Petra", why: "w".repeat(2001) }, "why must be on what grounds it is decided, in 2000 characters"],
  ["refuse", { by: "Petra", why: "w".repeat(2001) }, "why must be on what grounds it is decided, in 2000 characters"],
  ["approve", { by: " \u200b" }, "found only spaces"],
  ["approve", { by: "\ufe0f" }, "found only spaces"],
  ["approve", { by: "Petra", because: "x" }, "the options are by, why, proposal"],
  ["refuse", { by: "Petra" }, "why must be on what grounds"],
  ["refuse", undefined, "by must be who decides"],
] as const)("refuses before anything is read: %s, %#", async (operation, given, message) => {
  const { flow } = await flowFixture();
  const error = await errorOf(flow()[operation]("k", given as never));
  expect(error).toMatchObject({ code: "invalid_argument", message: expect.stringContaining(message) });
  expect(String(Object(error).message).startsWith(`${operation}: `)).toBe(true);
});
