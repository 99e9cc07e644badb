import fc from "fast-check";
import type { ListQuery } from "../../src/api/list-query.js";
import { resource } from "../../src/api/resource.js";
import { PagingError } from "../../src/errors/errors.js";
import { Listing } from "../../src/paging/listing.js";
import { adding, type ListEvent, ReplicatedService, type ReplicatedTraits } from "./replicated-service.js";

interface Shown {
  readonly id: string;
  readonly createdAt: string;
  readonly name: string;
  readonly pagingToken: string;
}

export const records = resource<Shown>()("records", "/records", {
  fields: { id: "text", createdAt: "timestamp", name: "text", pagingToken: "text" },
  list: true,
});

export type Query = ListQuery<Shown, { readonly name?: string }>;

/** How a list was read to its end, or to its error. */
export interface Reading {
  readonly ids: readonly string[];
  readonly error: PagingError | undefined;
}

/** Other errors are thrown. */
export async function readList(service: ReplicatedService, query: Query = {}): Promise<Reading> {
  const ids: string[] = [];
  try {
    for await (const { id } of new Listing(service.client, records.list, [], query, undefined)) ids.push(id);
    return { ids, error: undefined };
  } catch (error) {
    if (!(error instanceof PagingError)) throw error;
    return { ids, error };
  }
}

/** One list as it may be met: its service, and what is asked of it. */
export interface ListWorld {
  readonly traits: ReplicatedTraits;
  readonly query: Query;
  /** Whether records only come, each behind all others: then every replica knows a beginning of the list. */
  readonly onlyGrows: boolean;
}

const query = fc.record(
  {
    size: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
    sort: fc.constantFrom<Query["sort"]>(undefined, "pagingToken.asc", "pagingToken.desc"),
    prefetch: fc.boolean(),
  },
  { requiredKeys: ["size", "sort"] },
);

const cap = fc.integer({ min: 2, max: 10 });
const emptyAt = fc
  .option(fc.integer({ min: 1, max: 12 }), { nil: undefined, freq: 2 })
  .map((request) => new Set(request === undefined ? [] : [request]));

/** Replicas that lag behind by a constant or a changing number of records, with a cache before them or without one. */
const lagging = fc
  .record({
    count: fc.integer({ min: 0, max: 40 }),
    lags: fc.array(fc.record({ behind: fc.integer({ min: 0, max: 25 }), learns: fc.integer({ min: 0, max: 2 }) }), {
      minLength: 1,
      maxLength: 3,
    }),
    schedule: fc.array(fc.nat(2), { minLength: 1, maxLength: 7 }),
    cacheFor: fc.constantFrom(0, 0, 4),
    cap,
    emptyAt,
    query,
  })
  .map(({ count, lags, schedule, cacheFor, query, ...rest }): ListWorld => {
    const replicas = lags.map(({ behind, learns }) => ({ knows: Math.max(0, count - behind), learns }));
    const traits = { events: adding(count + 10), replicas, schedule: schedule.map((at) => at % lags.length), cacheFor };
    return { traits: { ...traits, ...rest }, query, onlyGrows: true };
  });

/** One machine, whose records move, leave and come late while they are read. */
const changing = fc
  .record({
    count: fc.integer({ min: 0, max: 40 }),
    changes: fc.array(
      fc.record({ kind: fc.constantFrom("grow", "grow", "remove", "rename", "add", "late"), at: fc.nat(39) }),
      { maxLength: 12 },
    ),
    learns: fc.integer({ min: 1, max: 3 }),
    cap,
    emptyAt,
    query,
    isFiltered: fc.boolean(),
  })
  .map(({ count, changes, learns, cap, emptyAt, query, isFiltered }): ListWorld => {
    const events = adding(count);
    for (const [number, { kind, at }] of changes.entries()) events.push(eventOf(kind, at, 1_000 + number));
    const traits = { events, replicas: [{ knows: count, learns }], schedule: [0], cap, emptyAt };
    return { traits, query: { ...query, ...(isFiltered && { filter: { name: "kept" } }) }, onlyGrows: false };
  });

