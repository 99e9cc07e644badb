import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import type { Payment } from "../../src/resources/payments.js";
import { fakeApiClient } from "../paging/fake-api-client.js";
import { readAlong } from "./read-along.js";

/** A client whose service lists what is given for a request. */
function listing(page: (paging: PagingValues) => readonly Partial<Payment>[]) {
  const requests: PagingValues[] = [];
  const client = fakeApiClient({
    call: (_operation, _ids, input) => {
      const paging = input?.paging ?? {};
      requests.push(paging);
      return toApiPromise(Promise.resolve(page(paging)) as Promise<never>, { response: undefined });
    },
  });
  return { client, requests };
}

it("is not complete, and ends, where the tokens come round in a circle", async () => {
  // As numbers and texts compare among each other, each of them lies behind the one before it.
  const tokens = ["9", "10", "1a"];
  const { client, requests } = listing(({ _after, _sort }) => {
    if (_sort === "createdAt.desc") return [];
    const next = _after === undefined ? 0 : (tokens.indexOf(String(_after)) + 1) % tokens.length;
    return [{ pagingToken: tokens[next] ?? "" }];
  });
  const read = await readAlong(client, null, () => false);
  expect(read).toEqual({ seen: 4, problem: expect.stringContaining("listed one by one") });
  expect(requests.filter(({ _sort }) => _sort === "pagingToken.asc").map(({ _after }) => _after)).toEqual([
    undefined,
    // The first payment once more: where pages have one each, it leaves no place for the next.
    undefined,
    ...tokens,
  ]);
});

type Listed = Partial<Payment>;

/** A service that lists these payments, the newest of which come first, and orders the tokens as numbers. */
function serviceOf(newestFirst: readonly Listed[]) {
  return listing(({ _after = "-1", _before = "1000000", _sort, _size = 20 }) => {
    const within = newestFirst.filter(
      ({ pagingToken }) => Number(pagingToken) > Number(_after) && Number(pagingToken) < Number(_before),
    );
    if (_sort?.startsWith("createdAt.asc")) within.reverse();
    if (_sort === "pagingToken.asc") within.sort((one, other) => Number(one.pagingToken) - Number(other.pagingToken));
    return within.slice(0, _size);
  });
}

const madeAt = (second: number) => new Date(Date.UTC(2026, 0, 1) + 1000 * second).toISOString();

const inTokenOrder = (requests: readonly PagingValues[]) =>
  requests.filter(({ _sort }) => _sort === "pagingToken.asc").length;

describe("the newest payments first", () => {
  const falling = (createdAt: (index: number) => string): Listed[] =>
    Array.from({ length: 250 }, (_, index) => ({ pagingToken: String(1000 - index), createdAt: createdAt(index) }));
  const timeless = () => "some time ago";

  it("are enough where newer payments have lower tokens", async () => {
    const { client, requests } = serviceOf(
      Array.from({ length: 250 }, (_, index) => ({ pagingToken: String(index), createdAt: madeAt(1000 - index) })),
    );
    expect(await readAlong(client, null, () => false)).toEqual({ seen: 250, problem: undefined });
    expect(inTokenOrder(requests)).toBe(0);
  });

  it.each<[string, string | null, (index: number) => string]>([
    ["there is no mark", null, timeless],
    ["no payment has a timestamp", "990", timeless],
    ["the mark has no timestamp", "990", (index) => (index === 10 ? timeless() : madeAt(1000 - index))],
    ["the last of the page has no timestamp", "990", (index) => (index === 99 ? timeless() : madeAt(1000 - index))],
  ])("are read to the end of the list where %s", async (_, since, createdAt) => {
    const { client, requests } = serviceOf(falling(createdAt));
    expect(await readAlong(client, since, () => false)).toEqual({ seen: 250, problem: undefined });
    expect(inTokenOrder(requests)).toBe(0);
  });

  it("are not enough where they are listed by their tokens, from ranges of several machines", async () => {
    // Each machine has sixty tokens of its own, and hands out one a second.
    const rows = Array.from({ length: 200 }, (_, index) => 200 - index).map((token) => ({
      pagingToken: String(token),
      createdAt: madeAt((token + 39) % 60),
    }));
    const { client } = serviceOf(rows);
    let isFound = false;
    await readAlong(client, "195", ({ pagingToken }) => {
      isFound ||= pagingToken === "79";
      return isFound;
    });
    expect(isFound).toBe(true);
  });
});

describe("payments that are read in the order of their tokens", () => {
  it("are counted up to the one that is found", async () => {
    const { client } = serviceOf([2, 1, 3].map((token) => ({ pagingToken: String(token) })));
    let looks = 0;
    const inspect = ({ pagingToken }: Payment) => {
      looks += 1;
      return looks > 3 && pagingToken === "2";
    };
    expect(await readAlong(client, null, inspect)).toEqual({ seen: 2, problem: undefined });
  });

  it("are read on behind the last token of a page, where payments without one follow it", async () => {
    const { client } = listing(({ _after, _sort }) => {
      if (_sort === "createdAt.desc") return [];
      if (_after === undefined) return [{ pagingToken: "1" }, { id: "p" }];
      return _after === "1" ? [{ pagingToken: "2" }] : [];
    });
    expect(await readAlong(client, null, () => false)).toEqual({
      seen: 3,
      problem: "payments without a paging token are listed",
    });
  });

  it.each<[string, unknown]>([
    ["none", undefined],
    ["an empty text", ""],
    ["a number", 7],
  ])("are each read once where their token is %s", async (_, pagingToken) => {
    const { client } = listing(() => [{ pagingToken } as Listed, { pagingToken } as Listed]);
    expect(await readAlong(client, null, () => false)).toEqual({
      seen: 2,
      problem: "payments without a paging token are listed",
    });
  });

  it("are not certainly all where a page is in another order", async () => {
    const { client } = listing(({ _after }) =>
      _after === undefined ? [3, 1, 2].map((token) => ({ pagingToken: String(token) })) : [],
    );
    expect(await readAlong(client, null, () => false)).toEqual({
      seen: 3,
      problem: "the payments are not listed in the order of their paging tokens",
    });
  });
});
