import type { FlowOutcome, Journal } from "cross-border-payments/flow";
import { expect, it, vi } from "vitest";
import { RecoverySlots } from "../../src/flows/recovery-slots.js";
import { flowFixture, request } from "./flow-fixture.js";

/** Flows whose payments were lost on the way, and that wait for their next look for as long as a test may take. */
async function waitingFixture(count: number) {
  let isAway = true;
  const fixture = await flowFixture({
    onRequest: ({ operation }) => (isAway && operation === "payments.create" ? Response.error() : undefined),
  });
  const options = { circuitBreaker: false as const, readBackDelayMs: 600_000, leaseMs: 60_000 };
  const stopped = fixture.flow(options);
  const runs = Array.from({ length: count }, (_, index) => stopped.run(`a${index}`, request));
  const ended = Promise.allSettled(runs);
  await vi.waitFor(async () => expect((await stopped.counts()).unknown).toBe(count), 20_000);
  await stopped.close();
  await ended;
  isAway = false;
  return { ...fixture, waiting: fixture.flow(options) };
}

async function leased(journal: Journal): Promise<number> {
  const entries = await journal.list({ scope: { service: "https://service.test" }, limit: 1000 });
  return entries.filter(({ leaseUntilMs }) => leaseUntilMs !== undefined).length;
}

it("settles a flow that needs no waiting although many others wait", async () => {
  const { flow, waiting } = await waitingFixture(6);
  const takeFunds = () => {
    throw new Error("the bank is closed");
  };
  await expect(flow({ takeFunds }).run("z", request)).rejects.toMatchObject({ code: "flow_paused" });
  const recovering = waiting.recover({ concurrency: 2 });
  const { value } = await recovering.next();
  expect(value as FlowOutcome).toMatchObject({ key: "z", status: "paid" });
  await recovering.return();
  expect(await waiting.close()).toEqual({ pending: 0 });
});

it("takes over no more than 16 flows for each that is busy, and frees all of them when it is told to stop", async () => {
  const { waiting, journal } = await waitingFixture(20);
  const recovering = waiting.recover({ concurrency: 1 });
  const first = recovering.next().catch((error: unknown) => error);
  await vi.waitFor(async () => expect(await leased(journal)).toBe(16), 20_000);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await leased(journal)).toBe(16);
  expect(await waiting.close()).toEqual({ pending: 0 });
  expect(await first).toBeInstanceOf(AggregateError);
  expect(await leased(journal)).toBe(0);
});

it("gives a slot to whoever waited longest for one", async () => {
  const slots = new RecoverySlots(1);
  expect([slots.tryEnter(), slots.tryEnter()]).toEqual([true, false]);
  const entered: string[] = [];
  const entering = ["first", "second"].map((name) => slots.enter().then(() => entered.push(name)));
  slots.leave();
  await entering[0];
  expect([entered, slots.tryEnter()]).toEqual([["first"], false]);
  slots.open();
  await entering[1];
  expect([entered, slots.tryEnter()]).toEqual([["first", "second"], true]);
});
