import type { ClientOptions } from "cross-border-payments";
import type { FlowOutcome, Journal, PaymentFlow, PaymentFlowOptions, Waits } from "cross-border-payments/flow";
import type { SandboxOptions } from "cross-border-payments/sandbox";
import { expect } from "vitest";
import { eventually } from "../support/eventually.js";
import { flowFixture, request } from "./flow-fixture.js";
import { inIncarnation } from "./in-incarnation.js";
import { JumpingClock } from "./jumping-clock.js";

export const leaseMs = 60_000;
export const readBackDelayMs = 100;

/** Flows over one journal, whose processes wait for a long time that passes at once. */
export async function waitingFixture(sandboxOptions?: SandboxOptions) {
  const fixture = await flowFixture(sandboxOptions);
  const clock = JumpingClock.install();
  const { journal: store } = fixture;

  /** A process, over the journal as it is in some incarnation. */
  const process = (
    incarnation: string | undefined,
    { journal = store, ...options }: Partial<PaymentFlowOptions> = {},
    clientOptions: Partial<ClientOptions> = {},
  ): PaymentFlow =>
    fixture.flow(
      { leaseMs, readBackDelayMs, journal: inIncarnation(journal, incarnation), ...options },
      // A call that is under way while the time jumps does not end by that.
      { timeoutMs: 10 * leaseMs, ...clientOptions },
    );
  const stateOf = async (journal: Journal = store) => {
    const { data = "{}", ...entry } = (await journal.read("k")) ?? {};
    const { state = {} } = JSON.parse(data);
    return { ...entry, waits: state.waits as Waits | undefined };
  };
  const waitedMs = async (journal?: Journal) => (await stateOf(journal)).waits?.ms ?? 0;

  /** Until an owner has stored that it waits: then it waits on. */
  async function waiting(journal?: Journal): Promise<void> {
    const beforeMs = await waitedMs(journal);
    await eventually(async () => expect(await waitedMs(journal)).toBeGreaterThan(beforeMs));
  }

  /** One round of a process that lives for so long, and no longer than until the flow has an outcome. */
  async function live(flow: PaymentFlow, lifeMs: number, journal?: Journal): Promise<FlowOutcome | undefined> {
    let outcome: FlowOutcome | undefined;
    const recovering = (async () => {
      for await (const settled of flow.recover()) outcome = settled;
    })().catch(() => {});
    const isOver = recovering.then(() => true);
    await Promise.race([waiting(journal), isOver]);
    if (outcome === undefined) clock.jump(lifeMs);
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 200)), isOver]);
    await flow.close();
    await recovering;
    return outcome;
  }

  /** Lets at least so much time pass for an owner that lives on, one heartbeat after the other. */
  async function wait(ms: number): Promise<void> {
    for (let leftMs = ms; leftMs > 0; leftMs -= leaseMs / 3) {
      const leaseUntilMs = (await stateOf()).leaseUntilMs ?? 0;
      clock.jump(leaseMs / 3);
      await eventually(async () => {
        const entry = await stateOf();
        const isRenewed = entry.leaseUntilMs === undefined || entry.leaseUntilMs > leaseUntilMs;
        expect(isRenewed).toBe(true);
      });
    }
  }

  return { ...fixture, clock, process, stateOf, waitedMs, waiting, live, wait };
}

export { request };
