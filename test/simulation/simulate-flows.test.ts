import { expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { simulateFlows } from "../../src/simulation/simulate-flows.js";
import { SimulationError } from "../../src/simulation/simulation-error.js";

/** A bank's own functions, over a ledger that keeps every key. */
class Bank {
  readonly taken = new Map<string, "taken" | "released">();
  calls = 0;

  readonly takeFunds = async ({ key }: { readonly key: string }) => {
    this.calls += 1;
    const known = this.taken.get(key);
    if (known === "released") return null;
    this.taken.set(key, "taken");
    // As a database would, for real.
    await new Promise((resolve) => setImmediate(resolve));
    return { senderGatewayTransactionId: `of ${key}`, replayed: known !== undefined };
  };

  readonly releaseFunds = async ({ key }: { readonly key: string }) => {
    this.taken.set(key, "released");
  };

  get functions() {
    return { takeFunds: this.takeFunds, releaseFunds: this.releaseFunds };
  }
}

/** The functions of a bank that knows one account. */
function ledgerOf(account: string, bank = new Bank()) {
  const takeFunds = async ({
    key,
    intent,
  }: {
    readonly key: string;
    readonly intent: { readonly senderAccount?: string };
  }) => (intent.senderAccount === account ? bank.takeFunds({ key }) : null);
  return { takeFunds, releaseFunds: bank.releaseFunds };
}

async function failureOf(simulating: Promise<unknown>): Promise<SimulationError> {
  const error: unknown = await simulating.catch((thrown: unknown) => thrown);
  if (error instanceof SimulationError) return error;
  throw new Error("no law was broken", { cause: error });
}

it("breaks no law with the functions of a bank as it should be, and tells what happened", async () => {
  const report = await simulateFlows({ schedules: 15, seed: 20 });
  expect(report).toMatchObject({ seed: 20, schedules: 15, flows: 45 });
  expect(report.paid).toBeGreaterThan(0);
  expect(report.events).toBeGreaterThan(15);
});

it("fails where a ledger declines every flow, since nothing was tested", async () => {
  const simulating = simulateFlows({ ...ledgerOf("ours"), schedules: 20, seed: 1 });
  await expect(simulating).rejects.toThrow(/nothing was tested, since none of 60 flows was paid, given back or held/);
  await expect(simulating).rejects.toThrow(InvalidArgumentError);
});

it("gives the functions the intent that it is told, or the one that is documented", async () => {
  const intent = { senderAccount: "ours", senderCurrency: "USD", receiverAmount: "1.00" };
  expect((await simulateFlows({ ...ledgerOf("ours"), intent, schedules: 5, seed: 1 })).paid).toBeGreaterThan(0);
  const byDefault = ledgerOf("DE02 1203 0000 0000 2020 51");
  expect((await simulateFlows({ ...byDefault, schedules: 5, seed: 1 })).paid).toBeGreaterThan(0);
});

it("says what a takeFunds throws that always fails", async () => {
  const { releaseFunds } = new Bank();
  const takeFunds = () => Promise.reject(new TypeError("no connection to the ledger"));
  const simulating = simulateFlows({ takeFunds, releaseFunds, schedules: 3, seed: 1 });
  await expect(simulating).rejects.toThrow(/nothing was tested.* takeFunds failed: no connection to the ledger$/);
  await expect(simulating).rejects.toThrow(InvalidArgumentError);
});

it("takes the time of a bank's own books, which is not the simulation's", async () => {
  const bank = new Bank();
  const takeFunds = async (context: { readonly key: string }) => {
    const taken = await bank.takeFunds(context);
    return taken && { ...taken, takenAtMs: Date.parse("2040-01-01") };
  };
  expect((await simulateFlows({ ...bank.functions, takeFunds, schedules: 5, seed: 1 })).paid).toBeGreaterThan(0);
});

it.each([
  undefined,
  "TX-1",
  { senderGatewayTransactionId: 12, replayed: false },
  { senderGatewayTransactionId: "TX-1" },
])("finds a takeFunds that returns %o", async (returned) => {
  const { releaseFunds } = new Bank();
  const takeFunds = async () => returned as never;
  const { law, message } = await failureOf(simulateFlows({ takeFunds, releaseFunds, schedules: 5, seed: 1 }));
  expect(law).toBe("bank");
  expect(message).toContain("takeFunds must return");
});

it("says that releaseFunds may have failed each time", async () => {
  const bank = new Bank();
  const releaseFunds = () => Promise.reject(new Error("the ledger refuses"));
  const { neverHappened } = await simulateFlows({ takeFunds: bank.takeFunds, releaseFunds, schedules: 40, seed: 5 });
  expect(neverHappened).toContain("releaseFunds was never called, or failed each time");
});

it("breaks no law where a flow refuses the time at which the simulated bank took the money", async () => {
  // In this one it took it between two milliseconds.
  expect(await simulateFlows({ seed: 53, first: 237, schedules: 1 })).toMatchObject({ schedules: 1 });
});

it("says which cases of a user's functions never came up", async () => {
  const bank = new Bank();
  const { neverHappened, marks } = await simulateFlows({ ...bank.functions, schedules: 5, seed: 1 });
  const hasReleased = [...bank.taken.values()].includes("released");
  expect(neverHappened.includes("releaseFunds was never called, or failed each time")).toBe(!hasReleased);
  expect(neverHappened).toContain("takeFunds never returned null: no flow was declined");
  expect(marks["takeFunds took money"]).toBeGreaterThan(0);
  expect(marks["claimed: nothing: paid"]).toBeGreaterThan(0);
});

it("does the same again with the same seed", async () => {
  const [one, other] = [
    await simulateFlows({ schedules: 12, seed: 3 }),
    await simulateFlows({ schedules: 12, seed: 3 }),
  ];
  expect({ ...one, schedulesPerSecond: 0 }).toEqual({ ...other, schedulesPerSecond: 0 });
});

it("calls a user's own functions, with keys that no other simulation uses", async () => {
  const bank = new Bank();
  await simulateFlows({ ...bank.functions, schedules: 12, seed: 1 });
  const keys = [...bank.taken.keys()];
  await simulateFlows({ ...bank.functions, schedules: 12, seed: 1 });
  expect(keys.length).toBeGreaterThan(12);
  expect(bank.taken.size).toBe(2 * keys.length);
  expect(bank.calls).toBeGreaterThan(bank.taken.size);
});

it("finds a takeFunds that never says that it had taken the money before, and shows it in a short schedule", async () => {
  const bank = new Bank();
  const forgetful = async (context: { readonly key: string }) => {
    const taken = await bank.takeFunds(context);
    return taken === null ? null : { ...taken, replayed: false };
  };
  const { message, law, counterexample } = await failureOf(
    simulateFlows({ takeFunds: forgetful, releaseFunds: bank.releaseFunds, schedules: 20_000, seed: 2 }),
  );
  expect(law).toBe("bank");
  expect(message).toContain("replayed");
  expect(counterexample.trace.length).toBeLessThan(80);
  const again = await failureOf(
    simulateFlows({
      takeFunds: forgetful,
      releaseFunds: bank.releaseFunds,
      choices: counterexample.choices,
    }),
  );
  expect(again.law).toBe("bank");
});

it("finds a takeFunds that returns another id each time", async () => {
  const bank = new Bank();
  const unstable = async (context: { readonly key: string }) => {
    const taken = await bank.takeFunds(context);
    return taken === null ? null : { ...taken, senderGatewayTransactionId: `call ${bank.calls}` };
  };
  const { law, message } = await failureOf(
    simulateFlows({ takeFunds: unstable, releaseFunds: bank.releaseFunds, schedules: 5000, seed: 4, shrinks: false }),
  );
  expect(law).toBe("bank");
  expect(message).toContain("another senderGatewayTransactionId");
});

it("shows what happens where the flow is told of facts about the service that are not true", async () => {
  const { law, message } = await failureOf(
    simulateFlows({ schedules: 20_000, seed: 6, hasFalseFacts: true, shrinks: false }),
  );
  expect(["once", "release", "told"]).toContain(law);
  expect(message).toMatch(/seed 6, schedule \d+, choices \[/);
});

it.each([
  { schedules: 0 },
  { seed: -1 },
  { flows: 1.5 },
  { processes: 0 },
  { takeFunds: new Bank().takeFunds },
  { takeFunds: "x" as never, releaseFunds: "y" as never },
  { intent: { memo: "m" } as never },
  { intent: "EUR" as never },
  { choices: [1, -1] },
  { choices: [0.5] },
  { choices: { length: 1 } as never },
  { shrinks: "no" as never },
])("refuses %o", async (options) => {
  await expect(simulateFlows(options)).rejects.toThrow(InvalidArgumentError);
});

it("refuses to run twice at once", async () => {
  const first = simulateFlows({ schedules: 1, seed: 1 });
  await expect(simulateFlows({ schedules: 1, seed: 1 })).rejects.toThrow("one simulation at a time");
  await first;
});
