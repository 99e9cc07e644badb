import { getEventListeners } from "node:events";
import { inspect } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import type { ListQuery } from "../../src/api/list-query.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import { resource } from "../../src/api/resource.js";
import {
  BadRequestError,
  ConnectionError,
  InvalidArgumentError,
  PagingError,
  PermissionDeniedError,
  UnprocessableEntityError,
} from "../../src/errors/errors.js";
import { compareTokens } from "../../src/paging/cursor-order.js";
import { type Listing, listRecords } from "../../src/paging/listing.js";
import type { Page } from "../../src/paging/page.js";
import { ListService, type ListServiceOptions, type Row, rowsUpTo } from "./list-service.js";
import { withoutWaiting } from "./without-waiting.js";

withoutWaiting();

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

const pagesOf = async (listing: Listing<Row>): Promise<Page<Row>[]> => collect(listing.pages());
/** The cursors that were requested; none is where no second page was. */
const cursorsIn = ({ requested }: ListService) =>
  requested.flatMap(({ paging: { _after, _before } }) => _after ?? _before ?? []);

/** Whether a request looks for records that lie before a page. */
const looksBack = (made: World, { _after, _before }: PagingValues) =>
  made.descending ? _after !== undefined : _before !== undefined;

const tokensOf = (rows: readonly Row[]) => rows.map((row) => row.pagingToken);

const numericToken = fc.bigInt(0n, 10n ** 40n).map(String);
const textToken = fc.string({ minLength: 1, maxLength: 6 }).filter((text) => !/^-?\d+$/.test(text));
const someTokens = fc.oneof(
  fc.uniqueArray(fc.oneof(fc.nat(30).map(String), numericToken), { maxLength: 25 }),
  fc.uniqueArray(textToken, { maxLength: 25 }),
);

const world = someTokens.chain((tokens) =>
  fc.record({
    rows: fc.constant(tokens.map((pagingToken, index): Row => ({ id: `r${index}`, pagingToken }))),
    cap: fc.integer({ min: 1, max: 6 }),
    size: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined }),
    descending: fc.boolean(),
    after: tokens.length === 0 ? fc.constant(undefined) : fc.option(fc.constantFrom(...tokens), { nil: undefined }),
    before: tokens.length === 0 ? fc.constant(undefined) : fc.option(fc.constantFrom(...tokens), { nil: undefined }),
  }),
);

interface World extends ListServiceOptions, Pick<Query, "size" | "after" | "before"> {
  readonly descending: boolean;
}

const queryOf = ({ size, after, before, descending }: World): Query => ({
  size,
  after,
  before,
  sort: descending ? "pagingToken.desc" : undefined,
});

function expectedOf({ rows, after, before, descending }: World): Row[] {
  return rows
    .filter(({ pagingToken = "" }) => after === undefined || compareTokens(pagingToken, after) > 0)
    .filter(({ pagingToken = "" }) => before === undefined || compareTokens(pagingToken, before) < 0)
    .sort((one, other) => compareTokens(one.pagingToken ?? "", other.pagingToken ?? "") * (descending ? -1 : 1));
}

describe("any list with sound cursors", () => {
  it("gives every record once and in order, whatever the size, the service's cap, the data and the direction", async () => {
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        expect(await collect(list(new ListService(made), queryOf(made)))).toEqual(expectedOf(made));
      }),
    );
  });

  it("continues exactly where a stored cursor left off", async () => {
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        const expected = expectedOf(made);
        let seen = 0;
        for (const page of await pagesOf(list(new ListService(made), queryOf(made)))) {
          seen += page.items.length;
          const { next, nextQuery } = page;
          expect(nextQuery).toEqual(made.descending ? { before: next } : { after: next });
          const rest = list(new ListService(made), { ...queryOf(made), ...nextQuery });
          expect(await collect(rest)).toEqual(expected.slice(seen));
        }
        expect(seen).toBe(expected.length);
      }),
      { numRuns: 50 },
    );
  });

  it("keeps the caller's bounds, size, sort and filter on every page", async () => {
    await fc.assert(
      fc.asyncProperty(world, async (made) => {
        const service = new ListService(made);
        const filter = { name: "x" };
        await collect(list(service, { ...queryOf(made), filter }));
        const kept = made.descending ? "_after" : "_before";
        const bound = made.descending ? made.after : made.before;
        for (const { paging, query } of service.requested) {
          // A page that shows no order is followed by a look at what may lie before it, within the caller's bounds too.
          if (paging[kept] !== bound) expect(looksBack(made, paging)).toBe(true);
          // What stands above a descending list is read upwards, and its newest record is asked for by itself.
          const isAbove = made.descending && looksBack(made, paging);
          // Where a page of one record has to show what lies behind it, two are asked for.
          const sizes = [made.size, made.size && Math.max(made.size, 2)];
          expect(isAbove ? [...sizes, made.size && Math.max(made.size, 3), 1] : sizes).toContain(paging._size);
          const sorts = made.descending ? ["pagingToken.desc", isAbove && "pagingToken.asc"] : [undefined];
          expect(sorts).toContain(paging._sort);
          expect(query).toEqual(filter);
        }
      }),
      { numRuns: 50 },
    );
  });

  it("requests no more than one page beyond the records where the last one is short", async () => {
    const service = new ListService({ rows: rowsUpTo(10), cap: 3 });
    await collect(list(service));
    // The last request begins with the record that came last, so that an empty page shows by itself that it is none of this list.
    expect(service.requested.map(({ paging }) => paging._after)).toEqual([undefined, "3", "6", "9", "9"]);
  });

  // Behind a full page an empty one comes, and one more request asks for the last record again.
  it.each([
    [undefined, 1, 3, 3],
    [undefined, 2, 3, 4],
    ["pagingToken.asc", 2, 3, 4],
    // Each page begins with the last record of the one before it, and at the end one request asks for the beginning.
    ["pagingToken.desc", 2, 3, 5],
    // A single page of a sorted list may be of the wrong end: one request asks what lies before it.
    ["pagingToken.desc", 1, 3, 3],
    ["pagingToken.asc", 1, 3, 4],
  ] as const)("requests, sorted by %s, for %i pages of %i records: %i", async (sort, pages, cap, requests) => {
    const service = new ListService({ rows: rowsUpTo(pages * cap), cap });
    expect(await collect(list(service, { sort }))).toHaveLength(pages * cap);
    expect(service.requested).toHaveLength(requests);
  });
});

