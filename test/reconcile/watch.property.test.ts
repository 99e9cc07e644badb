import fc from "fast-check";
import { expect, it } from "vitest";
import type { Payment } from "../../src/resources/payments.js";
import { runs } from "../support/thorough.js";
import { startMs, World, type WorldPayment } from "./world.js";

const rereadForMs = 60_000;
/** As late as a payment may be listed, or change, to be sure to be seen. */
const latestMs = rereadForMs;

const worldPayments = fc
  .array(
    fc.record({
      gapMs: fc.integer({ min: 0, max: 700 }),
      lagMs: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max: latestMs })),
      changes: fc.array(
        fc.record({
          afterMs: fc.integer({ min: 1, max: latestMs }),
          status: fc.constantFrom("processed", "error", "reverted"),
        }),
        { maxLength: 3 },
      ),
    }),
    { maxLength: 250, size: "max" },
  )
  .map((list) => {
    let createdMs = startMs;
    return list.map(({ gapMs, lagMs, changes }, index): WorldPayment => {
      createdMs += gapMs;
      const inOrder = changes.map(({ afterMs, status }) => ({ atMs: createdMs + afterMs, status }));
      inOrder.sort((one, other) => one.atMs - other.atMs);
      return { id: `p${index}`, token: `${index * 3 + 1}`, createdMs, listedMs: createdMs + lagMs, changes: inOrder };
    });
  });

/** What one process does before it dies: so many events or so long, the last events not stored with their cursor. */
const lives = fc.array(
  fc.record({
    events: fc.integer({ min: 0, max: 60 }),
    unstored: fc.integer({ min: 0, max: 5 }),
    liveMs: fc.integer({ min: 0, max: 3 * rereadForMs }),
    downMs: fc.integer({ min: 0, max: 3 * rereadForMs }),
  }),
  { maxLength: 8 },
);
const lastLife = { events: Number.POSITIVE_INFINITY, unstored: 0, liveMs: 5 * rereadForMs, downMs: 0 };

const failing = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 40 }).map((list) => new Set(list));

const clocks = fc.record({
  requestMs: fc.constantFrom(0, 7, 300),
  aheadMs: fc.constantFrom(0, 20_000, 3_600_000, -3_600_000),
});

function stateOf({ receiverGatewayStatus, updatedAt }: Payment): string {
  return `${receiverGatewayStatus} since ${updatedAt}`;
}

it("hands out every payment and its last state, whatever is listed late, fails or is restarted where", async () => {
  await fc.assert(
    fc.asyncProperty(worldPayments, lives, failing, clocks, async (payments, deaths, failures, clock) => {
      const world = new World({ payments, failing: failures, ...clock });
      const lastMs = Math.max(
        startMs,
        ...payments.flatMap(({ listedMs, changes }) => [listedMs, ...changes.map(({ atMs }) => atMs)]),
      );
      const stored = new Map<string, string>();
      let cursor: string | undefined;
      for (const { events, unstored, liveMs, downMs } of [...deaths, lastLife]) {
        const untilMs = events === lastLife.events ? Math.max(lastMs, world.nowMs) + liveMs : world.nowMs + liveMs;
        const seen = new Map<string, string>();
        const waiting: { readonly payment: Payment; readonly cursor: string }[] = [];
        let left = events;
        for await (const event of world.watch(
          { after: cursor, rereadForMs, everyMs: 2000, rereadEveryMs: 5000, size: 7 },
          untilMs,
        )) {
          if (left-- <= 0) break;
          const { id } = event.payment;
          // Within one process, each state comes once, and nothing is created twice.
          expect(seen.get(id)).not.toBe(stateOf(event.payment));
          if (event.type === "created") expect(seen.has(id)).toBe(false);
          seen.set(id, stateOf(event.payment));
          waiting.push(event);
          if (waiting.length <= unstored) continue;
          const done = waiting.shift();
          if (done === undefined) continue;
          stored.set(done.payment.id, stateOf(done.payment));
          cursor = done.cursor;
        }
        world.nowMs += downMs;
      }
      const expected = payments.map(({ id, createdMs, changes }): [string, string] => {
        const last = changes.at(-1);
        return [id, `${last?.status ?? "pending"} since ${new Date(last?.atMs ?? createdMs).toISOString()}`];
      });
      expect(stored).toEqual(new Map(expected));
    }),
    { numRuns: Number(process.env.CBP_RUNS ?? runs(80)) },
  );
});
