import { describe, expect, it } from "vitest";
import { type Query, readList } from "./list-worlds.js";
import { added, adding, type ListEvent, ReplicatedService, type ReplicatedTraits } from "./replicated-service.js";
import { withoutWaiting } from "./without-waiting.js";

withoutWaiting();

/** One machine that knows all of these events. */
function service(events: readonly ListEvent[], traits: Partial<ReplicatedTraits> = {}): ReplicatedService {
  return new ReplicatedService({ events, replicas: [], schedule: [0], cap: 3, ...traits });
}

const idsUpTo = (count: number) => adding(count).map(({ id }) => id);
/** From the oldest to the newest. */
const inOrder = (ids: readonly string[]) =>
  [...ids].sort((one, other) => Number(one.slice(1)) - Number(other.slice(1)));
const descending: Query = { sort: "pagingToken.desc" };
const unproved = expect.objectContaining({ name: "PagingError", code: "paging_end_unproved", effect: "none" });

describe("an empty page", () => {
  it.each([
    ["after a full page", 6, [3]],
    ["after a short page", 5, [3]],
    ["in place of the first page", 5, [1]],
    ["twice in a row", 5, [3, 4]],
  ])("that comes once %s loses no record", async (_, count, empty) => {
    for (const sort of [undefined, "pagingToken.desc"] as const) {
      const list = service(adding(count), { emptyAt: new Set(empty.slice(0, 1)) });
      const { ids } = await readList(list, { sort });
      expect([...ids].sort()).toEqual(idsUpTo(count));
    }
  });

  it("for good after records is an error, not the end", async () => {
    const from = (first: number) => new Set(Array.from({ length: 20 }, (_, index) => first + index));
    for (const query of [{}, { size: 1 }, { prefetch: true }, descending]) {
      const list = service(adding(9), { emptyAt: from(4) });
      const { ids, error } = await readList(list, query);
      expect(ids.length).toBeGreaterThan(0);
      expect(error).toEqual(unproved);
    }
  });

  it("is the end where the last record comes again, and is asked for once more where it does not", async () => {
    const whole = service(adding(6));
    expect(await readList(whole)).toEqual({ ids: idsUpTo(6), error: undefined });
    expect(whole.requested.map(({ _after }) => _after)).toEqual([undefined, "30", "60", "50"]);
    const lying = service(adding(6), { emptyAt: new Set([3, 4]) });
    expect(await readList(lying)).toEqual({ ids: idsUpTo(6), error: undefined });
    expect(lying.requested.map(({ _after }) => _after)).toEqual([undefined, "30", "60", "50", "50"]);
  });

  it("is believed where the caller trusts the cursor", async () => {
    const list = service(adding(6), { emptyAt: new Set([2]) });
    expect(await readList(list, { trustCursor: true })).toEqual({ ids: idsUpTo(3), error: undefined });
  });

  it("is no surprise after a cursor of the caller's, and an empty list is asked for twice", async () => {
    const continued = service(adding(3));
    await readList(continued, { after: "30" });
    expect(continued.requested).toHaveLength(1);
    const none = service([]);
    expect(await readList(none)).toEqual({ ids: [], error: undefined });
    expect(none.requested).toHaveLength(2);
  });

  it.each([
    [{ sort: "pagingToken.desc", before: "25" }, ["r2", "r1"]],
    [{ sort: "pagingToken.desc", after: "15" }, ["r3", "r2"]],
    [{ before: "25" }, ["r1", "r2"]],
  ] as const)("that comes once does not end a list within bounds: %j", async (query, expected) => {
    const list = service(adding(3), { emptyAt: new Set([1]) });
    expect(await readList(list, query)).toEqual({ ids: expected, error: undefined });
  });
});

