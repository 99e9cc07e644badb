import { expect, it } from "vitest";
import { UnexpectedResponseError } from "../../src/errors/errors.js";
import { readPaymentPages } from "../../src/reconcile/payment-pages.js";
import { requireApiClient } from "../../src/reconcile/payments-client.js";
import { paymentsService } from "./payments-service.js";

const payments = Array.from({ length: 100 }, (_, index) => ({ id: `p${index + 1}`, pagingToken: `${index + 1}` }));
const unreadable = () =>
  new UnexpectedResponseError("can't be read", {
    code: "response_unreadable" as never,
    response: { status: 200, headers: {}, text: "" },
  });

/** Reads what is after the token by pages of fifty, and gives the ids, the sizes that were asked for, and how often a read failed. */
async function read(isReadable: (size: number, after: number) => boolean, after?: string, mostFailures = 0) {
  const service = paymentsService(payments, ({ _size = 20, _after = "0" }) => {
    if (!isReadable(_size, Number(_after))) throw unreadable();
    return undefined;
  });
  const ids: string[] = [];
  const failures: number[] = [];
  const pages = readPaymentPages(
    requireApiClient("test", service.client),
    { after, size: 50 },
    {},
    async (error, count) => {
      failures.push(count);
      if (failures.length > mostFailures) throw error;
    },
  );
  for await (const page of pages) ids.push(...page.map(({ id }) => id));
  return { ids, failures, sizes: service.requested.map(({ _size }) => _size) };
}

const idsFrom = (first: number) => payments.slice(first - 1).map(({ id }) => id);

it("reads all payments, or those after a token", async () => {
  expect((await read(() => true)).ids).toEqual(idsFrom(1));
  expect((await read(() => true, "42")).ids).toEqual(idsFrom(43));
});

it("reads smaller pages where a large one can't be read, and larger ones again behind that", async () => {
  // The fortieth payment makes every page too large that has more than five.
  const { ids, failures, sizes } = await read((size, after) => size <= 5 || after >= 40 || after + size < 40);
  expect(ids).toEqual(idsFrom(1));
  expect(failures).toEqual([]);
  expect(sizes).toEqual([50, 5, 10, 20, 40, 4, 8, 1, 2, 4, 8, 16, 32, 50, 50]);
});

it("reads payments one by one where no two can be read together", async () => {
  const { ids, failures } = await read((size, after) => size === 1 || after >= 40 || after + size < 40);
  expect(ids).toEqual(idsFrom(1));
  expect(failures).toEqual([]);
});

it("reads a payment that comes behind the only one while that is shown again", async () => {
  const rows = payments.slice(0, 2);
  let isFirst = true;
  const { client } = paymentsService(rows, ({ _after }, number) => {
    if (number === 1) return rows.slice(0, 1);
    if (_after !== "1" || !isFirst) return undefined;
    isFirst = false;
    return [];
  });
  const ids: string[] = [];
  const pages = readPaymentPages(requireApiClient("test", client), { size: 50 }, {}, (error) => Promise.reject(error));
  for await (const page of pages) ids.push(...page.map(({ id }) => id));
  expect(ids).toEqual(["p1", "p2"]);
});

it("leaves it to its caller what to do about a payment that can't be read alone", async () => {
  let tries = 0;
  const isReadable = (_: number, after: number) => {
    if (after === 0) tries += 1;
    return after !== 0 || tries > 5;
  };
  const { ids, failures } = await read(isReadable, undefined, 9);
  expect(ids).toEqual(idsFrom(1));
  expect(failures).toEqual([0, 1, 2]);
  await expect(read(() => false)).rejects.toThrow("can't be read");
});

it.each<[string, number]>([
  ["the second page", 50],
  ["the first page", 0],
])("says so where payments of %s have no paging token, and asks for no page after it", async (_, from) => {
  const service = paymentsService(payments, ({ _size = 20, _after = "0" }) => {
    const page = payments.slice(Number(_after), Number(_after) + _size);
    return Number(_after) === from ? page.map(({ id }) => ({ id })) : page;
  });
  const read = async () => {
    const client = requireApiClient("test", service.client);
    for await (const _ of readPaymentPages(client, { after: undefined, size: 50 }, {}, (error) =>
      Promise.reject(error),
    ));
  };
  await expect(read()).rejects.toThrow(/records have no pagingToken/);
  expect(service.requested.filter(({ _after }) => Number(_after) > from)).toEqual([]);
});
