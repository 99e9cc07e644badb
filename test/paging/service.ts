import type { ApiClient, CallInput, PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import { fakeApiClient } from "./fake-api-client.js";

/** A record as the service stores it, whether it shows its token or not. */
export interface Stored {
  readonly id: string;
  readonly createdAt: string;
  readonly name: string;
  /** Its place in the list, which its token stands for. */
  readonly place: number;
}

export interface ServiceTraits {
  /** The service's maximum of `_size`, which is its default too. */
  readonly maxSize: number;
  readonly tokens: "none" | "numbers" | "texts" | "falling" | "random" | "mixed";
  /** What becomes of `_sort`: it sorts the list, or what was cut out of it, or nothing. */
  readonly sorting: "list" | "page" | "none";
  readonly ignores?: "_after" | "_before" | "_size" | "filter";
  /** Changes the list before the request with this number, which starts at 1. */
  readonly change?: (records: Stored[], request: number) => void;
}

/** An API client in front of a list that is stored in `records`, in the order in which it is listed by default. */
export class Service {
  readonly client: ApiClient = fakeApiClient({ call: (_, __, input) => this.#call(input ?? {}) });
  readonly requested: PagingValues[] = [];
  readonly records: Stored[];
  readonly #traits: ServiceTraits;
  readonly #places = new Map<string, number>();

  constructor(records: readonly Stored[], traits: ServiceTraits) {
    this.records = [...records];
    this.#traits = traits;
  }

  #call<Output>({ paging = {}, query }: CallInput<unknown>): ApiPromise<Output> {
    this.requested.push(paging);
    this.#traits.change?.(this.records, this.requested.length);
    const rows: unknown = this.#select(paging, query).map((record) => this.#shown(record));
    return toApiPromise(Promise.resolve(rows as Output), { response: { status: 200, headers: {} } });
  }

  #select({ _after, _before, _size, _sort }: PagingValues, filter: object | undefined): Stored[] {
    const { maxSize, sorting, ignores } = this.#traits;
    const fits = (record: Stored) =>
      ignores === "filter" ||
      Object.entries(filter ?? {}).every(([field, value]) => Reflect.get(record, field) === value);
    // A token stays what it was when its record is gone.
    for (const record of this.records) this.#places.set(this.#token(record), record.place);
    const placeOf = (token: string) => this.#places.get(token) ?? Number.NaN;
    const within = this.records
      .filter(({ place }) => _after === undefined || ignores === "_after" || place > placeOf(_after))
      .filter(({ place }) => _before === undefined || ignores === "_before" || place < placeOf(_before))
      .filter(fits);
    const sorted = sorting === "list" ? within.sort(byTerms(_sort)) : within;
    const page = sorted.slice(0, Math.min(ignores === "_size" ? maxSize : (_size ?? maxSize), maxSize));
    return sorting === "page" ? page.sort(byTerms(_sort)) : page;
  }

  #shown(record: Stored): object {
    const { id, createdAt, name } = record;
    return { id, createdAt, name, ...(this.#traits.tokens !== "none" && { pagingToken: this.#token(record) }) };
  }

  #token({ id, place }: Stored): string {
    switch (this.#traits.tokens) {
      case "numbers":
        return String(place + 8);
      case "falling":
        return String(10_000 - place);
      case "random":
        return `${id}-${(place * 7919) % 101}`;
      case "mixed":
        return place % 3 === 1 ? `1a${place}` : String(place + 8);
      default:
        return `t${String(place).padStart(6, "0")}`;
    }
  }
}

/** Ties, and lists without an order, are in the order of the places: that of the first term where there is one. */
function byTerms(sort: string | undefined): (one: Stored, other: Stored) => number {
  const terms = (sort ?? "place.asc").split(",").map((term) => term.split("."));
  const tie = ["place", terms[0]?.[1] ?? "asc"];
  return (one, other) => {
    for (const [field = "", order] of [...terms, tie]) {
      const name = field === "pagingToken" ? "place" : field;
      const [a, b] = [Reflect.get(one, name) as string, Reflect.get(other, name) as string];
      if (a !== b) return (a < b ? -1 : 1) * (order === "desc" ? -1 : 1);
    }
    return 0;
  };
}

/** Records in the order of their places, with ids that are in none, and two for each second. */
export function storedUpTo(count: number, idOf: (place: number) => string = scattered): Stored[] {
  return Array.from({ length: count }, (_, place) => storedAt(place, idOf(place)));
}

export function storedAt(place: number, id: string): Stored {
  const createdAt = `2026-01-01T00:00:${String(Math.floor(place / 2)).padStart(2, "0")}.000Z`;
  return { id, createdAt, name: `n${(place * 5) % 7}`, place };
}

export function scattered(place: number): string {
  return `id-${String((place * 7919 + 13) % 10_007).padStart(5, "0")}`;
}