describe("a listing", () => {
  it("requests nothing before it is used", () => {
    const service = new ListService({ rows: rowsUpTo(3) });
    list(service);
    expect(service.requested).toEqual([]);
  });

  it("requests the first page once, however often it is awaited", async () => {
    const service = new ListService({ rows: rowsUpTo(5), cap: 2 });
    const listing = list(service);
    const [one, other] = [await listing, await listing];
    expect(one).toBe(other);
    const { data, response } = await listing.withResponse();
    expect([data, response.headers["x-page"]]).toEqual([one, "1"]);
    expect([tokensOf(one.items), one.next]).toEqual([["1", "2"], "2"]);
    expect(service.requested).toHaveLength(1);
  });

  it("has no next after an empty page", async () => {
    const page = await list(new ListService({ rows: [] }));
    expect([page.items, page.next, page.nextQuery]).toEqual([[], undefined, undefined]);
  });

  it("takes catch and finally as promises do", async () => {
    const failure = new Error("no");
    const failing = () =>
      list(
        new ListService({
          rows: [],
          response: () => {
            throw failure;
          },
        }),
      );
    let finished = 0;
    expect(await failing().catch((error: unknown) => error)).toBe(failure);
    await expect(failing().finally(() => void finished++)).rejects.toBe(failure);
    await list(new ListService({ rows: [] })).finally(() => void finished++);
    expect(finished).toBe(2);
  });

  it("hands the options to each page", async () => {
    const service = new ListService({ rows: rowsUpTo(3), cap: 2 });
    const options = { timeoutMs: 5 };
    await collect(list(service, undefined, options));
    expect(service.requested.map((request) => request.options)).toEqual([options, options, options]);
  });

  it("stops requesting at a break", async () => {
    const service = new ListService({ rows: rowsUpTo(10), cap: 2 });
    for await (const row of list(service)) if (row.pagingToken === "3") break;
    expect(service.requested).toHaveLength(2);
    for await (const _ of list(service).pages()) break;
    expect(service.requested).toHaveLength(3);
  });

  it("joins sort terms with commas", async () => {
    const service = new ListService({ rows: [] });
    await list(service, { sort: ["createdAt.desc", "id.asc"] });
    expect(service.requested[0]?.paging._sort).toBe("createdAt.desc,id.asc");
  });

  it("ends in descending order, although two records come while its reader takes one", async () => {
    const growing = rowsUpTo(9);
    const service = new ListService({ rows: growing, cap: 5 });
    const read: Row[] = [];
    for await (const row of list(service, { sort: "pagingToken.desc" })) {
      read.push(row);
      if (read.length > 100) break;
      growing.push(...rowsUpTo(growing.length + 2).slice(-2));
    }
    expect(tokensOf(read).slice(0, 9)).toEqual(tokensOf(rowsUpTo(9).reverse()));
    expect(read.length).toBeLessThan(40);
  });
});

describe("toArray", () => {
  it("gives all records where there are no more than max", async () => {
    const service = new ListService({ rows: rowsUpTo(5), cap: 2 });
    expect(await list(service).toArray({ max: 5 })).toHaveLength(5);
    expect(await list(service).toArray({ max: Number.POSITIVE_INFINITY })).toHaveLength(5);
    expect(await list(new ListService({ rows: [] })).toArray({ max: 0 })).toEqual([]);
  });

  it("throws where there are more", async () => {
    const service = new ListService({ rows: rowsUpTo(5), cap: 2 });
    await expect(list(service).toArray({ max: 3 })).rejects.toThrow(
      new PagingError("rows.list: there are more than 3 records", { operation: "rows.list" }),
    );
    expect(service.requested).toHaveLength(2);
  });

  it.each([undefined, {}, { max: -1 }, { max: Number.NaN }, { max: "5" }])(
    "refuses %j before anything is requested",
    async (limit) => {
      const service = new ListService({ rows: rowsUpTo(5) });
      const refused = list(service).toArray(limit as { max: number });
      await expect(refused).rejects.toThrow(InvalidArgumentError);
      await expect(refused).rejects.toThrow("rows.list: toArray needs { max }");
      expect(service.requested).toEqual([]);
    },
  );
});

