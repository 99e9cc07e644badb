import { getEventListeners } from "node:events";
import { describe, expect, it, vi } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import type { ListQuery } from "../../src/api/list-query.js";
import { resource } from "../../src/api/resource.js";
import { Listing } from "../../src/paging/listing.js";
import { clock } from "../../src/timing/clock.js";
import { ListService, type Row } from "./list-service.js";
import { withoutWaiting } from "./without-waiting.js";

/** Lists whose every response is written down: which requests are made, and what is made of each. */

withoutWaiting();

const rows = resource<Row>()("rows", "/rows", {
  fields: { id: "text", pagingToken: "text", createdAt: "timestamp", name: "text" },
  list: true,
});

type Query = ListQuery<Row, { readonly name?: string | undefined }>;

/** A record by its number, or by another token than ten times that. */
type Told = number | { readonly id: number; readonly token: number | undefined };

/** The bounds of a request, and where it is not the query's, its order: `_before=20`. */
type Asked = string;

const rowOf = (told: Told): Row => {
  const { id, token } = typeof told === "number" ? { id: told, token: told * 10 } : told;
  return { id: `r${id}`, ...(token !== undefined && { pagingToken: String(token) }) };
};

/** Reads a list whose service gives these pages, one after another. What else is asked for is a mistake. */
async function read(query: Query, ...script: readonly (readonly [Asked, readonly Told[]])[]) {
  const asked: string[] = [];
  const service = new ListService({
    rows: [],
    response: (paging, number) => {
      asked.push(describePaging(paging, query));
      return (script[number - 1]?.[1] ?? []).map(rowOf);
    },
  });
  const timers = vi.spyOn(clock, "setTimer");
  const ids: number[] = [];
  let hasEmptyPage = false;
  let code: string | undefined;
  try {
    for await (const { items } of new Listing(service.client, rows.list, [], query, undefined).pages()) {
      hasEmptyPage ||= items.length === 0;
      for (const { id } of items) ids.push(Number(id?.slice(1)));
    }
  } catch (error) {
    code = Reflect.get(error as object, "code");
  }
  const pauses = timers.mock.calls.filter(([, ms]) => ms === 250).length;
  timers.mockRestore();
  expect(hasEmptyPage).toBe(false);
  expect(asked).toEqual(script.map(([line]) => line));
  return { ids, code, pauses };
}

function describePaging({ _after, _before, _size, _sort }: PagingValues, query: Query): Asked {
  const sort = query.sort === undefined ? undefined : [query.sort].flat().join(",");
  const parts = {
    _after,
    _before,
    _size: _size === query.size ? undefined : _size,
    _sort: _sort === sort ? undefined : _sort,
  };
  return Object.entries(parts)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]))
    .join(" ");
}

const down: Query = { sort: "pagingToken.desc" };
const kept: Query = { ...down, filter: { name: "kept" } };
const whole = { code: undefined, pauses: 0 };
const unproved = "paging_end_unproved";

