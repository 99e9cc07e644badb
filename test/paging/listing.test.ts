import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { ListQuery } from "../../src/api/list-query.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import { resource } from "../../src/api/resource.js";
import { InvalidArgumentError, PagingError } from "../../src/core/errors.js";
import { type Listing, listRecords } from "../../src/paging/listing.js";
import { ListService, type Row, rowsUpTo } from "./list-service.js";

const rows = resource<Row>()("rows", "/rows", {
  fields: { id: "text", pagingToken: "text", createdAt: "timestamp", name: "text" },
  list: true,
});

type Query = ListQuery<Row, object>;

function list(service: ListService, query?: Query, options?: RequestOptions): Listing<Row> {
  return listRecords(service.client, rows.list, [], query, options);
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Fails from the second request on. */
const failingLater = () =>
  new ListService({
    rows: [],
    response: (_, number) => {
      if (number > 1) throw new Error("the service is unavailable");
      return rowsUpTo(3);
    },
  });

describe("a listing", () => {
  it("requests nothing before it is used", () => {
    const service = new ListService({ rows: rowsUpTo(3) });
    list(service);
    expect(service.requested).toEqual([]);
  });

  it("requests the first page once, however often it is awaited", async () => {
    const service = new ListService({ rows: rowsUpTo(5), cap: 2 });
    const listing: Promise<Iterable<Row>> = list(service);
    const page = await list(service, { size: 1 });
    expect([[...page], page.next, page.nextQuery]).toEqual([rowsUpTo(1), "1", { after: "1" }]);
    expect(await listing).toBe(await listing);
    expect(service.requested).toHaveLength(2);
    const { data, response } = await list(service).withResponse();
    expect([[...data], response.headers["x-page"]]).toEqual([rowsUpTo(2), "3"]);
  });

  it("takes catch and finally as promises do", async () => {
    const failure = new Error("no");
    const failing = () => {
      const response = () => {
        throw failure;
      };
      return list(new ListService({ rows: [], response }));
    };
    let finished = 0;
    expect(await failing().catch((error: unknown) => error)).toBe(failure);
    await expect(failing().finally(() => void finished++)).rejects.toBe(failure);
    await list(new ListService({ rows: [] })).finally(() => void finished++);
    expect(finished).toBe(2);
  });

  it("sorts by paging token unless told otherwise, and joins sort terms with commas", async () => {
    const service = new ListService({ rows: [] });
    await list(service);
    await list(service, { sort: ["createdAt.desc", "id.asc"] });
    await list(service, { cursor: ({ id }) => id ?? "" });
    expect(service.requested.map(({ paging }) => paging._sort)).toEqual([
      "pagingToken.asc",
      "createdAt.desc,id.asc",
      undefined,
    ]);
  });

  it("hands options and filter to each page, and asks for three records at least", async () => {
    const service = new ListService({ rows: rowsUpTo(6), cap: 4 });
    const options = { timeoutMs: 5 };
    await collect(list(service, { size: 1, filter: { name: "a" } }, options));
    expect(service.requested.length).toBeGreaterThan(2);
    for (const request of service.requested) {
      expect(request).toMatchObject({ options, query: { name: "a" }, paging: { _size: 3 } });
    }
  });

  it("stops requesting at a break", async () => {
    const service = new ListService({ rows: rowsUpTo(10), cap: 4 });
    for await (const row of list(service)) if (row.pagingToken === "5") break;
    expect(service.requested).toHaveLength(2);
  });

  it("isn't changed by what the caller changes later", async () => {
    const service = new ListService({ rows: rowsUpTo(6), cap: 4 });
    const sort: ("pagingToken.asc" | "pagingToken.desc")[] = ["pagingToken.asc"];
    const query = { size: 4, filter: { name: "a" }, sort };
    const options = { timeoutMs: 5_000, headers: { "x-a": "1" } };
    const listing = list(service, query, options);
    Object.assign(query, { size: 3 });
    query.filter.name = "b";
    sort[0] = "pagingToken.desc";
    options.headers["x-a"] = "2";
    expect(await collect(listing)).toEqual(rowsUpTo(6));
    for (const { paging, query: filter, options: given } of service.requested) {
      expect([paging._size, paging._sort, filter]).toEqual([4, "pagingToken.asc", { name: "a" }]);
      expect(given).toEqual({ timeoutMs: 5_000, headers: { "x-a": "1" } });
    }
  });

  it.each<[unknown, string]>([
    [{ size: 0 }, "size must be a whole number above 0"],
    [{ size: "10" }, "size must be"],
    [{ after: "" }, "after must be a paging token"],
    [{ before: 12 }, "before must be a paging token"],
    [{ cursor: "id" }, "cursor must be a function"],
    [{ trustCursor: "yes" }, "trustCursor must be true or false"],
  ])("rejects %j before anything is requested, and not before it is used", async (query, message) => {
    const service = new ListService({ rows: [] });
    const listing = list(service, query as Query);
    for (const used of [listing, collect(listing), collect(listing.pages()), listing.toArray({ max: 1 })]) {
      const error: unknown = await used.then(undefined, (reason: unknown) => reason);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(String(error)).toContain(`rows.list: ${message}`);
    }
    expect(service.requested).toEqual([]);
  });
});

describe("a page's next", () => {
  it("continues where the page ended, in either direction", async () => {
    for (const sort of ["pagingToken.asc", "pagingToken.desc"] as const) {
      const service = new ListService({ rows: rowsUpTo(9), cap: 4 });
      const all = await collect(list(service, { sort }));
      let seen = 0;
      for await (const page of list(service, { sort }).pages()) {
        seen += page.items.length;
        expect(await collect(list(service, { sort, ...page.nextQuery }))).toEqual(all.slice(seen));
      }
      expect(seen).toBe(9);
    }
  });

  it("is undefined after an empty page, and without tokens", async () => {
    for (const made of [[], [{ id: "a" }]]) {
      const page = await list(new ListService({ rows: made }));
      expect([page.items, page.next, page.nextQuery]).toEqual([made, undefined, undefined]);
    }
  });

  it("throws in an order that tokens may not follow, which printing the page doesn't", async () => {
    const page = await list(new ListService({ rows: rowsUpTo(3) }), { sort: "name.desc" });
    expect(() => page.next).toThrow(PagingError);
    expect(JSON.parse(JSON.stringify(page))).toEqual({ items: page.items });
  });
});

describe("toArray", () => {
  it("gives all records if there are at most max", async () => {
    const service = new ListService({ rows: rowsUpTo(5), cap: 4 });
    expect(await list(service).toArray({ max: 5 })).toEqual(rowsUpTo(5));
    expect(await list(service).toArray({ max: Number.POSITIVE_INFINITY })).toHaveLength(5);
    await expect(list(service).toArray({ max: 4 })).rejects.toBeInstanceOf(PagingError);
  });

  it.each([undefined, {}, { max: -1 }, { max: Number.NaN }, { max: "5" }])("rejects %j", async (limit) => {
    const service = new ListService({ rows: rowsUpTo(5) });
    await expect(list(service).toArray(limit as { max: number })).rejects.toBeInstanceOf(InvalidArgumentError);
    expect(service.requested).toEqual([]);
  });
});

describe("prefetch", () => {
  const query = { size: 3, prefetch: true };

  it("requests the next page before this one is handed out, and none beyond it", async () => {
    const service = new ListService({ rows: rowsUpTo(9) });
    const pages = list(service, query).pages();
    await pages.next();
    expect(service.requested.map(({ paging }) => paging._after)).toEqual([undefined, "2"]);
    expect((await collect(pages)).flatMap(({ items }) => items)).toEqual(rowsUpTo(9).slice(3));
  });

  it.each(["break", "abort"])("ends the request of a page that isn't wanted any more: %s", async (stop) => {
    const caller = new AbortController();
    const service = new ListService({ rows: rowsUpTo(6) });
    const pages = list(service, query, { signal: caller.signal }).pages();
    await pages.next();
    const signal = service.requested[1]?.options?.signal;
    expect(signal?.aborted).toBe(false);
    if (stop === "abort") caller.abort();
    await pages.return();
    expect(signal?.aborted).toBe(true);
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  });

  it("throws a failure when its page is wanted, and leaves no rejection unhandled if it isn't", async () => {
    const pages = list(failingLater(), query).pages();
    expect((await pages.next()).value?.items).toHaveLength(3);
    await expect(pages.next()).rejects.toThrow("the service is unavailable");
    for await (const _ of list(failingLater(), query)) break;
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("requests nothing ahead if the list can't continue", async () => {
    const service = new ListService({ rows: rowsUpTo(9) });
    const pages = list(service, { ...query, sort: "name.asc" }).pages();
    await pages.next();
    expect(service.requested).toHaveLength(1);
    await expect(pages.next()).rejects.toMatchObject({ code: "paging_sort" });
  });
});
