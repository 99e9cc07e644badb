import { describe, expect, it } from "vitest";
import { PageSequence } from "../../src/payments/page-sequence.js";
import { PaymentPages } from "../../src/payments/payment-pages.js";
import { type Listed, listedService, paymentsFrom } from "./listed-service.js";

/** Reads a list in the order of its tokens to its end. */
async function readToEnd(service: ReturnType<typeof listedService>, size = 20) {
  const sequence = new PageSequence(new PaymentPages({ client: service.client, size }), "pagingToken.asc");
  const ids: unknown[] = [];
  for (;;) {
    const { payments, isEnd, gap, doubt } = await sequence.next("up");
    ids.push(...payments.map(({ id }) => id));
    if (isEnd) return { ids, problem: gap ?? doubt };
  }
}

const idsOf = (payments: readonly Listed[]) => payments.map(({ id }) => id);

describe("the pages of a list", () => {
  it.each([0, 1, 2, 3, 19, 20, 21, 38, 39, 40, 200])(
    "have each of %i payments once, and prove the end",
    async (count) => {
      const payments = paymentsFrom(1, count);
      expect(await readToEnd(listedService(payments))).toEqual({ ids: idsOf(payments), problem: undefined });
    },
  );

  it("begin with the last payment of the page before, by the token of the one before that", async () => {
    const service = listedService(paymentsFrom(1, 30));
    await readToEnd(service);
    expect(service.requested.map(({ _after }) => _after)).toEqual([undefined, "19", "29"]);
  });

  it.each([
    ["an empty page in place of the second", 2, []],
    ["an empty page in place of the last", 3, []],
    ["a page of a replica that lacks the page before", 2, paymentsFrom(25, 30)],
  ])("are asked for once more after %s", async (_, at, page) => {
    const payments = paymentsFrom(1, 30);
    const service = listedService(payments, (_paging, number) => (number === at ? { page } : undefined));
    expect(await readToEnd(service)).toEqual({ ids: idsOf(payments), problem: undefined });
    expect(service.requested).toHaveLength(4);
  });

  it.each([
    ["empty", [], []],
    ["of a replica that lags behind", paymentsFrom(1, 10), []],
  ])("prove no end where each page behind the first is %s", async (_, page) => {
    const service = listedService(paymentsFrom(1, 30), (_paging, number) => (number > 1 ? { page } : undefined));
    const { ids, problem } = await readToEnd(service);
    expect(ids.slice(0, 20)).toEqual(idsOf(paymentsFrom(1, 20)));
    expect(problem).toMatch(/does not begin with the last payment of the page before it/);
    expect(service.requested).toHaveLength(3);
  });

  it("know a payment again whose token has grown", async () => {
    const payments = paymentsFrom(1, 30);
    const changed = (page: readonly Listed[]) =>
      page.map((payment) => (payment.id === "p-20" ? { ...payment, pagingToken: "20.5" } : payment));
    const service = listedService(payments, (_paging, number, page) =>
      number === 2 ? { page: changed(page) } : undefined,
    );
    expect(await readToEnd(service)).toEqual({ ids: idsOf(payments), problem: undefined });
  });

  it("prove nothing where a service lists one payment at a time", async () => {
    const payments = paymentsFrom(1, 5);
    const { ids, problem } = await readToEnd(listedService(payments, undefined, 1));
    expect(ids).toEqual(idsOf(payments));
    expect(problem).toMatch(/listed one by one/);
  });
});