describe("a descending list that begins with one record", () => {
  it("ends where it is read again, and has no other", async () => {
    expect(await read(down, ["", [1]], ["_after=10", []], ["_before=10", []], ["", [1]])).toEqual({
      ...whole,
      ids: [1],
    });
  });

  it("goes on where the one after it was not shown, and then is", async () => {
    const one = [
      ["", [2]],
      ["_after=20", []],
      ["_before=20", []],
      ["", [2, 1]],
    ] as const;
    expect(await read(down, ...one, ["_before=20", [1]], ["_after=10", [2]])).toEqual({ ...whole, ids: [2, 1] });
  });

  const filled = [
    ["", [3]],
    ["_after=30", []],
    ["_before=30", []],
    ["", [9, 8]],
  ] as const;
  const oldest = "_sort=pagingToken.asc";

  it("goes on behind newer ones that fill its page where an older one is shown", async () => {
    const next = [
      ["_before=30", [2]],
      ["", [9, 3, 2]],
      ["_before=30", [2]],
      ["_before=20", []],
    ] as const;
    expect(
      await read(
        down,
        ...filled,
        ...next,
        ["_after=20", [9, 3]],
        ["_after=20 _size=1", [9]],
        ["_after=20 _sort=pagingToken.asc", [3, 9]],
        ["_after=90 _sort=pagingToken.asc", []],
        ["_after=30 _sort=pagingToken.asc", [9]],
        ["_after=20 _before=30 _sort=pagingToken.asc", []],
      ),
    ).toEqual({ ...whole, ids: [3, 2, 9] });
  });

  it("ends behind newer ones where it is the oldest, and they come last", async () => {
    const newer = [
      ["_after=30 _size=1", [9]],
      ["_after=30 _sort=pagingToken.asc", [8, 9]],
      ["_after=90 _sort=pagingToken.asc", []],
      ["_after=80 _sort=pagingToken.asc", [9]],
      ["_after=30 _before=80 _sort=pagingToken.asc", []],
    ] as const;
    const script = [...filled, ["_before=30", []], [oldest, [3]], ...newer] as const;
    expect(await read(down, ...script)).toEqual({ ...whole, ids: [3, 8, 9] });
  });

  it.each([[[2]], [[]]])("is an error behind newer ones where the oldest of the list is %j", async (first) => {
    const script = [...filled, ["_before=30", []], [oldest, first]] as const;
    expect(await read(down, ...script)).toEqual({ ids: [3], code: unproved, pauses: 0 });
  });

  it("is looked for in the order of the query, turned round, where the query says what a token is", async () => {
    const query: Query = {
      sort: ["createdAt.desc", "pagingToken.desc"],
      cursor: ({ pagingToken = "" }) => pagingToken,
    };
    const script = [...filled, ["_before=30", []], ["_sort=createdAt.asc,pagingToken.asc", [2]]] as const;
    expect(await read(query, ...script)).toEqual({ ids: [3], code: unproved, pauses: 0 });
  });

  it("ends behind newer ones where a filter may have left it out since", async () => {
    const script = [...filled, ["_before=30", []]] as const;
    const newer = [
      ["_after=30 _size=1", []],
      ["_after=30 _sort=pagingToken.asc", []],
    ] as const;
    expect(await read(kept, ...script, ...newer)).toEqual({ ...whole, ids: [3] });
  });
});

describe("the second record of a descending list, on a page of its own", () => {
  const first = [
    ["", [3]],
    ["_after=30", []],
    ["_before=30", [1]],
  ] as const;
  const end = [
    ["_before=30", [1]],
    ["_before=10", []],
    ["_after=10", [3]],
    ["_after=10 _size=1", [3]],
    ["_after=10 _sort=pagingToken.asc", [3]],
    ["_after=10 _before=30 _sort=pagingToken.asc", []],
    ["_after=30 _sort=pagingToken.asc", []],
    ["_after=10 _sort=pagingToken.asc", [3]],
  ] as const;
  const skipped = ["_after=10 _before=30", []] as const;

  it("follows where the first is shown before it, whatever came above", async () => {
    for (const shown of [
      [3, 1],
      [9, 3, 1],
    ])
      expect(await read(down, ...first, ["", shown], ...end)).toEqual({ ...whole, ids: [3, 1] });
  });

  it("is an error where another is shown between them", async () => {
    expect(await read(down, ...first, ["", [3, 2, 1]])).toEqual({ ids: [3, 1], code: unproved, pauses: 0 });
  });

  it.each([[[9, 8]], [[9, 1]], [[{ id: 7, token: undefined }]], [[3]]])(
    "has none before it where nothing is between their tokens, and the beginning is %j",
    async (beginning) => {
      expect(await read(down, ...first, ["", beginning], skipped, ...end)).toEqual({ ...whole, ids: [3, 1] });
    },
  );

  it("is an error where one is listed before it when it is looked for", async () => {
    const between = [
      ["_after=10 _before=30", [2]],
      ["_before=30", [2, 1]],
    ] as const;
    expect(await read(down, ...first, ["", [9, 8]], ...between)).toEqual({ ids: [3, 1], code: unproved, pauses: 0 });
  });

  it("is asked for once more where a machine does not know the first", async () => {
    expect(await read(down, ...first, ["", [1]], ["", [3, 1]], ...end)).toEqual({ ...whole, ids: [3, 1], pauses: 1 });
    expect(await read(kept, ...first, ["", [1]], ["", [3, 1]], ...end)).toEqual({ ...whole, ids: [3, 1], pauses: 1 });
  });

  it("is an error where no machine knows the first, which may have left a list with a filter", async () => {
    const gone = [
      ["", [1]],
      ["", [1]],
    ] as const;
    expect(await read(down, ...first, ...gone)).toEqual({ ids: [3, 1], code: unproved, pauses: 1 });
    expect(await read(kept, ...first, ...gone, skipped, ...end)).toEqual({ ...whole, ids: [3, 1], pauses: 1 });
  });
});