describe("tokens that do not follow the sort order", () => {
  const rows: Row[] = [
    { id: "a", pagingToken: "5", name: "a" },
    { id: "b", pagingToken: "1", name: "b" },
    { id: "c", pagingToken: "9", name: "c" },
    { id: "d", pagingToken: "3", name: "d" },
  ];

  it("give the first page, and an error instead of the second", async () => {
    const service = new ListService({ rows, cap: 2 });
    const seen: unknown[] = [];
    const walk = async () => {
      for await (const row of list(service, { sort: "name.asc" })) seen.push(row.id);
    };
    await expect(walk()).rejects.toThrow(
      "rows.list: the page after this one would lose or repeat records: its paging tokens do not strictly rise",
    );
    expect(seen).toEqual(["a", "b"]);
    expect(cursorsIn(service)).toEqual([]);
  });

  it("give a first page whose next throws", async () => {
    const page = await list(new ListService({ rows, cap: 2 }), { sort: "name.desc" });
    expect(page.items.map(({ id }) => id)).toEqual(["d", "c"]);
    expect(() => page.next).toThrow(PagingError);
    expect(() => page.nextQuery).toThrow("do not strictly fall");
    expect(JSON.parse(JSON.stringify(page))).toEqual({ items: page.items });
  });

  it("have no next after an empty page either", async () => {
    expect((await list(new ListService({ rows: [] }), { sort: "name.asc" })).next).toBeUndefined();
  });

  it("are gone on with where the caller trusts the cursor", async () => {
    // A service whose cursor is the place in its own order, whatever the tokens look like.
    const response = ({ _after }: { readonly _after?: string | undefined }) => {
      const start = rows.findIndex(({ pagingToken }) => pagingToken === _after) + 1;
      return rows.slice(start, start + 2);
    };
    const service = new ListService({ rows, response: (paging) => (paging._after === "3" ? [] : response(paging)) });
    expect(await collect(list(service, { sort: "name.asc", trustCursor: true }))).toEqual(rows);
    expect(service.requested.map(({ paging }) => paging._after)).toEqual([undefined, "1", "3"]);
    // A page of one record shows no order, and none is looked for.
    const alone = new ListService({ rows: rowsUpTo(2) });
    await collect(list(alone, { size: 1, trustCursor: true }));
    expect(alone.requested.map(({ paging }) => paging)).toMatchObject([{}, { _after: "1" }, { _after: "2" }]);
  });

  it("may lie before the bound of a caller who trusts the cursor", async () => {
    const service = () => new ListService({ rows, response: ({ _after }) => (_after === "7" ? rows.slice(0, 2) : []) });
    const query = { after: "7", sort: "name.asc" } as const;
    expect(await collect(list(service(), { ...query, trustCursor: true }))).toEqual(rows.slice(0, 2));
    await expect(collect(list(service(), query))).rejects.toThrow("before the cursor that was given as after");
  });

  it("end in an error where a trusted cursor lets a record appear again", async () => {
    const service = new ListService({ rows, cap: 2 });
    const walk = collect(list(service, { sort: "name.asc", trustCursor: true }));
    await expect(walk).rejects.toThrow("a paging token of an earlier page appears again");
  });

  it("never give a record twice or an endless loop, whatever the tokens are", async () => {
    const tokens = fc.array(fc.nat(6).map(String), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(fc.array(tokens, { minLength: 1, maxLength: 4 }), fc.boolean(), async (pages, trustCursor) => {
        // The same pages again and again, whatever is requested.
        const pageOf = (number: number) => pages[(number - 1) % pages.length] ?? [];
        const service = new ListService({
          rows: [],
          response: (_, number) => pageOf(number).map((pagingToken) => ({ pagingToken })),
        });
        const seen: Page<Row>[] = [];
        const walk = async () => {
          for await (const page of list(service, { trustCursor }).pages()) seen.push(page);
        };
        const error: unknown = await walk().catch((thrown: unknown) => thrown);
        if (error === undefined) {
          // By chance, each of them was a page of one list, which ends.
          const all = seen.flatMap(({ items }) => tokensOf(items));
          for (const [index, { paging }] of service.requested.entries()) {
            const page = pageOf(index + 1);
            const rest = all.filter((token) => Number(token) > Number(paging._after ?? -1));
            expect(rest.slice(0, page.length)).toEqual(page);
          }
        } else expect(error).toBeInstanceOf(PagingError);
        expect(service.requested.length).toBeLessThanOrEqual(10);
        const later = seen.slice(1).flatMap(({ items }) => tokensOf(items));
        if (!trustCursor) expect(tokensOf(seen[0]?.items ?? []).some((token) => later.includes(token))).toBe(false);
      }),
      { examples: [[[["0", "1"], ["3"], ["3"], ["0"]], false]] },
    );
  });
});

describe("a service that ignores the cursor", () => {
  it("ends in an error, not in a loop", async () => {
    const service = new ListService({ rows: [], response: () => rowsUpTo(3) });
    await expect(collect(list(service))).rejects.toThrow("a paging token of an earlier page appears again");
    expect(service.requested).toHaveLength(2);
  });

  it("is found out by the records' ids where tokens are made anew", async () => {
    const response = (_: unknown, number: number) =>
      rowsUpTo(2).map(({ id }, index) => ({ id: `${id}`, pagingToken: `${number}${index}` }));
    const service = new ListService({ rows: [], response });
    await expect(collect(list(service))).rejects.toThrow("a record of an earlier page appears again");
  });
});

describe("a later page without paging tokens", () => {
  it.each([true, false])("ends the list in an error, not in a proof, where trustCursor is %s", async (trustCursor) => {
    const later: Row[] = [{ id: "r3", pagingToken: "3" }, { id: "r4" }];
    for (const page of [later, later.slice(1)]) {
      const response = ({ _after }: PagingValues) => (_after === undefined ? rowsUpTo(2) : page);
      const service = new ListService({ rows: [], response });
      await expect(collect(list(service, { trustCursor }))).rejects.toThrow(
        "rows.list: its records have no pagingToken, so there is no cursor to continue with",
      );
      expect(service.requested).toHaveLength(2);
    }
  });
});

