import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import type { ListQuery } from "../../src/api/list-query.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import { resource } from "../../src/api/resource.js";
import { InvalidArgumentError, PagingError } from "../../src/core/errors.js";
import { toApiPromise } from "../../src/http/http-client.js";
import { type Listing, listRecords } from "../../src/paging/listing.js";
import { fakeApiClient } from "./fake-api-client.js";
import { type ModelRecord, ModelService } from "./model-service.js";

interface Row {
  readonly id: string;
  readonly name: string;
  readonly createdAt: string;
  readonly pagingToken?: string;
}
type Query = ListQuery<Row, object>;

const rows = resource<Row>()("rows", "/rows", {
  fields: { id: "text", name: "text", createdAt: "timestamp", pagingToken: "text" },
  list: true,
});

/** A service with records of this number, and the requests that it got. */
function serviceOf(count: number, cap = 100) {
  const service = new ModelService({ count, tokens: "number", cap });
  const requested: { paging: PagingValues; query: object | undefined; options: RequestOptions | undefined }[] = [];
  const client = fakeApiClient({
    call(_, __, { paging = {}, query } = {}, options) {
      requested.push({ paging, query, options });
      const response = { status: 200, headers: { "x-page": `${requested.length}` } };
      const ask = async () => (await service.ask(paging)) as never;
      return toApiPromise(ask(), { response });
    },
  });
  const list = (query?: Query, options?: RequestOptions): Listing<Row> =>
    listRecords(client, rows.list, [], query, options);
  return { service, requested, list, rows: service.records as readonly Row[] };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** Fails from the second request on. */
function failingLater() {
  const made = serviceOf(6, 3);
  made.service.intercept = (_, number) => {
    if (number > 1) throw new Error("the service is unavailable");
    return undefined;
  };
  return made;
}

describe("a listing", () => {
  it("requests nothing before it is used", () => {
    const { list, requested } = serviceOf(3);
    expect(String(list())).toBe("[object Listing]");
    expect(requested).toEqual([]);
  });

  it("requests the first page once, however often it is awaited", async () => {
    const { list, requested, rows } = serviceOf(5, 2);
    const listing: Promise<Iterable<Row>> = list();
    const page = await list({ size: 1 });
    expect([[...page], page.next, page.nextQuery]).toEqual([rows.slice(0, 1), "1000", { after: "1000" }]);
    expect(await listing).toBe(await listing);
    expect(requested).toHaveLength(2);
    const { data, response } = await list().withResponse();
    expect([[...data], response.headers["x-page"]]).toEqual([rows.slice(0, 2), "3"]);
  });

  it("takes catch and finally as promises do", async () => {
    const failure = new Error("no");
    const { service, list } = serviceOf(1);
    let finished = 0;
    await list().finally(() => void finished++);
    service.ask = () => toApiPromise(Promise.reject(failure));
    expect(await list().catch((error: unknown) => error)).toBe(failure);
    await expect(list().finally(() => void finished++)).rejects.toBe(failure);
    expect(finished).toBe(2);
  });

  it("sorts by paging token unless told otherwise, and joins sort terms with commas", async () => {
    const { list, requested } = serviceOf(0);
    await list();
    await list({ sort: ["createdAt.desc", "id.asc"] });
    await list({ cursor: ({ id }) => String(id) });
    const sorts = ["pagingToken.asc", "createdAt.desc,id.asc", undefined];
    expect(requested.map(({ paging }) => paging._sort)).toEqual(sorts);
  });

  it("stops requesting at a break", async () => {
    const { list, requested } = serviceOf(10, 4);
    for await (const { id } of list()) if (id === "r0004") break;
    expect(requested).toHaveLength(2);
  });

  it("hands the same query and options to each page, and asks for three records at least", async () => {
    const { list, requested, rows } = serviceOf(6, 4);
    const options = { timeoutMs: 5_000, headers: { "x-a": "1" } };
    expect(await collect(list({ size: 1, filter: { name: "a" } }, options))).toEqual(rows);
    expect(requested.length).toBeGreaterThan(2);
    for (const { paging, ...request } of requested) {
      expect(paging).toMatchObject({ _size: 3, _sort: "pagingToken.asc" });
      expect(request).toEqual({ query: { name: "a" }, options });
    }
  });

  it.each<[unknown, string]>([
    [{ size: 0 }, "size must be a whole number above 0"],
    [{ after: "" }, "after must be a paging token"],
    [{ before: 12 }, "before must be a paging token"],
    [{ cursor: "id" }, "cursor must be a function"],
  ])("rejects %j before anything is requested, and not before it is used", async (query, message) => {
    const { list, requested } = serviceOf(3);
    const listing = list(query as Query);
    for (const used of [listing, collect(listing), collect(listing.pages()), listing.toArray({ max: 1 })]) {
      const error: unknown = await used.then(undefined, (reason: unknown) => reason);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(String(error)).toContain(`rows.list: ${message}`);
    }
    expect(requested).toEqual([]);
  });
});

describe("a wait for a record that is gone", () => {
  /** The last records leave after the first page. */
  function leaving() {
    const made = serviceOf(25, 20);
    made.service.intercept = (_, number) => {
      if (number === 2) made.service.records.splice(19, 6);
      return undefined;
    };
    return made;
  }

  it.each<[Query["filter"], code: string | undefined]>([
    [{ name: "a" }, undefined],
    [{ name: "a", createdAt: undefined }, undefined],
    [{ name: undefined }, "paging_end_unproved"],
  ])("isn't needed if the list is filtered, and ends with the caller's signal: %j", async (filter, code) => {
    const { list } = leaving();
    const found = collect(list({ filter }, { signal: AbortSignal.abort() })).then(
      undefined,
      ({ code }: PagingError) => code,
    );
    expect(await found).toEqual(code ?? expect.objectContaining({ length: 20 }));
  });

  it.each([false, true])("comes before each further request, with prefetch: %s", async (prefetch) => {
    const { service, list, rows } = serviceOf(9, 4);
    service.intercept = (_, number) => (number === 2 ? service.records.slice(0, 3) : undefined);
    const { signal } = new AbortController();
    const startMs = performance.now();
    expect(await collect(list({ prefetch }, { signal }))).toEqual(rows);
    expect(performance.now() - startMs).toBeGreaterThan(200);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });
});

describe("a page's next", () => {
  it("continues where the page ended, in either direction", async () => {
    for (const sort of ["pagingToken.asc", "pagingToken.desc"] as const) {
      const { list } = serviceOf(9, 4);
      const all = await collect(list({ sort }));
      let seen = 0;
      for await (const page of list({ sort }).pages()) {
        seen += page.items.length;
        expect(await collect(list({ sort, ...page.nextQuery }))).toEqual(all.slice(seen));
      }
      expect(seen).toBe(9);
    }
  });

  it("is undefined after an empty page, and without tokens", async () => {
    const { service, list } = serviceOf(3);
    for (const made of [[], [{ id: "a" } as ModelRecord]]) {
      service.intercept = () => made;
      const page = await list();
      expect([page.items, page.next, page.nextQuery]).toEqual([made, undefined, undefined]);
    }
  });

  it("throws in an order that tokens may not follow, which printing the page doesn't", async () => {
    const page = await serviceOf(3).list({ sort: "name.desc" });
    expect(() => page.next).toThrow(PagingError);
    expect(JSON.parse(JSON.stringify(page))).toEqual({ items: page.items });
  });
});

describe("toArray", () => {
  it("gives all records if there are at most max", async () => {
    const { list, rows } = serviceOf(5, 4);
    expect(await list().toArray({ max: 5 })).toEqual(rows);
    expect(await list().toArray({ max: Number.POSITIVE_INFINITY })).toHaveLength(5);
    const error: unknown = await list()
      .toArray({ max: 4 })
      .then(undefined, (reason: unknown) => reason);
    expect(error).toBeInstanceOf(PagingError);
    expect(error).toMatchObject({ operation: "rows.list", message: "rows.list: there are more than 4 records." });
    expect(await serviceOf(0).list().toArray({ max: 0 })).toEqual([]);
  });

  it.each([undefined, {}, { max: -1 }, { max: Number.NaN }, { max: "5" }])("rejects %j", async (limit) => {
    const { list, requested } = serviceOf(5);
    const refused = expect(list().toArray(limit as { max: number })).rejects;
    await refused.toBeInstanceOf(InvalidArgumentError);
    await refused.toThrow("rows.list: toArray needs { max }");
    expect(requested).toEqual([]);
  });
});

describe("prefetch", () => {
  const query = { size: 3, prefetch: true };

  it("requests the next page before this one is handed out, and none beyond it", async () => {
    const { list, requested, rows } = serviceOf(9);
    const pages = list(query).pages();
    await pages.next();
    expect(requested.map(({ paging }) => paging._after)).toEqual([undefined, "1001"]);
    expect((await collect(pages)).flatMap(({ items }) => items)).toEqual(rows.slice(3));
    expect(requested).toHaveLength(5);
  });

  it.each(["break", "abort"])("ends the request of a page that isn't wanted any more: %s", async (stop) => {
    const caller = new AbortController();
    const { list, requested } = serviceOf(6);
    const pages = list(query, { signal: caller.signal }).pages();
    await pages.next();
    const signal = requested[1]?.options?.signal;
    expect(signal?.aborted).toBe(false);
    if (stop === "abort") caller.abort();
    else await pages.return();
    expect(signal?.aborted).toBe(true);
    await pages.return();
    expect(getEventListeners(caller.signal, "abort")).toEqual([]);
  });

  it("throws a failure when its page is wanted, and leaves no rejection unhandled if it isn't", async () => {
    const { list } = failingLater();
    const pages = list(query).pages();
    expect((await pages.next()).value?.items).toHaveLength(3);
    await expect(pages.next()).rejects.toThrow("the service is unavailable");
    for await (const _ of failingLater().list(query)) break;
    await new Promise((resolve) => setImmediate(resolve));
  });

  it("requests nothing ahead if the list can't continue", async () => {
    const { list, requested } = serviceOf(9);
    const pages = list({ ...query, sort: "name.asc" }).pages();
    await pages.next();
    expect(requested).toHaveLength(1);
    await expect(pages.next()).rejects.toMatchObject({ code: "paging_sort" });
  });
});
