import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConnectionError, CrossBorderError } from "../../src/core/errors.js";
import { listReader, type ReaderQuery } from "../../src/paging/reader.js";
import { type Defect, type ModelOptions, type ModelRecord, ModelService } from "./model-service.js";
import { kindsOfTokens, refusal } from "./select-page.js";

type Query = ReaderQuery<ModelRecord>;

interface Reading {
  readonly ids: readonly string[];
  readonly code?: string | undefined;
}

async function read(service: ModelService, query: Query = {}, onRecord = () => {}): Promise<Reading> {
  const ids: string[] = [];
  try {
    for await (const page of listReader(service, query).pages()) {
      for (const { id } of page.items) {
        ids.push(String(id));
        onRecord();
      }
    }
    return { ids };
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    return { ids, code: error.code };
  }
}

const idsOf = ({ records }: ModelService) => records.map(({ id }) => String(id));
const kinds = Object.keys(kindsOfTokens) as (keyof typeof kindsOfTokens)[];
const counts = [0, 1, 2, 3, 5, 20, 21, 105];
const sizes = [undefined, 3, 10, 200];
const sorts = [undefined, ["pagingToken.asc"], ["pagingToken.desc"], ["createdAt.desc"], ["name.asc"]];
const isTokenSort = (sort: readonly string[] | undefined) => sort?.[0]?.startsWith("pagingToken") !== false;

/** All combinations of a service and a query. */
function* trials(defects: readonly (Defect | undefined)[]): Generator<{ made: ModelOptions; query: Query }> {
  for (const defect of defects)
    for (const count of counts)
      for (const tokens of kinds)
        for (const isInclusive of [false, true])
          for (const cap of [Number.POSITIVE_INFINITY, 7])
            for (const newestFirst of [false, true])
              for (const sort of sorts)
                for (const size of sizes)
                  for (const defaultSort of sort === undefined ? [undefined, "pagingToken.asc"] : [undefined])
                    yield {
                      made: { count, tokens, isInclusive, cap, newestFirst, defect },
                      query: { sort, size, defaultSort },
                    };
}

describe("an ordinary service", () => {
  const ordinary = [...trials([undefined, "refuses _sort", "ignores _sort"])].filter(
    ({ made, query }) => made.tokens !== "seconds" && (query.sort === undefined || made.defect === undefined),
  );

  it("is read whole, in order, and without an error, whatever its bounds, tokens, page cap, and default order", async () => {
    for (const { made, query } of ordinary.filter(({ query: { sort } }) => isTokenSort(sort))) {
      const service = new ModelService(made);
      const trial = JSON.stringify({ made, query });
      const { ids, code } = await read(service, query);
      expect(code, trial).toBeUndefined();
      expect(ids.toSorted(), trial).toEqual(idsOf(service));
      const isDown = query.sort?.[0] === "pagingToken.desc";
      if (query.sort !== undefined) expect(ids, trial).toEqual(isDown ? idsOf(service).reverse() : idsOf(service));
      expect(service.slept, trial).toEqual([]);
    }
  });

  it.each([
    { sort: undefined, newestFirst: false, requests: 13 },
    { sort: ["pagingToken.asc"], newestFirst: false, requests: 13 },
    { sort: ["pagingToken.desc"], newestFirst: false, requests: 14 },
    { sort: undefined, newestFirst: true, requests: 14 },
  ])(
    "is asked for 105 records by pages of 10 in $requests requests: $sort, $newestFirst",
    async ({ requests, ...made }) => {
      const service = new ModelService({ count: 105, tokens: "number", newestFirst: made.newestFirst });
      expect((await read(service, { size: 10, sort: made.sort })).ids).toHaveLength(105);
      expect(service.requested).toHaveLength(requests);
    },
  );

  it("gives the first page, and an error instead of a second one, in an order that tokens may not follow", async () => {
    for (const { made, query } of ordinary.filter(({ query: { sort } }) => !isTokenSort(sort))) {
      const { ids, code } = await read(new ModelService(made), query);
      const pageSize = Math.min(query.size ?? 20, made.cap ?? 20);
      const trial = JSON.stringify({ made, query });
      expect(ids, trial).toHaveLength(Math.min(pageSize, made.count));
      expect(code, trial).toBe(made.count > Math.min(pageSize, made.cap ?? pageSize) ? "paging_sort" : undefined);
    }
  });
});

describe("any service", () => {
  const broken: readonly Defect[] = ["ignores the cursor", "ignores _sort", "refuses _sort", "has no tokens"];
  const unordered: readonly (Defect | undefined)[] = ["lists in no order", "sorts only what it cut out"];

  it("loses no record in silence unless it has no order, and repeats none, with any tokens and any of these defects", async () => {
    let readings = 0;
    for (const { made, query } of trials([undefined, ...broken, ...unordered])) {
      if (made.defect === "refuses _sort" && query.sort !== undefined) continue;
      const service = new ModelService(made);
      const { ids, code } = await read(service, query);
      const trial = JSON.stringify({ made, query });
      expect(new Set(ids).size, trial).toBe(ids.length);
      if (code === undefined && !unordered.includes(made.defect)) expect(ids.toSorted(), trial).toEqual(idsOf(service));
      readings += 1;
    }
    expect(readings).toBeGreaterThan(20_000);
  });
});