describe("a machine that lags behind", () => {
  const lagging = {
    replicas: [
      { knows: 20, learns: 0 },
      { knows: 4, learns: 0 },
    ],
    cap: 5,
  };

  it.each([
    ["ascending", {}],
    ["ascending, with prefetch", { prefetch: true }],
    ["descending", descending],
    ["in pages of one record", { size: 1 }],
  ] as const)("gives the next page, or an error, and never the end of the list: %s", async (_, query) => {
    for (const schedule of [
      [0, 1],
      [0, 0, 1],
      [0, 1, 1],
      [0, 0, 0, 1, 1],
    ]) {
      const { ids, error } = await readList(service(adding(20), { ...lagging, schedule }), query);
      // Whole as one of the two knows it.
      if (error === undefined) expect([idsUpTo(4), idsUpTo(20)]).toContainEqual(inOrder(ids));
      else expect(error).toEqual(unproved);
    }
  });

  it("leaves no gap in the middle of a descending list", async () => {
    // The second page would be of the old machine, and go on far behind the first.
    const list = service(adding(20), { ...lagging, schedule: [0, 1, 0, 0, 0, 0, 0, 0, 0, 0] });
    expect((await readList(list, descending)).ids).toEqual(idsUpTo(20).reverse());
  });

  it.each([
    ["the machine that knows of none between them is asked what follows the first", [1, 0, 1, 0, 0]],
    ["the other one is", [1, 0, 1, 0, 1]],
  ])("leaves no gap behind the first record of a descending list, one a page: %s", async (_, schedule) => {
    const replicas = [14, 19].map((knows) => ({ knows, learns: 0 }));
    const list = service(adding(19), { replicas, schedule, cap: 6 });
    const { ids, error } = await readList(list, { ...descending, size: 1, prefetch: true });
    expect(ids).toEqual(["r19", "r14"]);
    expect(error).toMatchObject({ code: "paging_end_unproved" });
  });

  it.each([
    ["an older machine shows nothing more", [0, 1, 0, 2, 0, 2, 0, 2], "paging_end_unproved"],
    ["another one shows the next", [0, 1, 0, 2, 2, 2, 2, 2], undefined],
  ])(
    "does not end behind the first record of a descending list, while newer ones fill its page: %s",
    async (_, schedule, code) => {
      const replicas = [0, 2, 9].map((knows) => ({ knows, learns: 0 }));
      const { ids, error } = await readList(service(adding(9), { replicas, schedule, cap: 5 }), {
        ...descending,
        size: 1,
      });
      expect([ids.slice(0, 1), error?.code]).toEqual([["r2"], code]);
      if (error === undefined) expect(ids).toEqual(["r2", "r1", ...idsUpTo(9).slice(2)]);
    },
  );

  it("does not matter where it catches up", async () => {
    const replicas = [
      { knows: 20, learns: 0 },
      { knows: 4, learns: 4 },
    ];
    const list = service(adding(20), { replicas, cap: 5, schedule: [0, 1, 1] });
    expect(await readList(list)).toEqual({ ids: idsUpTo(20), error: undefined });
  });
});

it("is not ended by a cache that heeds no header", async () => {
  const list = service(adding(20), { replicas: [{ knows: 6, learns: 0 }], cacheFor: 100 });
  await readList(list);
  const grown = service(adding(20), { replicas: [{ knows: 6, learns: 1 }], cacheFor: 3 });
  const { ids, error } = await readList(grown);
  expect(error).toBeUndefined();
  expect(ids).toEqual(idsUpTo(ids.length));
  expect(ids.length).toBeGreaterThan(6);
});

