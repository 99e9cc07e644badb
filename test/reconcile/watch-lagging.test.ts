import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { watchPayments } from "../../src/reconcile/watch-payments.js";
import type { Payment } from "../../src/resources/payments.js";
import { paymentsService } from "./payments-service.js";

const payments: readonly Partial<Payment>[] = Array.from({ length: 30 }, (_, index) => ({
  id: `p${index}`,
  pagingToken: `${index + 1}`,
  createdAt: new Date(Date.UTC(2026, 0, 1, 0, index)).toISOString(),
  receiverGatewayStatus: "processed",
}));
const behind = paymentsService(payments.slice(0, 14));

/** Watches until all payments were handed out, by what is listed for each request. */
async function watchAll(
  respond: (paging: PagingValues, number: number) => readonly Partial<Payment>[] | undefined,
): Promise<readonly string[]> {
  vi.useFakeTimers({ shouldAdvanceTime: true, advanceTimeDelta: 20 });
  onTestFinished(() => void vi.useRealTimers());
  const { client } = paymentsService(payments, respond);
  const ids: string[] = [];
  const working = (async () => {
    for await (const { type, payment } of watchPayments(client, { everyMs: 1000, rereadEveryMs: 1000, size: 10 })) {
      if (type === "created") ids.push(payment.id);
      if (ids.length === payments.length) return;
    }
  })();
  let isOver = false;
  void working.finally(() => {
    isOver = true;
  });
  while (!isOver) await vi.advanceTimersByTimeAsync(1000);
  await working;
  return ids;
}

describe("a watch hands out every payment once", () => {
  const requests = Array.from({ length: 9 }, (_, index) => index + 1);

  it.each(requests)("where response %i is empty, though there are payments", async (at) => {
    expect(await watchAll((_, number) => (number === at ? [] : undefined))).toEqual(payments.map(({ id }) => id));
  });

  it.each(requests)("where a replica that lags behind gives each response from %i on, for a while", async (at) => {
    const respond = (paging: PagingValues, number: number) =>
      number >= at && number < at + 20 ? behind.list(paging) : undefined;
    expect(await watchAll(respond)).toEqual(payments.map(({ id }) => id));
  });
});