describe("a list that changes while it is read", () => {
  const query = fc.record({
    size: fc.constantFrom(undefined, 3, 7),
    sort: fc.constantFrom(undefined, ["pagingToken.asc"], ["pagingToken.desc"]),
  });
  const madeWith = (tokens: ModelOptions["tokens"][]) =>
    fc.record({
      count: fc.integer({ min: 4, max: 40 }),
      tokens: fc.constantFrom(...tokens),
      isInclusive: fc.boolean(),
      cap: fc.constantFrom(4, 7, 100),
    });

  it("is read with every record that it had, once, although others come and tokens grow", async () => {
    const changes = fc.array(fc.record({ at: fc.nat(60), touched: fc.option(fc.nat(39)) }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(madeWith(["number"]), query, changes, async (options, asked, changing) => {
        const service = new ModelService(options);
        const atFirst = idsOf(service);
        let handedOut = 0;
        // A record that moves twice can be missed.
        const moved = new Set<number>();
        const { ids, code } = await read(service, asked, () => {
          for (const { touched } of changing.filter(({ at }) => at === handedOut)) {
            const index = (touched ?? 0) % options.count;
            if (touched === null) service.add();
            else if (!moved.has(index)) service.touch(index);
            if (touched !== null) moved.add(index);
          }
          handedOut += 1;
        });
        expect(new Set(ids).size).toBe(ids.length);
        if (code === undefined) expect(atFirst.filter((id) => !ids.includes(id))).toEqual([]);
        else expect(["paging_end_unproved", "paging_sort_ignored"]).toContain(code);
      }),
      { numRuns: 300 },
    );
  });

  it("is read whole, or ends in an error, if pages come from replicas that lag", async () => {
    const made = madeWith(kinds.filter((kind) => kind !== "seconds"));
    const lags = fc.array(
      fc.record({ request: fc.integer({ min: 1, max: 14 }), lacks: fc.integer({ min: 1, max: 12 }) }),
    );
    await fc.assert(
      fc.asyncProperty(made, query, lags, async (options, asked, lagging) => {
        const service = new ModelService(options);
        const replicas = lagging.map(({ lacks, request }) => {
          return { request, replica: new ModelService({ ...options, count: Math.max(0, options.count - lacks) }) };
        });
        service.intercept = (request, number) =>
          // The first page shows what its machine has.
          number === 1 ? undefined : replicas.find((lag) => lag.request === number)?.replica.select(request);
        const { ids, code } = await read(service, asked);
        expect(new Set(ids).size).toBe(ids.length);
        // A replica that shows the last record ends the list where its own ends.
        const known = options.count - Math.max(0, ...lagging.map(({ lacks }) => lacks));
        if (code === undefined) expect(ids.toSorted()).toEqual(idsOf(service).slice(0, Math.max(known, ids.length)));
      }),
      { numRuns: 300 },
    );
  });

  it.each(["number", "base64"] as const)(
    "has what is added above a descending list that isn't sorted: %s",
    async (tokens) => {
      const service = new ModelService({ count: 12, tokens, cap: 5, newestFirst: true, defect: "ignores _sort" });
      let handedOut = 0;
      const { ids, code } = await read(service, { sort: ["pagingToken.desc"] }, () => {
        if (++handedOut > 3 && handedOut < 8) service.add();
      });
      expect([ids.toSorted(), code]).toEqual([idsOf(service), undefined]);
    },
  );

  it("waits for a replica that lags for less than four seconds", async () => {
    const service = new ModelService({ count: 30, tokens: "base64", cap: 10 });
    const replica = new ModelService({ count: 15, tokens: "base64", cap: 10 });
    service.intercept = (request, number) => (number > 2 && number < 6 ? replica.select(request) : undefined);
    expect(await read(service, { sort: ["pagingToken.asc"] })).toEqual({ ids: idsOf(service) });
    expect(service.slept).toEqual([250, 500, 1000]);
  });
});

describe("an error", () => {
  const first = (changes: object) => {
    const service = new ModelService({ count: 20, tokens: "number" });
    const page = service.select({});
    service.intercept = () => page.map((record, index) => (index === 1 ? { ...record, ...changes } : record));
    return service;
  };
  const one = (options: Partial<ModelOptions>) => new ModelService({ count: 50, tokens: "number", ...options });

  const answering = (answers: Record<number, () => readonly ModelRecord[]>) => {
    const service = one({ defect: "has no tokens" });
    service.intercept = (_, number) => answers[number]?.();
    return service;
  };
  const fail = (error: Error) => {
    throw error;
  };

  it.each<[string, ModelService, Query]>([
    ["paging_cursor_ignored", one({ defect: "ignores the cursor", cap: 20 }), {}],
    ["paging_no_token", one({ defect: "has no tokens" }), {}],
    ["paging", one({}), { cursor: ({ name }) => (name === "n0" ? undefined : name) }],
    ["paging_order", one({ defect: "ignores _sort" }), { sort: ["pagingToken.desc"] }],
    ["paging_sort", one({}), { sort: ["createdAt.asc"] }],
    ["paging_sort", one({}), { sort: ["name.asc"], cursor: ({ id }) => id }],
    [
      "paging_sort_ignored",
      one({ count: 105, tokens: "UUID", defect: "sorts only what it cut out" }),
      { sort: ["pagingToken.desc"] },
    ],
    ["paging_end_unproved", one({ tokens: "UUID", defect: "ignores _sort" }), { sort: ["pagingToken.desc"] }],
    ["paging", first({ id: "r0000" }), {}],
    ["paging", first({ id: 2 ** 53 }), {}],
    ["paging", first({ pagingToken: 2 ** 60 }), {}],
    ["paging", first({ pagingToken: null }), {}],
    ["paging", one({}), { cursor: () => "" }],
    ["paging", answering({ 1: () => [{ id: "" } as ModelRecord] }), {}],
    ["paging_sort", one({}), { sort: ["name.asc"], cursor: ({ name, id }) => (name === "n0" ? name : id) }],
    // What proves that the first page is the whole list.
    ["paging_no_token", one({ count: 21, defect: "has no tokens" }), { size: 10 }],
    ["paging_no_token", answering({ 2: () => [], 3: () => [], 4: () => [], 5: () => [] }), { size: 10 }],
    ["paging_no_token", answering({ 2: () => fail(refusal(400)) }), {}],
    ["connection_failed", answering({ 2: () => fail(new ConnectionError("")) }), {}],
    ["http_400", answering({ 1: () => fail(refusal(400)) }), {}],
  ])("has the code %s (%#)", async (code, service, query) => {
    expect((await read(service, query)).code).toBe(code);
  });
});

describe("a query", () => {
  it.each(["asc", "desc"])("may take any field as cursor, if it sorts by it: id.%s", async (way) => {
    for (const isInclusive of [false, true]) {
      const service = new ModelService({ count: 50, tokens: "number", isInclusive, cap: 10 });
      for (const record of service.records) Object.assign(record, { pagingToken: record.id });
      const { ids, code } = await read(service, { sort: [`id.${way}`], cursor: ({ id }) => id });
      expect([ids.toSorted(), code]).toEqual([idsOf(service), undefined]);
    }
  });

  it("leaves the default sort out if the service refuses it, and asks once more", async () => {
    const service = new ModelService({ count: 5, tokens: "UUID", defect: "refuses _sort" });
    expect((await read(service, { defaultSort: "pagingToken.asc" })).ids).toHaveLength(5);
    expect(service.requested.map(({ _sort }) => _sort)).toEqual(["pagingToken.asc", undefined, undefined]);
  });

  it("keeps the caller's bounds, size, and sort on every page, and takes its bounds as exclusive", async () => {
    for (const isInclusive of [false, true])
      for (const [sort, kept] of [
        ["pagingToken.asc", "before"],
        ["pagingToken.desc", "after"],
      ] as const) {
        const service = new ModelService({ count: 50, tokens: "UUID", isInclusive });
        const [low, high] = [service.records[9], service.records[40]];
        const query = { sort: [sort], size: 5, after: String(low?.pagingToken), before: String(high?.pagingToken) };
        expect((await read(service, query)).ids.toSorted()).toEqual(idsOf(service).slice(10, 40));
        const requests = sort === "pagingToken.desc" ? service.requested.slice(0, -1) : service.requested;
        for (const request of requests) expect(request).toMatchObject({ [`_${kept}`]: query[kept], _size: 5 });
      }
  });

  it("may have tokens of which only some are numbers", async () => {
    const service = new ModelService({ count: 50, tokens: "UUID" });
    Object.assign(service.records[1] ?? {}, { pagingToken: "7" });
    expect(await read(service, { sort: ["pagingToken.asc"], size: 10 })).toEqual({ ids: idsOf(service) });
  });

  it("gives a whole list without tokens in a second page", async () => {
    const service = new ModelService({ count: 9, tokens: "number", defect: "has no tokens" });
    expect(await read(service, { size: 4 })).toEqual({ ids: idsOf(service) });
  });

  it("continues anywhere if it trusts the cursor", async () => {
    const service = new ModelService({ count: 50, tokens: "number", defect: "ignores _sort" });
    expect((await read(service, { sort: ["createdAt.asc"], trustCursor: true })).ids).toEqual(idsOf(service));
  });

  it("with a filter ends where the last record has left the list", async () => {
    const service = new ModelService({ count: 25, tokens: "UUID" });
    service.intercept = (_, number) => {
      if (number === 2) service.records.splice(19, 6);
      return undefined;
    };
    expect((await read(service, { isFiltered: true })).ids).toHaveLength(20);
    expect(service.slept).toEqual([]);
  });
});