describe("records without a paging token", () => {
  const rows = ["a", "b", "c", "d", "e"].map((name): Row => ({ id: name, name }));
  const byName = { rows, tokenOf: (row: Row) => row.name ?? "" };

  it("throw after a page that may be full", async () => {
    const service = new ListService({ ...byName, cap: 3 });
    const seen: Row[] = [];
    const walk = async (query: Query) => {
      for await (const row of list(service, query)) seen.push(row);
    };
    await expect(walk({ size: 3 })).rejects.toThrow("the page may be full and its records have no pagingToken");
    await expect(walk({})).rejects.toThrow(PagingError);
    expect(seen).toHaveLength(6);
    expect(cursorsIn(service)).toEqual([]);
  });

  it.each([7, null, "", {}])("are those whose token is %j too", async (pagingToken) => {
    const odd = rows.map((row) => ({ ...row, pagingToken }) as Row);
    const page = await list(new ListService({ rows: odd, response: () => odd }));
    expect(() => page.next).toThrow("its records have no pagingToken");
  });

  it("are read after the bound that the caller gave", async () => {
    const service = new ListService(byName);
    expect(await collect(list(service, { after: "b" }))).toEqual(rows.slice(2));
    expect(service.requested.every(({ paging }) => paging._after === "b")).toBe(true);
  });

  it("end with a page that reads the same from both ends", async () => {
    const service = new ListService(byName);
    expect(await collect(list(service, { size: 6 }))).toEqual(rows);
    expect(service.requested.map(({ paging }) => [paging._sort, paging._size])).toEqual([
      [undefined, 6],
      ["id.asc", 6],
      ["id.desc", 4],
    ]);
  });

  it.each([
    ["id.asc", "id.desc"],
    ["id.desc", "id.asc"],
  ] as const)("need one end less where the page is in the order of ids already: %s", async (sort, opposite) => {
    const service = new ListService(byName);
    expect(await collect(list(service, { sort }))).toEqual(sort === "id.asc" ? rows : rows.toReversed());
    expect(service.requested.map(({ paging }) => paging._sort)).toEqual([sort, opposite, sort]);
  });

  it("throw where the service's maximum is below the size that was asked for", async () => {
    const many = Array.from({ length: 153 }, (_, index): Row => ({ id: `p${index}`, name: "Quid" }));
    for (const query of [{ size: 1000 }, {}, { size: 1000, prefetch: true }, { size: 1000, trustCursor: true }]) {
      const service = new ListService({ rows: many, cap: 100 });
      await expect(list(service, query).toArray({ max: 1_000 })).rejects.toThrow(PagingError);
      const page = await list(service, query);
      expect(() => page.next).toThrow("its records have no pagingToken");
    }
    expect(await list(new ListService({ rows: many, cap: 153 })).toArray({ max: 1_000 })).toHaveLength(153);
  });

  it("throw where the service does not sort, whatever its maximum", async () => {
    const service = new ListService({ rows, response: () => rows });
    await expect(collect(list(service))).rejects.toThrow("the service does not sort by id");
  });

  it("throw where the service ignores the size, which hides that it sorts only what it cuts out", async () => {
    const many = ["d", "a", "e", "c", "b"].map((name): Row => ({ id: name, name }));
    const response = ({ _sort }: PagingValues) => {
      const page = many.slice(0, 3);
      if (_sort !== undefined) page.sort((one, other) => (`${one.id}` < `${other.id}` ? -1 : 1));
      return _sort?.endsWith(".desc") ? page.reverse() : page;
    };
    for (const sort of [undefined, "id.asc", "id.desc"] as const) {
      const walk = collect(list(new ListService({ rows: many, response }), { sort }));
      await expect(walk).rejects.toThrow("gives more records than size asks for");
    }
    const single = new ListService({ rows: many, response: () => many.slice(0, 1) });
    expect(await collect(list(single))).toEqual(many.slice(0, 1));
  });

  /** Sorts what it cut out of the list, which lies in this order. */
  const cutting = (ids: string, cap: number) => ({
    rows: [],
    response: ({ _sort, _size = cap }: PagingValues): readonly Row[] => {
      const cut = [...ids].slice(0, Math.min(_size, cap));
      if (_sort !== undefined) cut.sort();
      return (_sort === "id.desc" ? cut.reverse() : cut).map((id) => ({ id }));
    },
  });

  it.each([
    ["where the lowest id comes last", "bcad", 3, undefined],
    ["where the lowest id is in the middle", "bacd", 3, undefined],
    ["where the page is in the order of ids", "abcd", 3, undefined],
    ["where the page is in the opposite order", "dcba", 3, undefined],
    ["where one record is asked for", "bac", 3, 1],
  ])("throw where the service sorts only what it cut out, %s", async (_, ids, cap, size) => {
    const walk = collect(list(new ListService(cutting(ids, cap)), { size }));
    await expect(walk).rejects.toThrow("its records have no pagingToken");
  });

  it("throw where the list is empty from its other end", async () => {
    const response = ({ _sort }: PagingValues) => (_sort === "id.desc" ? [] : rows);
    await expect(collect(list(new ListService({ rows: [], response })))).rejects.toThrow(
      "sorted by id from either end the list shows different records",
    );
  });

  const nameless: Row = { name: "x" };
  it.each<[string, number, readonly Row[]]>([
    ["the page has one without an id", 1, [...rows.slice(1), nameless]],
    ["the page has several without an id", 1, [nameless, nameless]],
    ["the list from one end has one without an id", 2, [...rows.slice(1), nameless]],
    ["the list from one end has a record twice", 2, [...rows, { id: "a" }]],
    ["the list from the other end has one without an id", 3, [nameless, ...rows.slice(2).toReversed()]],
    ["the list from the other end has a record twice", 3, [{ id: "e" }, ...rows.slice(2).toReversed()]],
  ])("throw where %s", async (_, at, odd) => {
    const response = ({ _sort, _size = 100 }: PagingValues, number: number) =>
      number === at ? odd : (_sort === "id.desc" ? rows.toReversed() : rows).slice(0, _size);
    await expect(collect(list(new ListService({ rows: [], response })))).rejects.toThrow(
      "not every record has an id of its own, so nothing shows its end: read a record with get",
    );
  });

  it("throw where the record that decides has no id", async () => {
    const response = ({ _sort, _size = 100 }: PagingValues) =>
      _size === 1 ? [nameless] : (_sort === "id.desc" ? rows.toReversed() : rows).slice(0, _size);
    const walk = collect(list(new ListService({ rows: [], response }), { sort: "id.asc" }));
    await expect(walk).rejects.toThrow("its records have no pagingToken");
  });

  it.each([
    ["400", new BadRequestError("no", { code: "http_400", response: { status: 400, headers: {}, text: "" } })],
    ["422", new UnprocessableEntityError("no", { code: "http_422", response: { status: 422, headers: {}, text: "" } })],
  ])("throw where the service refuses to sort by id, with %s", async (_, refusal) => {
    const response = ({ _sort }: { readonly _sort?: string | undefined }) => {
      if (_sort !== undefined) throw refusal;
      return rows;
    };
    await expect(collect(list(new ListService({ rows, response })))).rejects.toThrow("refuses to sort by id");
  });

  it.each([
    new ConnectionError("away"),
    new PermissionDeniedError("no", { code: "http_403", response: { status: 403, headers: {}, text: "" } }),
  ])("hand on a failure that says nothing about the list: $name", async (failure) => {
    const response = (_: object, number: number) => {
      if (number === 3) throw failure;
      return rows;
    };
    await expect(collect(list(new ListService({ rows, response })))).rejects.toBe(failure);
  });

  it("include those that came while the list was read", async () => {
    const grown = [...rows, { id: "f", name: "f" }];
    const response = ({ _sort, _size = 100 }: PagingValues, number: number) => {
      const seen = number === 1 ? rows : grown;
      return (_sort === "id.desc" ? seen.toReversed() : seen).slice(0, _size);
    };
    expect(await collect(list(new ListService({ rows, response })))).toEqual(grown);
    await expect(collect(list(new ListService({ rows, response }), { sort: "name.asc" }))).rejects.toThrow(
      "read it again",
    );
  });

  it("include those that came to the list's end while it was read from there", async () => {
    const grown = [...rows, { id: "f", name: "f" }];
    const response = ({ _sort, _size = 100 }: PagingValues, number: number) => {
      const seen = number < 3 ? rows : grown;
      return (_sort === "id.desc" ? seen.toReversed() : seen).slice(0, _size);
    };
    expect(await collect(list(new ListService({ rows, response })))).toEqual(grown);
  });

  it("are read again where the list changes between its ends, and given up where it never stops", async () => {
    const at = (changing: (number: number) => boolean) => ({
      rows,
      response: ({ _sort, _size = 100 }: PagingValues, number: number) => {
        const seen = changing(number) ? [...rows, { id: `x${number}`, name: "x" }] : rows;
        return (_sort === "id.desc" ? seen.toReversed() : seen).slice(0, _size);
      },
    });
    expect(await collect(list(new ListService(at((number) => number === 2))))).toEqual(rows);
    const restless = new ListService(at((number) => number > 1));
    await expect(collect(list(restless))).rejects.toThrow("the list changed whenever it was read again");
    // The page, and both ends three times.
    expect(restless.requested).toHaveLength(7);
  });

  it("request nothing but the first page where nobody reads on", async () => {
    const service = new ListService({ ...byName });
    for await (const row of list(service, { prefetch: true })) if (row.name === "e") break;
    await list(service);
    expect(service.requested).toHaveLength(2);
  });

  it("are asked for two at a time where a page of one proves nothing", async () => {
    for (const sort of [undefined, "id.asc", "id.desc"] as const) {
      const one = new ListService({ rows: rows.slice(0, 1) });
      expect(await collect(list(one, { size: 1, sort }))).toEqual(rows.slice(0, 1));
      expect(one.requested.map(({ paging }) => paging._size)).toEqual([1, 2, 2]);
    }
    await expect(collect(list(new ListService(byName), { size: 1 }))).rejects.toThrow(PagingError);
    const unsorted = new ListService({ rows, response: ({ _size }) => rows.slice(0, _size) });
    await expect(collect(list(unsorted, { size: 1 }))).rejects.toThrow(PagingError);
  });

  it("end with an empty page", async () => {
    expect(await collect(list(new ListService({ rows: [] })))).toEqual([]);
  });

  it("are all given where a cursor function stands in", async () => {
    const service = new ListService({ ...byName, cap: 2 });
    const cursor = (row: Row) => row.name ?? "";
    expect(await collect(list(service, { cursor }))).toEqual(rows);
    // The last page is short, so that the request behind it asks for its record again.
    expect(service.requested.map(({ paging }) => paging._after)).toEqual([undefined, "b", "d", "d"]);
  });

  it.each([
    ["an empty string", ""],
    ["nothing", undefined],
    ["a number", 7],
    ["a promise", Promise.resolve("7")],
  ])("give the first page and then an error where the cursor function gives %s", async (_, given) => {
    const service = new ListService({ ...byName, cap: 2 });
    const cursor = () => given as string;
    const page = await list(service, { cursor, size: 100 });
    await expect(collect(list(service, { cursor }))).rejects.toThrow("did not return a paging token");
    expect(page.items).toHaveLength(2);
    expect(() => page.next).toThrow(
      "rows.list: the query's cursor function did not return a paging token for every record",
    );
  });

  it.each([
    ["a RangeError", new RangeError("account DE-0001")],
    ["something", "account DE-0001"],
  ])("name what a cursor function threw, without its words: %s", async (name, thrownByIt) => {
    const cursor = () => {
      throw thrownByIt;
    };
    const error = await list(new ListService(byName), { cursor }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PagingError);
    expect(error).toHaveProperty("message", `rows.list: the query's cursor function threw ${name}`);
    expect(error).toHaveProperty("operation", "rows.list");
    expect(inspect(error)).not.toContain("DE-0001");
  });

  it("throw when only some have a token", async () => {
    const service = new ListService({ rows: [], response: () => [{ pagingToken: "1" }, { id: "x" }] });
    await expect(collect(list(service, { size: 100 }))).rejects.toThrow("have no pagingToken");
  });
});

