import type { Journal, PaymentFlow } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { stretched } from "../support/patience.js";
import { boundJournal } from "./bound-journal.js";
import { flowFixture, isPayment, request } from "./flow-fixture.js";
import { RestorableJournal } from "./restorable-journal.js";
import { errorOf } from "./results.js";

/** Long enough for a busy machine: the owner gets as far as it stands still before it is over. */
const lease = { leaseMs: stretched(1000) };

/**
 * An owner whose lease ends while it stands still, and another one that takes its flow over and pays. Then the journal is restored to
 * the time before, in which the flow is the first owner's, and that one goes on.
 */
class StandingStill {
  readonly #restorable = new RestorableJournal();
  #canGoOn = false;

  /** The journal of those that don't stand still. */
  get journal(): Journal {
    return this.#restorable.journal;
  }

  /** Of the owner that stands still, which renews nothing meanwhile. */
  get stillJournal(): Journal {
    return boundJournal(this.journal, {
      renew: async (...args) => {
        if (!this.#canGoOn) throw new Error("it stands still");
        return this.journal.renew(...args);
      },
    });
  }

  /** Until somebody else has brought the flow to its end, and that is forgotten. */
  async untilForgotten(other: PaymentFlow, outcome = "paid"): Promise<void> {
    await this.#until(outcome, other);
    await this.#forget();
    this.#canGoOn = true;
  }

  /** Until what it has done is forgotten, and somebody else has paid. */
  async whileRestored(other: PaymentFlow): Promise<void> {
    await this.#forget();
    await this.#until("paid", other);
    this.#canGoOn = true;
  }

  /** The same, and then what the other has done is forgotten in its turn. */
  async whileFailedOver(other: PaymentFlow): Promise<void> {
    const failBack = await this.#forget();
    await this.#until("paid", other);
    await failBack();
    this.#canGoOn = true;
  }

  async #until(outcome: string, other: PaymentFlow): Promise<void> {
    await eventually(async () => {
      for await (const { status } of other.recover()) expect(status).toBe(outcome);
      expect((await this.journal.read("k"))?.phase).toBe(outcome);
    });
  }

  async #forget(): Promise<() => Promise<void>> {
    const back = await this.#restorable.restore(1);
    expect(await this.journal.read("k")).toMatchObject({ phase: "funds-requested", epoch: 1 });
    return back;
  }
}

it("looks for the payment when the lease ended while the bank took the money, although the journal says that nobody had the flow", async () => {
  const { sandbox, flow, bank } = await flowFixture({}, lease);
  const still = new StandingStill();
  const owner = flow({
    journal: still.stillJournal,
    takeFunds: async (call) => {
      const funds = bank.takeFunds(call);
      await still.untilForgotten(flow({ journal: still.journal }));
      return funds;
    },
  });
  expect(await owner.run("k", request)).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
  expect(sandbox.payments).toHaveLength(1);
});

it("sends nothing when the lease ended while the claim waited for a token, and the next call finds the payment of the other owner", async () => {
  const { sandbox, flow, bank, logIn } = await flowFixture({}, lease);
  const still = new StandingStill();
  const token = await logIn();
  let isFunded = false;
  const accessToken = async (): Promise<string> => {
    if (isFunded) {
      isFunded = false;
      await still.untilForgotten(flow({ journal: still.journal }));
    }
    return token;
  };
  const owner = flow(
    {
      journal: still.stillJournal,
      takeFunds: (call) => {
        isFunded = bank.calls === 0;
        return bank.takeFunds(call);
      },
    },
    { auth: { accessToken } },
  );
  expect(await errorOf(owner.run("k", request))).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
  expect(await owner.run("k", request)).toMatchObject({ status: "paid", payment: { id: sandbox.payments[0]?.id } });
  expect(sandbox.payments).toHaveLength(1);
});

/** The first payment that is sent is refused for good. */
function refusedOnce() {
  let refusals = 0;
  return flowFixture(
    {
      onRequest: (seen) => {
        if (!isPayment(seen) || refusals > 0) return undefined;
        refusals += 1;
        return Response.json({ error: "limit", message: "no" }, { status: 400 });
      },
    },
    lease,
  );
}

it("gives no money back when the lease ended before that, also where the journal has gone back to the refusal", async () => {
  const { sandbox, flow, bank } = await refusedOnce();
  const still = new StandingStill();
  let hasFailedOver = false;
  const journal = boundJournal(still.stillJournal, {
    write: async (...args) => {
      const isStored = await still.stillJournal.write(...args);
      if (args[2].phase === "refused" && !hasFailedOver) {
        hasFailedOver = true;
        await still.whileFailedOver(flow({ journal: still.journal }));
      }
      return isStored;
    },
  });
  const error = await errorOf(flow({ journal }).run("k", request));
  expect([sandbox.payments.length, bank.released]).toEqual([1, []]);
  expect(error).toMatchObject({ code: "flow_paused", phase: "refused", cause: { code: "flow_payment_found" } });
  // Whoever takes it over finds the same, until an operator ends it.
  const next = flow({ journal: still.journal });
  for (let round = 0; round < 2; round += 1) await errorOf(next.run("k", request));
  expect(await next.details("k")).toMatchObject({
    isWaiting: true,
    failures: { code: "flow_payment_found", count: 3 },
  });
  const [payment] = sandbox.payments;
  const found = { by: "olga", why: "listed", payment } as never;
  expect(await next.resolve("k", "found", found)).toMatchObject({ status: "paid" });
  expect(bank.released).toEqual([]);
});

it("gives no money back when the lease ended before that, and an owner that knew of no refusal has paid", async () => {
  const { sandbox, flow, bank } = await refusedOnce();
  const still = new StandingStill();
  const journal = boundJournal(still.stillJournal, {
    write: async (...args) => {
      const isStored = await still.stillJournal.write(...args);
      if (args[2].phase === "refused") await still.whileRestored(flow({ journal: still.journal }));
      return isStored;
    },
  });
  expect(await flow({ journal }).run("k", request)).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
  expect(bank.released).toEqual([]);
});

it("asks the bank again after it has waited for claims that the journal may have lost: their money may have been given back", async () => {
  let refusals = 0;
  const { sandbox, flow, bank } = await flowFixture(
    {
      onRequest: (seen) => {
        if (!isPayment(seen) || refusals > 0) return undefined;
        refusals += 1;
        return Response.json({ error: "limit", message: "no" }, { status: 400 });
      },
    },
    lease,
  );
  const still = new StandingStill();
  const owner = flow({
    journal: still.stillJournal,
    takeFunds: async (call) => {
      const funds = bank.takeFunds(call);
      if (bank.released.length === 0) await still.untilForgotten(flow({ journal: still.journal }), "rejected");
      return funds;
    },
  });
  const error = await errorOf(owner.run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", phase: "funds-requested" });
  expect(error).toHaveProperty(
    "cause.message",
    expect.stringContaining("takeFunds returned null for money that it had taken before"),
  );
  expect(bank.released).toEqual(["k"]);
  expect(sandbox.payments).toEqual([]);
});
