import fc from "fast-check";
import { expect, it } from "vitest";
import type { ListQuery } from "../../src/api/list-query.js";
import { resource } from "../../src/api/resource.js";
import { PagingError } from "../../src/errors/errors.js";
import { Listing } from "../../src/paging/listing.js";
import { runs } from "../support/thorough.js";
import { Service, type ServiceTraits, type Stored, scattered, storedAt, storedUpTo } from "./service.js";
import { withoutWaiting } from "./without-waiting.js";

withoutWaiting();

interface Shown extends Omit<Stored, "place"> {
  readonly pagingToken?: string;
}

const records = resource<Shown>()("records", "/records", {
  fields: { id: "text", createdAt: "timestamp", name: "text", pagingToken: "text" },
  list: true,
});

type Query = ListQuery<Shown, object>;

/** The ids as they came, and whether the list ended in a `PagingError`. */
async function read(service: Service, query: Query): Promise<{ readonly ids: string[]; readonly isWhole: boolean }> {
  const ids: string[] = [];
  try {
    for await (const { id } of new Listing(service.client, records.list, [], query, undefined)) ids.push(id);
    return { ids, isWhole: true };
  } catch (error) {
    if (!(error instanceof PagingError)) throw error;
    return { ids, isWhole: false };
  }
}

const size = fc.option(fc.integer({ min: 1, max: 8 }), { nil: undefined });
const sort = fc.constantFrom<Query["sort"]>(
  undefined,
  undefined,
  "id.asc",
  "id.desc",
  "name.asc",
  "createdAt.asc",
  "createdAt.desc",
  "pagingToken.asc",
  "pagingToken.desc",
  ["createdAt.desc", "pagingToken.desc"],
  ["createdAt.asc", "id.asc"],
);
const world = fc.record({
  count: fc.integer({ min: 0, max: 9 }),
  traits: fc.record(
    {
      maxSize: fc.integer({ min: 1, max: 6 }),
      tokens: fc.constantFrom<ServiceTraits["tokens"]>("none", "numbers", "texts", "falling", "random", "mixed"),
      sorting: fc.constantFrom<ServiceTraits["sorting"]>("list", "page", "none"),
      ignores: fc.constantFrom<ServiceTraits["ignores"] & string>("_after", "_before", "_size", "filter"),
    },
    { requiredKeys: ["maxSize", "tokens", "sorting"] },
  ),
  query: fc.record(
    { size, sort, prefetch: fc.boolean(), filter: fc.constantFrom({ name: "n5" }, { name: "n0" }) },
    { requiredKeys: [] },
  ),
  isIdInOrder: fc.boolean(),
  changes: fc.array(
    fc.record({
      before: fc.integer({ min: 1, max: 6 }),
      kind: fc.constantFrom("remove", "append", "insert"),
      at: fc.nat(8),
    }),
    { maxLength: 3 },
  ),
});
type World = typeof world extends fc.Arbitrary<infer Made> ? Made : never;

function open({ count, traits, isIdInOrder, changes }: World) {
  const stored = storedUpTo(count, isIdInOrder ? (place) => `id-${place}` : scattered);
  const removed = new Set<string>();
  let next = 50;
  const change = (rows: Stored[], request: number) => {
    for (const { before, kind, at } of changes) {
      if (before !== request) continue;
      if (kind === "remove") for (const { id } of rows.splice(at, 1)) removed.add(id);
      else rows.push(storedAt(next, `${kind === "append" ? "z" : ""}${next++}`));
    }
  };
  return { service: new Service(stored, { ...traits, change }), stored, removed };
}

/**
 * What no reading can tell: see docs/decisions/0024. A service that shows one record at a time and ignores `_sort` looks like one with a
 * single record; and that the tokens follow the order in which a list comes by itself is believed when a page shows it.
 */
function isUndecidable({ traits, query, changes }: World): boolean {
  const { maxSize, tokens, sorting, ignores } = traits;
  // One fault at a time: each is found out by what the service does right. Without tokens, sizes that are ignored show by themselves.
  const isChanged = changes.some(({ kind }) => kind === "remove");
  const isFaulty = ignores !== undefined && (ignores !== "_size" || tokens !== "none");
  if (sorting !== "list" && (isFaulty || isChanged)) return true;
  const isAlone = maxSize === 1 && sorting !== "list";
  const follow = tokens === "numbers" || tokens === "texts";
  return !follow && (isAlone || tokens === "random" || tokens === "mixed" || query.size === undefined);
}

it("gives every record once, or a PagingError, whatever the service does", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      fc.pre(!isUndecidable(made));
      const { service, stored, removed } = open(made);
      const { ids, isWhole } = await read(service, made.query);
      expect(new Set(ids).size).toBe(ids.length);
      if (!isWhole) return;
      const name = made.query.filter?.name;
      const wanted = stored.filter((record) => name === undefined || record.name === name);
      expect(ids).toEqual(expect.arrayContaining(wanted.map(({ id }) => id).filter((id) => !removed.has(id))));
    }),
    { numRuns: runs(2000) },
  );
});

it("gives every list that fits one page, without tokens and in any order", async () => {
  await fc.assert(
    fc.asyncProperty(world, fc.integer({ min: 0, max: 6 }), async (made, count) => {
      const traits = { maxSize: 6, tokens: "none", sorting: "list" } as const;
      const { service } = open({ ...made, count, traits, changes: [] });
      const { ids, isWhole } = await read(service, { ...made.query, size: undefined, filter: undefined });
      expect([ids.length, isWhole]).toEqual([count, true]);
      // The page, one from either end, and sometimes one that decides about a service that sorts only what it cuts out.
      expect(service.requested.length).toBeLessThanOrEqual(4);
    }),
    { numRuns: runs(500) },
  );
});

it("gives every list of any length by its tokens, in an order that they follow", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (made) => {
      const traits = { ...made.traits, tokens: "numbers", sorting: "list", ignores: undefined } as const;
      const sorts = [undefined, "createdAt.asc", "createdAt.desc", "pagingToken.asc", "pagingToken.desc"] as const;
      for (const sort of sorts) {
        const { service, stored } = open({ ...made, traits, changes: [] } as unknown as World);
        const { ids, isWhole } = await read(service, { ...made.query, filter: undefined, sort });
        const expected = stored.map(({ id }) => id);
        expect([ids, isWhole]).toEqual([sort?.endsWith(".desc") ? expected.reverse() : expected, true]);
      }
    }),
    { numRuns: runs(300) },
  );
});