describe("an order that tokens do not follow", () => {
  const rows = rowsUpTo(6).map(
    (row, index): Row => ({ ...row, name: `n${index}`, createdAt: `2026-01-0${index + 1}` }),
  );

  it.each([
    "name.asc",
    ["name.desc", "pagingToken.desc"],
    ["createdAt.asc", "id.asc"],
    ["createdAt.asc", "pagingToken.desc"],
  ] as const)("throws before a second page, even where small pages look ordered: %j", async (sort) => {
    for (const size of [1, 2, 3]) {
      const service = new ListService({ rows, cap: 3 });
      await expect(collect(list(service, { size, sort }))).rejects.toThrow(
        /would lose or repeat records: (?:its )?paging tokens do not/,
      );
      expect(
        service.requested.every(({ paging }) => paging._sort !== String(sort) || paging._after === undefined),
      ).toBe(true);
      const page = await list(service, { size, sort });
      expect(() => page.next).toThrow(PagingError);
    }
  });

  it("gives a list that fits one page", async () => {
    for (const size of [6, 100, undefined]) {
      expect(await collect(list(new ListService({ rows }), { size, sort: "name.desc" }))).toEqual(rows.toReversed());
    }
    const one = new ListService({ rows: rows.slice(0, 1) });
    expect(await collect(list(one, { size: 1, sort: "name.asc" }))).toEqual(rows.slice(0, 1));
  });

  it.each([
    "createdAt.asc",
    "pagingToken.asc",
    ["createdAt.asc", "pagingToken.asc"],
    ["pagingToken.asc", "name.desc"],
    "createdAt.asc,pagingToken.asc",
  ] as const)("is not that of %j", async (sort) => {
    for (const size of [1, 2, 4]) expect(await collect(list(new ListService({ rows }), { size, sort }))).toEqual(rows);
  });

  it.each([
    ["behind", rows],
    ["before", rows.toReversed()],
  ])("is found out where the service sorts nothing, by a record %s the only one that it gives", async (_, listed) => {
    const within = ({ _after, _before }: PagingValues) =>
      listed.filter(
        ({ pagingToken = "" }) => pagingToken > (_after ?? "") && (_before === undefined || pagingToken < _before),
      );
    const service = (only: readonly Row[]) =>
      new ListService({
        rows: [],
        response: (paging) =>
          within(paging)
            .filter((row) => only.includes(row))
            .slice(0, 1),
      });
    await expect(collect(list(service(listed), { sort: "name.asc" }))).rejects.toThrow("would lose or repeat records");
    const alone = listed.slice(0, 1);
    expect(await collect(list(service(alone), { sort: "name.asc" }))).toEqual(alone);
  });

  it("continues all the same where the caller trusts the cursor", async () => {
    const service = new ListService({ rows });
    expect(await collect(list(service, { size: 2, sort: "name.asc", trustCursor: true }))).toEqual(rows);
  });
});