describe("records that come, move and leave while a list is read", () => {
  /** All of these are known at once, and one event more with each request. */
  const during = (first: readonly ListEvent[], then: readonly ListEvent[], cap = 3) =>
    service([...first, ...then], { replicas: [{ knows: first.length, learns: 1 }], cap });

  it("are handed out where they come after the end, while it is being proved", async () => {
    const then = [added(5), added(6), added(7), added(8)];
    expect(await readList(during(adding(4), then))).toEqual({ ids: idsUpTo(8), error: undefined });
  });

  it("are handed out where they are listed late beside the last one", async () => {
    const late: ListEvent = { kind: "add", id: "late", token: 45 };
    // The late one comes before the fifth record, when that is shown again.
    const { ids, error } = await readList(during(adding(5), [late, added(6)], 10), { size: 10 });
    expect([new Set(ids), error]).toEqual([new Set([...idsUpTo(6), "late"]), undefined]);
    expect(ids).toHaveLength(7);
  });

  it("end a list in an error where the last one has left, and a filtered list all the same", async () => {
    const left = await readList(during(adding(5), [{ kind: "remove", id: "r5" }], 10), { size: 10 });
    expect(left).toEqual({ ids: idsUpTo(5), error: unproved });
    const renamed = during(adding(5), [{ kind: "rename", id: "r5" }], 10);
    const filtered = await readList(renamed, { size: 10, filter: { name: "kept" } });
    expect(filtered).toEqual({ ids: idsUpTo(5), error: undefined });
  });

  it("do not end a list where the last one has left and others come", async () => {
    const then: ListEvent[] = [added(6), { kind: "remove", id: "r5" }];
    const { ids, error } = await readList(during(adding(5), then));
    expect([ids, error]).toEqual([idsUpTo(6), undefined]);
  });

  it("are known by their ids where the token of the last one has grown", async () => {
    const { ids, error } = await readList(during(adding(5), [{ kind: "grow", id: "r5", token: 900 }, added(6)]));
    expect([new Set(ids), error]).toEqual([new Set(idsUpTo(6)), undefined]);
  });

  it("come last where they went unread to the beginning of a descending list: 240 records, of which 4 move", async () => {
    for (const cap of [100, 25, 7]) {
      const moves = [3, 11, 17, 40].map(
        (number, at): ListEvent => ({ kind: "grow", id: `r${number}`, token: 9_000 + at }),
      );
      const { ids, error } = await readList(during(adding(240), moves, cap), descending);
      expect(error).toBeUndefined();
      expect(ids).toHaveLength(240);
      expect(new Set(ids)).toEqual(new Set(idsUpTo(240)));
    }
  });

  it.each(["createdAt.desc", "createdAt.desc,pagingToken.desc"] as const)(
    "come last in the order of their tokens, which need not be that of the list: sorted by %s",
    async (sort) => {
      const moves = [11, 3, 17, 7, 5].map(
        (number, at): ListEvent => ({ kind: "grow", id: `r${number}`, token: 900 + at }),
      );
      const { ids, error } = await readList(during(adding(24), moves), { sort });
      expect([ids.length, new Set(ids), error]).toEqual([24, new Set(idsUpTo(24)), undefined]);
    },
  );

  it.each(["pagingToken.asc", "pagingToken.desc"] as const)(
    "are all given by their tokens where they were updated before: sorted by %s",
    async (sort) => {
      const updated = [3, 5, 1].map((at, number): ListEvent => ({ kind: "grow", id: `r${at}`, token: 1000 + number }));
      const { ids, error } = await readList(service([...adding(10), ...updated, ...adding(2, 200)]), { sort });
      expect([new Set(ids), ids.length, error]).toEqual([new Set([...idsUpTo(10), "r200", "r201"]), 12, undefined]);
    },
  );

  it("do not come again from a descending list, beside others that were listed late before them", async () => {
    const renamed: ListEvent = { kind: "rename", id: "r1" };
    const late = [65, 55].map((token): ListEvent => ({ kind: "add", id: `late${token}`, token }));
    const events = [...adding(9), renamed, renamed, ...late];
    const list = service(events, { replicas: [{ knows: 9, learns: 2 }], emptyAt: new Set([3]) });
    const { ids, error } = await readList(list, descending);
    expect([[...ids].sort(), error]).toEqual([["late55", "late65", ...idsUpTo(9)], undefined]);
  });

  it("come last in a descending list where they are new", async () => {
    const { ids, error } = await readList(during(adding(9), [added(10), added(11)]), descending);
    expect([ids, error]).toEqual([[...idsUpTo(9).reverse(), "r10", "r11"], undefined]);
  });

  it("do not keep a descending list going, to which one comes with each request", async () => {
    const then = Array.from({ length: 200 }, (_, at) => added(10 + at));
    const list = service([...adding(9), ...then], { replicas: [{ knows: 9, learns: 1 }], cap: 5 });
    const { ids, error } = await readList(list, descending);
    expect([ids.slice(0, 9), error]).toEqual([idsUpTo(9).reverse(), undefined]);
    expect(list.requested.length).toBeLessThan(12);
  });

  it.each([
    [0, 1, 100],
    [1, 1, 100],
    [1, 50, 100],
    [2, 3, 100],
    [3, 2, 100],
    [9, 12, 100],
    [30, 4, 5],
    [2, 5, 3],
  ])(
    "do not keep a list of %i records going, to which %i come with each request, in pages of %i",
    async (count, learns, cap) => {
      for (const size of [undefined, 3, 200]) {
        const list = service(adding(20_000), { replicas: [{ knows: count, learns }], cap });
        const { ids, error } = await readList(list, { ...descending, size });
        expect([inOrder(ids).slice(0, count), error]).toEqual([idsUpTo(count), undefined]);
        expect(list.requested.length).toBeLessThan(300);
      }
    },
  );

  it("end a descending list in an error where the first one has left, and what stands above comes from a machine that lags behind", async () => {
    const then: ListEvent[] = [{ kind: "remove", id: "r6" }, added(7), { kind: "grow", id: "r2", token: 900 }];
    const replicas = [
      { knows: 6, learns: 3 },
      { knows: 8, learns: 0 },
    ];
    const schedule = [0, 0, 0, ...Array.from({ length: 30 }, () => 1)];
    const { ids, error } = await readList(service([...adding(6), ...then], { replicas, schedule }), descending);
    // The second record has moved above the first one, and only the other machine knows.
    expect([ids, error]).toEqual([["r6", "r5", "r4", "r3", "r1"], unproved]);
  });

  it("come last where they were created after all that were read, and their tokens grew before they were", async () => {
    const moves = [0, 1, 2, 36].map((number, at): ListEvent => ({ kind: "grow", id: `r${number}`, token: 1000 + at }));
    const replicas = [{ knows: 36, learns: 3 }];
    const list = service([...adding(36), ...moves], { replicas, cap: 2, emptyAt: new Set([1]) });
    const { ids, error } = await readList(list, descending);
    expect([new Set(ids), error]).toEqual([new Set(idsUpTo(36)), undefined]);
  });
});