describe("the second record of an ascending list, on a page of its own", () => {
  it("is looked for between their tokens alone", async () => {
    const end = [
      ["_after=30", []],
      ["_after=10", [3]],
    ] as const;
    const script = [["", [1]], ["_before=10", []], ["_after=10", [3]], ["_after=10 _before=30", []], ...end] as const;
    expect(await read({}, ...script)).toEqual({ ...whole, ids: [1, 3] });
  });
});

describe("what stands above a descending list at its end", () => {
  const listed = [
    ["", [4, 3, 2]],
    ["_before=30", [2, 1]],
    ["_before=20", [1]],
  ] as const;
  const sorted = (bounds: string) => `${bounds} _sort=pagingToken.asc`;

  it("is all there is, where a machine that knows the first record gives less than a page", async () => {
    expect(await read(down, ...listed, ["_after=30", [5, 4]])).toEqual({ ...whole, ids: [4, 3, 2, 1, 5] });
    expect(await read(down, ...listed, ["_after=30", [4]])).toEqual({ ...whole, ids: [4, 3, 2, 1] });
  });

  const above = ["_after=30", [7, 6, 5]] as const;

  it("is read upwards, past what was on top, to a short page", async () => {
    const upwards = [
      ["_after=30 _size=1", [9]],
      [sorted("_after=30"), [4, 5, 6]],
      [sorted("_after=60"), [7, 8, 9]],
      [sorted("_after=90"), [10]],
    ] as const;
    expect(await read(down, ...listed, above, ...upwards)).toEqual({ ...whole, ids: [4, 3, 2, 1, 5, 6, 7, 8, 9, 10] });
  });

  it("is read past what was on top, whatever page is short before it", async () => {
    const upwards = [
      ["_after=30 _size=1", [9]],
      [sorted("_after=30"), [4, 5]],
      [sorted("_after=50"), [6, 7, 9]],
      [sorted("_after=90"), []],
      [sorted("_after=70"), [9]],
    ] as const;
    expect(await read(down, ...listed, above, ...upwards)).toEqual({ ...whole, ids: [4, 3, 2, 1, 5, 6, 7, 9] });
  });

  it("is read once more where the first record does not stand there, which may have left a list with a filter", async () => {
    const newest = ["_after=30 _size=1", [6]] as const;
    const lacking = [
      [sorted("_after=30"), [5, 6]],
      [sorted("_after=60"), []],
      [sorted("_after=50"), [6]],
      [sorted("_after=30 _before=50"), []],
    ] as const;
    const began = [...listed, above, newest, ...lacking] as const;
    const given = { ids: [4, 3, 2, 1, 5, 6], pauses: 1 };
    expect(await read(down, ...began, [sorted("_after=30"), [4, 6]])).toEqual({ ...given, code: undefined });
    expect(await read(down, ...began, ...lacking)).toEqual({ ids: [4, 3, 2, 1], code: unproved, pauses: 1 });
    expect(await read(kept, ...began, ...lacking)).toEqual({ ...given, code: undefined });
  });

  it("is asked for in the order of the query, turned round, where the query says what a token is", async () => {
    const query: Query = {
      sort: ["createdAt.desc", "pagingToken.desc"],
      cursor: ({ pagingToken = "" }) => pagingToken,
    };
    const upwards = [
      ["_after=30 _size=1", [5]],
      ["_after=30 _sort=createdAt.asc,pagingToken.asc", [4, 5]],
    ] as const;
    expect(await read(query, ...listed, above, ...upwards)).toEqual({ ...whole, ids: [4, 3, 2, 1, 5] });
  });
});