describe("pages of one record, which show no order", () => {
  const rows = rowsUpTo(4);
  const unsorted = (list: readonly Row[], size: number) => (paging: PagingValues) =>
    list
      .filter(({ pagingToken = "" }) => paging._after === undefined || Number(pagingToken) > Number(paging._after))
      .filter(({ pagingToken = "" }) => paging._before === undefined || Number(pagingToken) < Number(paging._before))
      .slice(0, size);

  it("throw where the service ignores a descending order", async () => {
    const service = new ListService({ rows, response: unsorted(rows, 1) });
    const walk = collect(list(service, { size: 1, sort: "createdAt.desc" }));
    await expect(walk).rejects.toThrow("records were skipped");
  });

  it("throw where the list comes newest first, or in no order", async () => {
    for (const order of [rows.toReversed(), [2, 0, 3, 1].map((index) => rows[index] ?? {})]) {
      const service = new ListService({ rows, response: unsorted(order, 1) });
      await expect(collect(list(service, { size: 1 }))).rejects.toThrow("records were skipped");
    }
  });

  type Bounds = (token: number, after: number, before: number) => boolean;
  const isWithin: Bounds = (token, after, before) => token > after && token < before;

  /** A list that comes in this order, one record at a time, and several where it is asked what lies before a record. */
  const inOrder = (order: string, isBefore: Bounds = isWithin, falls = false) => ({
    rows: [],
    response: ({ _after, _before }: PagingValues): readonly Row[] => {
      const looksBack = (falls ? _after : _before) !== undefined;
      const honours = looksBack ? isBefore : isWithin;
      return [...order]
        .filter((token) => honours(Number(token), Number(_after ?? 0), Number(_before ?? 9)))
        .slice(0, looksBack ? 4 : 1)
        .map((token) => ({ id: `r${token}`, pagingToken: token }));
    },
  });
  const includesBound: Bounds = (token, after, before) => token > after && token <= before;

  it.each([
    ["1324", isWithin],
    ["1243", isWithin],
    ["1324", includesBound],
    ["3124", includesBound],
  ])("throw where a record was skipped, on the first page or later: %s", async (order, isBefore) => {
    const walk = collect(list(new ListService(inOrder(order, isBefore)), { size: 1 }));
    await expect(walk).rejects.toThrow("records were skipped that lie before this one");
  });

  it.each(["4231", "4312", "3421"])("throw where a record was skipped on the way down: %s", async (order) => {
    const service = new ListService(inOrder(order, isWithin, true));
    const walk = collect(list(service, { size: 1, sort: "createdAt.desc" }));
    await expect(walk).rejects.toThrow("records were skipped that lie before this one");
  });

  it.each<[string, Bounds]>([
    ["includes the bound", includesBound],
    ["takes one bound of two", (token, _, before) => token <= before],
    ["ignores the bound", (token, after) => token > after],
  ])("are all given where the service %s when it is asked what lies before", async (_, isBefore) => {
    expect(await collect(list(new ListService(inOrder("1234", isBefore)), { size: 1 }))).toEqual(rows);
  });

  it("are all given where only others lie before that have no token", async () => {
    const { response } = inOrder("1234", includesBound);
    const withOther = (paging: PagingValues) =>
      paging._before === undefined ? response(paging) : [{ id: "other" }, ...response(paging)];
    const service = new ListService({ rows: [], response: withOther });
    expect(await collect(list(service, { size: 1 }))).toEqual(rows);
  });

  /** Reads page after page by the cursor that each gives. */
  async function byHand(service: ListService, query: Query): Promise<Row[]> {
    const read: Row[] = [];
    let page = await list(service, query);
    while (page.items.length > 0) {
      read.push(...page.items);
      page = await list(service, { ...query, ...page.nextQuery });
    }
    return read;
  }

  it.each([undefined, "createdAt.asc", "createdAt.desc", "pagingToken.desc"] as const)(
    "can be read by hand, and have cursors to store while they are iterated: %s",
    async (sort) => {
      const created = rows.map((row, index): Row => ({ ...row, createdAt: `2026-01-0${index + 1}` }));
      const expected = sort?.endsWith(".desc") ? created.toReversed() : created;
      const service = () => new ListService({ rows: created });
      expect(await byHand(service(), { size: 1, sort })).toEqual(expected);
      const cursors: unknown[] = [];
      for await (const page of list(service(), { size: 1, sort }).pages()) cursors.push(page.next);
      expect(cursors).toEqual(tokensOf(expected));
    },
  );

  it("are only proved by iterating, not by their cursors", async () => {
    const order = [3, 0, 2, 1].map((index) => rows[index] ?? {});
    const service = () => new ListService({ rows, response: unsorted(order, 1) });
    for (const sort of [undefined, "createdAt.asc"] as const) {
      expect(await byHand(service(), { size: 1, sort })).toHaveLength(1);
      await expect(collect(list(service(), { size: 1, sort }))).rejects.toThrow("records were skipped");
    }
  });

  it("let a new record come to a descending list", async () => {
    const createdAt = (_: Row, index: number) => `2026-01-01T00:00:0${index}.000Z`;
    const descending = (count: number) =>
      rowsUpTo(count)
        .map((row, index): Row => ({ ...row, createdAt: createdAt(row, index) }))
        .reverse();
    const response = (paging: PagingValues, number: number) => {
      const listed = descending(number === 1 ? 1 : 2);
      return unsorted(paging._sort === "pagingToken.asc" ? listed.reverse() : listed, 1)(paging);
    };
    const read = await collect(list(new ListService({ rows, response }), { size: 1, sort: "createdAt.desc" }));
    expect(tokensOf(read)).toEqual(["1", "2"]);
  });

  it("let a record come late between the first two pages of an ascending list", async () => {
    const late = rows.filter(({ pagingToken }) => pagingToken !== "2");
    const response = (paging: PagingValues, number: number) => unsorted(number <= 3 ? late : rows, 1)(paging);
    const read = await collect(list(new ListService({ rows, response }), { size: 1, sort: "pagingToken.asc" }));
    expect(tokensOf(read)).toEqual(["1", "3", "4"]);
  });

  it("throw where a service sorts only what it cut out", async () => {
    const response = (paging: PagingValues) => unsorted(rows, 2)(paging).reverse();
    const walk = collect(list(new ListService({ rows, response }), { size: 2, sort: "createdAt.desc" }));
    await expect(walk).rejects.toThrow("records were skipped");
  });
});

