import { describe, expect, it } from "vitest";
import type { PagingValues } from "../../src/api/api-client.js";
import type { ListQuery } from "../../src/api/list-query.js";
import { resource } from "../../src/api/resource.js";
import { BadRequestError, PagingError } from "../../src/errors/errors.js";
import { Listing } from "../../src/paging/listing.js";
import { ListService, type ListServiceOptions, type Row } from "./list-service.js";

const resources = resource<Row>()("rows", "/rows", {
  fields: { id: "text", pagingToken: "text", createdAt: "timestamp", name: "text" },
  list: true,
});

type Query = ListQuery<Row, { readonly name?: string }>;

/** Seven records whose paging token is their id, whether they show it or not; two of them have the name `n0`. */
const records = Array.from({ length: 7 }, (_, index): Row => ({ id: `${index + 1}`, name: `n${(index * 2) % 5}` }));
const withTokens = records.map((row): Row => ({ ...row, pagingToken: row.id ?? "" }));
const cursor = (row: Row) => row.id ?? "";

function read(options: ListServiceOptions, query: Query): Promise<Row[]> {
  const tokenOf = (row: Row) => row.id ?? "";
  const service = new ListService({ tokenOf, ...options });
  return new Listing(service.client, resources.list, [], query, undefined).toArray({ max: 100 });
}

const isNamed = (name: string | undefined) => (row: Row) => name === undefined || row.name === name;
const refuse = () => {
  throw new BadRequestError("no", { code: "http_400", response: { status: 400, headers: {}, text: "" } });
};
const isById = ({ _sort }: PagingValues) => _sort?.startsWith("id.") === true;

/** A service that reads `rows` as they lie, and lists them by id only where `sort` says so. */
function unsorted(rows: readonly Row[], sort: (paging: PagingValues) => boolean = () => false) {
  return (paging: PagingValues): readonly Row[] => {
    const { _after, _before, _size = 3, _sort } = paging;
    const within = rows
      .filter(({ id }) => _after === undefined || Number(id) > Number(_after))
      .filter(({ id }) => _before === undefined || Number(id) < Number(_before));
    if (sort(paging)) within.sort((one, other) => Number(one.id) - Number(other.id));
    if (sort(paging) && _sort?.endsWith(".desc")) within.reverse();
    return within.slice(0, Math.min(_size, 3));
  };
}

/** A service that sorts the list, and cuts out `length` records whatever size is asked for. */
function ofAnySize(rows: readonly Row[], length: number) {
  return ({ _after, _sort }: PagingValues): readonly Row[] => {
    const within = rows.filter(({ id }) => _after === undefined || Number(id) > Number(_after));
    return (_sort?.endsWith(".desc") ? within.toReversed() : within).slice(0, length);
  };
}

interface Case {
  readonly title: string;
  readonly service: (name?: string) => ListServiceOptions;
  readonly query: Query;
  readonly message: RegExp;
  /** What the message advises, and what is read then: every record of a name, where it is narrowed. */
  readonly advice: Readonly<Record<string, Query>>;
}

const cases: readonly Case[] = [
  {
    title: "a list without tokens that is longer than a page",
    service: (name) => ({ rows: records.filter(isNamed(name)), cap: 3 }),
    query: { size: 1_000 },
    message: /no pagingToken.*narrow it with filter until it fits one page, or give the query a cursor function/,
    advice: { filter: { filter: { name: "n0" } }, cursor: { cursor } },
  },
  {
    title: "a sorted list without tokens that is longer than a page",
    service: (name) => ({ rows: records.filter(isNamed(name)), cap: 3 }),
    query: { size: 1_000, sort: "name.asc" },
    message: /narrow it with filter until it fits one page, or leave sort out and give the query a cursor function/,
    advice: { filter: { sort: "name.asc", filter: { name: "n0" } }, cursor: { cursor } },
  },
  {
    title: "a list without tokens of a service that does not sort",
    service: (name) => ({ rows: [], response: unsorted(records.filter(isNamed(name))) }),
    query: {},
    message: /does not sort by id.*narrow it with filter to one record, or give the query a cursor function/,
    advice: { filter: { filter: { name: "n3" } }, cursor: { cursor } },
  },
  {
    title: "a list without tokens of a service that ignores the size",
    service: (name) => ({ rows: [], response: ofAnySize(records.filter(isNamed(name)), 3) }),
    query: {},
    message: /gives more records than size asks for.*narrow it with filter to one record, or give the query a cursor/,
    advice: { filter: { filter: { name: "n3" } }, cursor: { cursor } },
  },
  {
    title: "a list without tokens of a service that refuses to sort",
    service: () => ({ rows: [], response: (paging) => (isById(paging) ? refuse() : unsorted(records)(paging)) }),
    query: {},
    message: /refuses to sort by id.*read a record with get, or give the query a cursor function/,
    advice: { cursor: { cursor } },
  },
  {
    title: "a list in an order that tokens do not follow",
    service: (name) => ({ rows: withTokens.filter(isNamed(name)), cap: 3 }),
    query: { sort: "name.asc" },
    message: /lose or repeat records.*leave sort out, sort by pagingToken, or narrow the list with filter/,
    advice: {
      "no sort": {},
      "pagingToken.asc": { sort: "pagingToken.asc" },
      "pagingToken.desc": { sort: "pagingToken.desc" },
      filter: { sort: "name.asc", filter: { name: "n0" } },
    },
  },
  {
    title: "a list that comes newest first",
    service: (name) => {
      const rows = withTokens.filter(isNamed(name)).reverse();
      return { rows, response: unsorted(rows, ({ _sort }) => _sort !== undefined) };
    },
    query: {},
    message: /do not strictly rise[^;]*; sort by pagingToken, or narrow the list with filter/,
    advice: { "pagingToken.desc": { sort: "pagingToken.desc" }, filter: { filter: { name: "n0" } } },
  },
];

describe.each(cases)("what a PagingError advises for $title", ({ service, query, message, advice }) => {
  it("is in its message", async () => {
    const error = await read(service(), query).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PagingError);
    expect(error).toHaveProperty("message", expect.stringMatching(message));
    expect(error).not.toHaveProperty("message", expect.stringMatching(/a (?:larger )?size/));
  });

  it.each(Object.entries(advice))("gives every record: %s", async (_, followed) => {
    const name = followed.filter?.name;
    const ids = (await read(service(name), followed)).map(({ id }) => id);
    const expected = records.filter(isNamed(name)).map(({ id }) => id);
    expect(ids.toSorted()).toEqual(expected);
  });
});

it("advises to iterate where a page has no cursor", async () => {
  const service = new ListService({ rows: records });
  const listing = new Listing(service.client, resources.list, [], undefined, undefined);
  const page = await listing;
  expect(() => page.next).toThrow(/there is no cursor to continue with: iterate the list, or give the query a cursor/);
  expect(await listing.toArray({ max: 100 })).toEqual(records);
});