describe("an ascending list", () => {
  const ended = [
    ["", [1, 2]],
    ["_after=20", []],
  ] as const;
  const filtered: Query = { filter: { name: "kept" } };

  it("is an error where a record is listed late, and the last one is not shown, with a filter too", async () => {
    const late = { id: 9, token: 15 };
    const script = [...ended, ["_after=10", [late]], ["_after=10", [late]]] as const;
    for (const query of [{}, filtered])
      expect(await read(query, ...script)).toEqual({ ids: [1, 2], code: unproved, pauses: 1 });
  });

  it("may end without its last record where it has a filter, and names in one that ask for nothing are none", async () => {
    const gone = [...ended, ["_after=10", []], ["_after=10", []]] as const;
    expect(await read(filtered, ...gone, ["_after=20", []])).toEqual({ ids: [1, 2], code: undefined, pauses: 1 });
    expect(await read({ filter: { name: undefined } }, ...gone)).toEqual({ ids: [1, 2], code: unproved, pauses: 1 });
  });

  it("is an error where a record of its last page comes again, with a token that grew", async () => {
    const grown = [
      ["", [1, 2, 3]],
      ["_after=30", [4, 5]],
      ["_after=40", [5, { id: 4, token: 60 }]],
    ] as const;
    expect(await read({}, ...grown)).toEqual({ ids: [1, 2, 3, 4, 5], code: "paging", pauses: 0 });
  });

  it("is an error where a record is twice on a page", async () => {
    expect(await read({}, ["", [1, { id: 1, token: 20 }]])).toEqual({ ids: [], code: "paging", pauses: 0 });
  });
});

describe("a list whose cursor is trusted", () => {
  const trusted: Query = { ...down, trustCursor: true };

  it("ends with an empty page, the first one too, and none is asked for twice", async () => {
    expect(await read(trusted, ["", []])).toEqual({ ...whole, ids: [] });
    expect(await read(trusted, ["", [3, 2]], ["_before=20", [1]], ["_before=10", []])).toEqual({
      ...whole,
      ids: [3, 2, 1],
    });
  });

  it("may go to and fro", async () => {
    expect(await read(trusted, ["", [2, 3]], ["_before=30", [4, 1]], ["_before=10", []])).toEqual({
      ...whole,
      ids: [2, 3, 4, 1],
    });
  });
});

describe("the wait before a page is asked for once more", () => {
  /** Reads a list whose last record is not shown, until it waits. */
  async function readToWait(signal?: AbortSignal) {
    const pages = [[1, 2], [], [], [2]];
    const service = new ListService({ rows: [], response: (_, number) => (pages[number - 1] ?? []).map(rowOf) });
    const reading = new Listing(service.client, rows.list, [], {}, { signal }).toArray({ max: 9 });
    const settled = async () => {
      for (let turn = 0; turn < 30; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return service.requested.length;
    };
    vi.setTimerTickMode("manual");
    expect(await settled()).toBe(3);
    return { reading, settled };
  }

  it("takes a quarter of a second", async () => {
    const { reading, settled } = await readToWait();
    vi.advanceTimersByTime(249);
    expect(await settled()).toBe(3);
    vi.advanceTimersByTime(1);
    expect(await settled()).toBe(4);
    expect(await reading).toHaveLength(2);
  });

  it("ends with the caller's signal, to which nothing listens afterwards", async () => {
    const aborting = new AbortController();
    const { reading, settled } = await readToWait(aborting.signal);
    expect(getEventListeners(aborting.signal, "abort")).toHaveLength(1);
    aborting.abort();
    expect(await settled()).toBe(4);
    await reading;
    expect(vi.getTimerCount()).toBe(0);
    const kept = new AbortController();
    const waited = await readToWait(kept.signal);
    vi.advanceTimersByTime(250);
    await waited.reading;
    expect(getEventListeners(kept.signal, "abort")).toEqual([]);
  });
});
