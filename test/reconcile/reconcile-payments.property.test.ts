import fc from "fast-check";
import { expect, it } from "vitest";
import type { Discrepancy } from "../../src/reconcile/compare-group.js";
import type { OwnEntry } from "../../src/reconcile/own-entry.js";
import { reconcilePayments } from "../../src/reconcile/reconcile-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { compareTexts, paymentsService } from "./payments-service.js";

const fromMs = Date.parse("2026-03-01T00:00:00Z");
const toMs = fromMs + 10_000;
const slackMs = 2000;
const timeMs = fc.integer({ min: fromMs - 6000, max: toMs + 6000 });
const transactionId = fc.integer({ min: 0, max: 40 }).map((number) => `T-${number}`);
const amount = fc.constantFrom("1.5", "1.50", "01.5", "2", "2.000");

const entries = fc.array(
  fc.record(
    {
      senderGatewayTransactionId: transactionId,
      bookedAt: timeMs.map((ms) => new Date(ms).toISOString()),
      senderAmount: amount,
      receiverGatewayStatus: fc.constantFrom("pending", "reverted"),
    },
    { requiredKeys: ["senderGatewayTransactionId"] },
  ),
  { maxLength: 40 },
);

/** Tokens that follow time, that are in no order, and that fall. */
const tokens = fc.constantFrom(
  (index: number) => `${index + 1}`,
  (index: number) => `${(index * 7919) % 1009}-${index}`,
  (index: number) => `${1_000_000 - index}`,
);

const payments = fc
  .tuple(
    fc.array(fc.tuple(timeMs, transactionId, amount, fc.constantFrom("pending", "reverted")), {
      maxLength: 60,
      size: "max",
    }),
    tokens,
  )
  .map(([rows, tokenAt]) =>
    [...rows]
      .sort(([one], [other]) => one - other)
      .map(
        ([createdMs, id, senderAmount, receiverGatewayStatus], index): Partial<Payment> => ({
          id: `p${index}`,
          pagingToken: tokenAt(index),
          createdAt: new Date(createdMs).toISOString(),
          senderGatewayId: "alpha",
          senderGatewayTransactionId: id,
          senderAmount,
          receiverGatewayStatus,
        }),
      ),
  );

/** What the comparison is, without a thought of memory or of the order of lists. */
function naive(own: readonly OwnEntry[], listed: readonly Partial<Payment>[]): string[] {
  const isWithin = (time: unknown, slack = 0) =>
    time === undefined || (Date.parse(String(time)) >= fromMs - slack && Date.parse(String(time)) < toMs + slack);
  const read = listed.filter(({ createdAt }) => isWithin(createdAt, slackMs));
  const ids = new Set([...own, ...read].map(({ senderGatewayTransactionId }) => senderGatewayTransactionId));
  return [...ids].flatMap((id) => {
    const here = own.filter((entry) => entry.senderGatewayTransactionId === id);
    const there = read.filter((payment) => payment.senderGatewayTransactionId === id);
    const isOfPeriod =
      here.some(({ bookedAt }) => isWithin(bookedAt)) || there.some(({ createdAt }) => isWithin(createdAt));
    if (!isOfPeriod) return [];
    if (here.length > 1 || there.length > 1) return [`duplicate ${id} ${here.length} ${there.length}`];
    const [entry] = here;
    const [payment] = there;
    if (payment === undefined) return [`missing-there ${id}`];
    if (entry === undefined) return [`missing-here ${id}`];
    const differing = [
      ...(entry.senderAmount !== undefined && Number(entry.senderAmount) !== Number(payment.senderAmount)
        ? ["senderAmount"]
        : []),
      ...(entry.receiverGatewayStatus !== undefined && entry.receiverGatewayStatus !== payment.receiverGatewayStatus
        ? ["receiverGatewayStatus"]
        : []),
    ];
    return differing.length > 0 ? [`different ${id} ${differing}`] : [];
  });
}

function describe(found: Discrepancy): string {
  switch (found.type) {
    case "missing-here":
      return `missing-here ${found.payment.senderGatewayTransactionId}`;
    case "missing-there":
      return `missing-there ${found.entry.senderGatewayTransactionId}`;
    case "different":
      return `different ${found.entry.senderGatewayTransactionId} ${found.differences.map(({ field }) => field)}`;
    case "duplicate": {
      const id = (found.entries[0] ?? found.payments[0])?.senderGatewayTransactionId;
      return `duplicate ${id} ${found.entryCount} ${found.paymentCount}`;
    }
  }
}

it("gives all where the service orders numbers as texts", async () => {
  // Most of them come to have a digit more.
  const numbers = fc.tuple(fc.constantFrom(1, 5, 70, 85, 960, 9_970), fc.constantFrom(1, 3, 16, 160));
  await fc.assert(
    fc.asyncProperty(
      entries,
      payments,
      numbers,
      fc.integer({ min: 1, max: 100 }),
      async (own, rows, [first, step], size) => {
        const listed = rows.map((row, index) => ({ ...row, pagingToken: `${first + step * index}` }));
        const { client } = paymentsService(listed, undefined, compareTexts);
        const options = { from: new Date(fromMs), to: new Date(toMs), slackMs, size };
        const found: string[] = [];
        for await (const discrepancy of reconcilePayments(client, own, options)) found.push(describe(discrepancy));
        expect(found.sort()).toEqual(naive(own, listed).sort());
      },
    ),
    { numRuns: 300 },
  );
});

it("gives what a comparison of everything with everything gives, in memory and over a file, whatever the tokens are", async () => {
  await fc.assert(
    fc.asyncProperty(
      entries,
      payments,
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 1, max: 100 }),
      async (own, listed, maxInMemory, size) => {
        const { client } = paymentsService(listed);
        const options = { from: new Date(fromMs), to: new Date(toMs), slackMs, maxInMemory, size };
        const found: string[] = [];
        for await (const discrepancy of reconcilePayments(client, own, options)) found.push(describe(discrepancy));
        expect(found.sort()).toEqual(naive(own, listed).sort());
      },
    ),
    { numRuns: 200 },
  );
});