describe("what a service gets wrong", () => {
  it("shows in the same record twice on a page, which is not handed out", async () => {
    const twice: Row[] = [
      { id: "a", pagingToken: "1" },
      { id: "a", pagingToken: "2" },
    ];
    const service = () => new ListService({ rows: [], response: () => twice });
    await expect(collect(list(service()))).rejects.toThrow("a record appears twice on one page");
    await expect(list(service(), { trustCursor: true }).then(() => {})).rejects.toThrow(PagingError);
  });

  it("shows in records before the cursor that the caller gave", async () => {
    const service = new ListService({ rows: [], response: () => rowsUpTo(3) });
    await expect(collect(list(service, { after: "2" }))).rejects.toThrow("before the cursor that was given as after");
    const falling = new ListService({ rows: [], response: () => rowsUpTo(3).reverse() });
    const walk = list(falling, { before: "2", sort: "createdAt.desc" });
    await expect(walk.then(() => {})).rejects.toThrow("before the cursor that was given as before");
    await expect(walk.then(() => {})).rejects.toHaveProperty("operation", "rows.list");
  });

  it("shows in a second page that reaches back before the first, and before the caller's cursor too", async () => {
    const response = (_: PagingValues, number: number) => (number === 1 ? rowsUpTo(6).slice(4) : rowsUpTo(2));
    const service = new ListService({ rows: [], response });
    await expect(collect(list(service, { after: "4" }))).rejects.toThrow(
      "rows.list: the next page reaches back before the end of the last one",
    );
  });

  it("does not turn tokens of mixed forms into a circle", async () => {
    const circle = ["9", "10", "1a"];
    const response = ({ _after, _before }: PagingValues, number: number) => {
      if (_before !== undefined && number > 1) return [];
      return [{ pagingToken: circle[(circle.indexOf(_after ?? "") + 1) % 3] ?? "" }];
    };
    const service = new ListService({ rows: [], response });
    await expect(collect(list(service, { size: 1 }))).rejects.toThrow("in no one order");
    const onOnePage = new ListService({ rows: [], response: () => circle.map((pagingToken) => ({ pagingToken })) });
    await expect(collect(list(onOnePage))).rejects.toThrow("do not strictly rise");
  });

  it("does not upset texts of which some are numbers", async () => {
    const rows = ["10", "19", "1a", "20", "2f"].map((pagingToken, index): Row => ({ id: `r${index}`, pagingToken }));
    for (const size of [1, 2, 3, 5]) {
      expect(await collect(list(new ListService({ rows }), { size }))).toEqual(rows);
    }
  });
});

