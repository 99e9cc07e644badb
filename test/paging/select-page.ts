import type { PagingValues } from "../../src/api/api-client.js";
import { ApiError } from "../../src/core/errors.js";

/** How a service makes its paging tokens of a record's place. */
export const kindsOfTokens = {
  number: (place: number) => String(1000 + place),
  "JSON number": (place: number) => 1000 + place,
  base64: (place: number) => Buffer.from(`tok${(place * 7919) % 104_729}`).toString("base64"),
  UUID: (place: number) => `${((place * 2_654_435_761) >>> 0).toString(16).padStart(8, "0")}-4abc`,
  /** Three records of a second have one token. */
  seconds: (place: number) => `2026-01-01T00:00:${String(Math.floor(place / 3)).padStart(3, "0")}`,
} as const satisfies Record<string, (place: number) => string | number>;

/** What a service throws that refuses a request. */
export function refusal(status: number): ApiError {
  const response = { status, headers: {}, text: "" };
  return ApiError.of("refused", { code: `http_${status}`, response, serviceMessage: "refused" });
}

/** How a model of a service lists its records. */
export interface PageTraits<Row> {
  /** A record's place in the order of tokens. */
  readonly placeOf: (row: Row) => number;
  /** The places that a token stands for: none for a token that the service ignores. */
  readonly placesOf: (token: string) => readonly number[];
  /** What a record is sorted by. The field is undefined if the request has no `_sort`. */
  readonly keyOf: (row: Row, field: string | undefined) => number | string;
  readonly isInclusive?: boolean | undefined;
  readonly newestFirst?: boolean | undefined;
  /** The largest `_size`. */
  readonly cap?: number | undefined;
  /** `cut`: sorts only what it cut out in the order of its records. */
  readonly sort?: "ignored" | "cut" | undefined;
}

/** The records of a page, as the service of these traits selects them. `rows` are in the order of their places. */
export function selectPage<Row>(
  rows: readonly Row[],
  { _after, _before, _size = 20, _sort }: PagingValues,
  traits: PageTraits<Row>,
): Row[] {
  const { placeOf, placesOf, keyOf, isInclusive = false, cap = Number.POSITIVE_INFINITY, sort } = traits;
  const [low, high] = [_after, _before].map((token) => (token === undefined ? [] : placesOf(token)));
  const isAfter = (place: number, bounds: readonly number[] = []) =>
    bounds.length === 0 || (isInclusive ? place >= Math.min(...bounds) : place > Math.max(...bounds));
  const isBefore = (place: number, bounds: readonly number[] = []) =>
    bounds.length === 0 || (isInclusive ? place <= Math.max(...bounds) : place < Math.min(...bounds));
  const [field, way = traits.newestFirst ? "desc" : "asc"] =
    (sort === "ignored" ? undefined : _sort)?.split(",")[0]?.split(".") ?? [];
  const compare = (one: Row, other: Row) => {
    const [left, right] = [keyOf(one, field), keyOf(other, field)];
    return (left < right ? -1 : Number(left > right)) * (way === "desc" ? -1 : 1);
  };
  const within = rows.filter((row) => isAfter(placeOf(row), low) && isBefore(placeOf(row), high));
  const size = Math.min(_size, cap);
  return sort === "cut" ? within.slice(0, size).sort(compare) : within.sort(compare).slice(0, size);
}