describe("a page size", () => {
  it("of one record asks for two where one proves nothing", async () => {
    const list = service(adding(3));
    expect(await readList(list, { size: 1 })).toEqual({ ids: idsUpTo(3), error: undefined });
    expect(list.requested.at(-1)).toMatchObject({ _after: "20", _size: 2 });
    const lying = service(adding(3), { emptyAt: new Set([3]) });
    expect(await readList(lying, { size: 1 })).toEqual({ ids: idsUpTo(3), error: undefined });
  });

  it.each([2, 3, 7, 1_000])("above the service's maximum is no sign of the end: %i", async (size) => {
    for (const sort of [undefined, "pagingToken.desc"] as const) {
      const { ids, error } = await readList(service(adding(8), { cap: 2 }), { size, sort });
      expect([[...ids].sort(), error]).toEqual([idsUpTo(8), undefined]);
    }
  });
});

describe("a service that is not exact", () => {
  it.each([undefined, "pagingToken.desc"] as const)(
    "includes bounds: every record, or an error, sorted by %s",
    async (sort) => {
      for (const count of [1, 2, 3, 5, 6]) {
        for (const size of [1, 2, 100]) {
          const { ids, error } = await readList(service(adding(count), { inclusive: true }), { size, sort });
          expect(new Set(ids).size).toBe(ids.length);
          if (error === undefined) expect([...ids].sort()).toEqual(idsUpTo(count));
        }
      }
    },
  );

  it("gives two records one token: an error where that shows", async () => {
    const tied = (count: number): ListEvent[] =>
      Array.from({ length: count }, (_, index) => ({ kind: "add", id: `r${index + 1}`, token: index + 1 }));
    // The last record of the last page, and one behind it.
    const { error } = await readList(service(tied(3), { equalTokens: true, cap: 2 }));
    expect(error).toMatchObject({ code: "paging" });
  });

  it("ignores the cursor: an error, although the last record comes again", async () => {
    const ignoring = service(adding(2), { cap: 2 });
    const { call } = ignoring.client;
    const client = {
      ...ignoring.client,
      call: ((...[row, ids, input, options]: Parameters<typeof call>) => {
        const { _after, ...paging } = input?.paging ?? {};
        return call(row, ids, { ...input, paging }, options);
      }) as typeof call,
    };
    const { error } = await readList({ ...ignoring, client } as unknown as ReplicatedService, { size: 5 });
    expect(error).toMatchObject({ code: "paging" });
  });
});
