import { MemoryJournal, type PaymentFlowOptions } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { stretched } from "../support/patience.js";
import { boundJournal } from "./bound-journal.js";
import { flowFixture, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

const leaseMs = stretched(400);
const setBackMs = 2 * 3_600_000;
const decision = { by: "Olga Operator", why: "its process is gone" };

/** A flow whose owner crashed before it had any money, and whose journal's clock was set back by two hours since. */
async function setBackFixture() {
  const fixture = await flowFixture();
  let aheadMs = 0;
  const store = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const flow = (options: Partial<PaymentFlowOptions> = {}) => fixture.flow({ journal: store, leaseMs, ...options });
  const setBack = () => {
    aheadMs -= setBackMs;
  };
  const crash = async () => {
    const away = () => Promise.reject(new Error("the process is gone"));
    const journal = boundJournal(store, { renew: away, release: away, write: away });
    await errorOf(flow({ journal, takeFunds: away }).run("k", request));
    setBack();
    expect(await store.read("k")).toMatchObject({ isOverlong: true, leaseMs });
  };
  /** When the next owner asked the bank for the money. */
  const takenAtMs: number[] = [];
  const takeFunds: typeof fixture.bank.takeFunds = (call) => {
    takenAtMs.push(performance.now());
    return fixture.bank.takeFunds(call);
  };
  return {
    ...fixture,
    store,
    flow: (options?: Partial<PaymentFlowOptions>) => flow({ takeFunds, ...options }),
    setBack,
    crash,
    takenAtMs,
  };
}

it.each(["work", "run"] as const)(
  "lets %s take over a flow whose owner crashed, after its lease's length",
  async (method) => {
    const { flow, crash, takenAtMs, sandbox } = await setBackFixture();
    await crash();
    const startMs = performance.now();
    // Long enough for a busy machine: once its own lease has lapsed, it asks for the money again.
    const taker = flow({ leaseMs: 30_000 });
    if (method === "run") expect(await taker.run("k", request)).toMatchObject({ status: "paid" });
    else {
      const working = taker.work({ everyMs: 20 });
      await eventually(async () => expect((await taker.status("k"))?.phase).toBe("paid"));
      await taker.close();
      await working;
    }
    expect((takenAtMs[0] ?? 0) - startMs).toBeGreaterThanOrEqual(leaseMs);
    expect([takenAtMs.length, sandbox.payments.length]).toEqual([1, 1]);
  },
);

it("lets a second round of recover take it over, of the same process alone", async () => {
  const { flow, crash, sandbox } = await setBackFixture();
  await crash();
  const taker = flow();
  expect(await all(taker.recover())).toEqual([]);
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 20));
  expect(await all(flow().recover())).toEqual([]);
  expect(sandbox.payments).toEqual([]);
  expect(await all(taker.recover())).toMatchObject([{ status: "paid", key: "k" }]);
  expect(sandbox.payments).toHaveLength(1);
});

it("waits for the length of the crashed owner's lease, not for the taker's own", async () => {
  const { flow, crash, takenAtMs } = await setBackFixture();
  await crash();
  const startMs = performance.now();
  const taker = flow({ leaseMs: leaseMs / 4 });
  // On a busy machine its own lease may end while it works.
  await eventually(async () => expect(await taker.run("k", request)).toMatchObject({ status: "paid" }));
  expect((takenAtMs[0] ?? 0) - startMs).toBeGreaterThanOrEqual(leaseMs);
});

it("lists it as stuck, and lets an operator resolve it", async () => {
  const { flow, crash, sandbox } = await setBackFixture();
  await crash();
  expect(await all(flow().held())).toMatchObject([
    {
      status: "stuck",
      key: "k",
      phase: "funds-requested",
      failures: { code: "flow_lease_overlong", message: expect.stringMatching(/the journal's clock was set back/) },
    },
  ]);
  expect(await flow().resolve("k", "resend", decision)).toMatchObject({ status: "paid" });
  expect(await all(flow().held())).toEqual([]);
  expect(sandbox.payments).toHaveLength(1);
});

it("never takes a flow from an owner that lives and renews its lease", async () => {
  const { flow, store, setBack, sandbox, bank } = await setBackFixture();
  const longMs = 1500;
  const seen: (number | undefined)[] = [];
  const owner = flow({
    leaseMs: longMs,
    takeFunds: async (call) => {
      setBack();
      await new Promise((resolve) => setTimeout(resolve, 2 * longMs));
      seen.push((await store.read("k"))?.epoch);
      return bank.takeFunds(call);
    },
  });
  const running = owner.run("k", request);
  await eventually(async () => expect(await store.read("k")).toMatchObject({ isOverlong: true }));
  const taker = flow({ leaseMs: longMs });
  const working = taker.work({ everyMs: 20 });
  const resolving = errorOf(taker.resolve("k", "resend", decision));
  expect(await running).toMatchObject({ status: "paid" });
  await taker.close();
  await working;
  expect(await resolving).toMatchObject({ code: "flow_not_held" });
  expect([seen, bank.calls, sandbox.payments.length]).toEqual([[1], 1, 1]);
});

it("resolves nothing that an owner has changed while the operator waited for its lease", async () => {
  const { flow, crash, store } = await setBackFixture();
  await crash();
  const { epoch = 0, nonce = "" } = (await store.read("k")) ?? {};
  const resolving = errorOf(flow().resolve("k", "resend", decision));
  await new Promise((resolve) => setTimeout(resolve, leaseMs / 4));
  expect(await store.renew("k", { epoch, nonce }, 60_000)).toBe(true);
  expect(await resolving).toMatchObject({ code: "flow_not_held" });
  expect((await store.read("k"))?.epoch).toBe(epoch);
});

it("resolves nothing that its owner gave back while the operator waited for its lease", async () => {
  const { flow, crash, store, bank } = await setBackFixture();
  await crash();
  const { epoch = 0, nonce = "" } = (await store.read("k")) ?? {};
  const journal = boundJournal(store, {
    acquire: async (...asked) => {
      const entry = await store.acquire(...asked);
      if (entry === undefined) await store.release("k", { epoch, nonce });
      return entry;
    },
  });
  expect(await errorOf(flow({ journal }).resolve("k", "resend", decision))).toMatchObject({ code: "flow_not_held" });
  expect(bank.calls).toBe(0);
});