function eventOf(kind: string, at: number, number: number): ListEvent {
  if (kind === "add") return { kind: "add", id: `n${number}`, token: number };
  if (kind === "late") return { kind: "add", id: `n${number}`, token: at * 10 + 5 };
  if (kind === "grow") return { kind: "grow", id: `r${at}`, token: number };
  return { kind: kind === "rename" ? "rename" : "remove", id: `r${at}` };
}

export const listWorld: fc.Arbitrary<ListWorld> = fc.oneof(lagging, changing);

/** A descending list of one machine, to which several records come with each request, and whose pages may differ in length. */
export const busyWorld: fc.Arbitrary<ListWorld> = fc
  .record({
    count: fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 40 })),
    moves: fc.array(fc.option(fc.nat(39), { nil: undefined }), { maxLength: 40 }),
    learns: fc.integer({ min: 1, max: 8 }),
    caps: fc.oneof(
      fc.array(fc.integer({ min: 2, max: 10 }), { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 2, max: 30 }).map((cap) => [cap]),
    ),
    emptyAt: fc.constantFrom([], [], [1], [2]),
    size: query.map(({ size }) => size),
    sort: fc.constantFrom<Query["sort"]>("pagingToken.desc", "createdAt.desc", ["createdAt.desc", "pagingToken.desc"]),
    before: fc.option(fc.integer({ min: 1, max: 41 }), { nil: undefined, freq: 2 }),
  })
  .map(({ count, moves, learns, caps, emptyAt, size, sort, before }): ListWorld => {
    const events = adding(count);
    for (const [number, at] of moves.entries()) {
      const isMove = at !== undefined && sort === "pagingToken.desc";
      events.push(eventOf(isMove ? "grow" : "add", at ?? 0, 1_000 + number));
    }
    // A page that is empty once, where the next has two records of three, looks like the end: only one of the two is met.
    const isEven = caps.length === 1;
    const traits = { events, replicas: [{ knows: count, learns }], schedule: [0], cap: 2, caps };
    const bound = before === undefined ? {} : { before: `${before * 10 + 5}` };
    return {
      traits: { ...traits, emptyAt: new Set(isEven ? emptyAt : []) },
      query: { size, sort, ...bound },
      onlyGrows: false,
    };
  });

/**
 * Whether a list that ended without an error lacks records. What stays listed all the time has to have come. Where records only come, the
 * list is whole as some machine knew it that knew all that was handed out.
 */
export function isCut(service: ReplicatedService, { onlyGrows, query }: ListWorld, ids: readonly string[]): boolean {
  const { known } = service;
  const before = Number(query.before ?? Number.POSITIVE_INFINITY);
  const handed = new Set(ids);
  const isWholeAt = (from: number, to: number) => {
    const ever = service.everUpTo(to);
    return (
      [...service.staying(from, to, query.filter, before)].every((id) => handed.has(id)) &&
      ids.every((id) => ever.has(id))
    );
  };
  if (!onlyGrows) return !isWholeAt(known[0] ?? 0, known.at(-1) ?? 0);
  return !known.some((count) => isWholeAt(count, count));
}

/** Reads a list in its world, and says how that ended. */
export async function meet(world: ListWorld): Promise<"whole" | "cut" | "error" | "repeated"> {
  const service = new ReplicatedService(world.traits);
  const { ids, error } = await readList(service, world.query);
  // A record whose token grew can come again in an ascending list: docs/lists.md says so.
  const hasGrown = world.traits.events.some(({ kind }) => kind === "grow");
  if (new Set(ids).size < ids.length && !hasGrown) return "repeated";
  if (error !== undefined) return "error";
  return isCut(service, world, ids) ? "cut" : "whole";
}