describe("what the caller changes while a list is read", () => {
  it("does not change the list", async () => {
    const service = new ListService({ rows: rowsUpTo(6), cap: 2 });
    const sort: ("pagingToken.asc" | "pagingToken.desc")[] = ["pagingToken.asc"];
    const query = { size: 2, filter: { name: "a" }, sort, prefetch: false };
    const options = { timeoutMs: 5_000, headers: { "x-a": "1" } };
    const listing = list(service, query, options);
    const seen: Row[] = [];
    const change = () => {
      Object.assign(query, { size: 1, prefetch: true });
      query.filter.name = "b";
      sort[0] = "pagingToken.desc";
      options.headers["x-a"] = "2";
      options.timeoutMs = 1;
    };
    change();
    for await (const row of listing) {
      change();
      seen.push(row);
    }
    expect(seen).toEqual(rowsUpTo(6));
    for (const { paging, query: filter, options: given } of service.requested) {
      expect([paging._size, paging._sort, filter]).toEqual([2, "pagingToken.asc", { name: "a" }]);
      expect(given).toEqual({ timeoutMs: 5_000, headers: { "x-a": "1" } });
    }
  });
});

describe("a query that means nothing", () => {
  const refused: [unknown, string][] = [
    [{ size: 0 }, "size must be a whole number above 0"],
    [{ size: 1.5 }, "size must be"],
    [{ size: "10" }, "size must be"],
    [{ after: "" }, "after must be a paging token"],
    [{ before: 12 }, "before must be a paging token"],
    [{ cursor: "id" }, "cursor must be a function"],
    [{ trustCursor: "yes" }, "trustCursor must be true or false"],
  ];

  it.each(refused)("is refused before anything is requested: %j", (query, message) => {
    const service = new ListService({ rows: [] });
    const make = () => list(service, query as Query);
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow(`rows.list: ${message}`);
    expect(service.requested).toEqual([]);
  });

  it("takes undefined for the default", async () => {
    const query = { size: undefined, after: undefined, sort: undefined, filter: undefined, cursor: undefined };
    expect(await collect(list(new ListService({ rows: rowsUpTo(2) }), query))).toHaveLength(2);
  });
});

describe("prefetch", () => {
  it("gives the same records as without, for any data and page size", async () => {
    await fc.assert(
      fc.asyncProperty(world, async (some) => {
        const plain = await collect(list(new ListService(some), queryOf(some)));
        const ahead = await collect(list(new ListService(some), { ...queryOf(some), prefetch: true }));
        expect(ahead).toEqual(plain);
      }),
    );
  });

  it("requests the next page before this one is handed out, and none beyond it", async () => {
    const service = new ListService({ rows: rowsUpTo(6) });
    const pages = list(service, { size: 2, prefetch: true }).pages();
    await pages.next();
    expect(service.requested.map(({ paging }) => paging._after)).toEqual([undefined, "2"]);
    await pages.return();
    expect(service.requested).toHaveLength(2);
  });

  it("ends the request of a page that nobody wants any more, as the caller's signal does", async () => {
    for (const stop of ["break", "abort"]) {
      const caller = new AbortController();
      const service = new ListService({ rows: rowsUpTo(6) });
      const pages = list(service, { size: 2, prefetch: true }, { signal: caller.signal }).pages();
      await pages.next();
      const signal = service.requested[1]?.options?.signal;
      expect(signal?.aborted).toBe(false);
      if (stop === "break") await pages.return();
      else caller.abort();
      expect(signal?.aborted).toBe(true);
      if (stop === "break") expect(getEventListeners(caller.signal, "abort")).toEqual([]);
      expect(caller.signal.aborted).toBe(stop === "abort");
    }
  });

  it("hands out a page whose successor fails, and throws when that one is wanted", async () => {
    const response = (_: object, number: number) => {
      if (number === 2) throw new Error("the service is away");
      return rowsUpTo(2);
    };
    const pages = list(new ListService({ rows: [], response }), { size: 2, prefetch: true }).pages();
    expect((await pages.next()).value?.items).toHaveLength(2);
    await expect(pages.next()).rejects.toThrow("the service is away");
  });

  it("leaves no rejection unhandled where a page fails that nobody wants", async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    try {
      const response = (_: object, number: number) => {
        if (number === 2) throw new Error("the service is away");
        return rowsUpTo(2);
      };
      const service = new ListService({ rows: [], response });
      for await (const _ of list(service, { size: 2, prefetch: true })) break;
      expect(service.requested).toHaveLength(2);
      // Node reports them when all that waits for a promise has run.
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("unhandledRejection", note);
    }
    expect(unhandled).toEqual([]);
  });

  it("does not request ahead of a page from which there is no sound way on", async () => {
    const rows = [
      { id: "a", pagingToken: "2" },
      { id: "b", pagingToken: "1" },
    ];
    const service = new ListService({ rows, response: () => rows });
    const pages = list(service, { size: 2, prefetch: true }).pages();
    await pages.next();
    expect(service.requested).toHaveLength(1);
    await expect(pages.next()).rejects.toBeInstanceOf(PagingError);
    expect(cursorsIn(service)).toEqual([]);
  });
});
