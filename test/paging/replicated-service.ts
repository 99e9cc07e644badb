import type { ApiClient, CallInput, PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/api-promise.js";
import { fakeApiClient } from "./fake-api-client.js";

/** What happens to a list, in order. A record that grows gets a token above all others; one that is late gets one among older ones. */
export type ListEvent =
  | { readonly kind: "add"; readonly id: string; readonly token: number; readonly name?: string }
  | { readonly kind: "grow"; readonly id: string; readonly token: number }
  | { readonly kind: "remove" | "rename"; readonly id: string };

export interface Replica {
  /** How many events it knows when the first request comes. */
  readonly knows: number;
  /** How many more it knows with each further request. */
  readonly learns: number;
}

export interface ReplicatedTraits {
  readonly events: readonly ListEvent[];
  readonly replicas: readonly Replica[];
  /** Which replica responds to which request, again and again. */
  readonly schedule: readonly number[];
  /** The service's own maximum of `_size`, and its default. */
  readonly cap: number;
  /** In place of `cap`, where it differs from request to request. */
  readonly caps?: readonly number[];
  /** The numbers of requests, from 1 on, whose response is an empty page, whatever is asked for. */
  readonly emptyAt?: ReadonlySet<number>;
  /** A cache before the service that heeds no header: for how many requests it gives the same response to the same request. */
  readonly cacheFor?: number;
  /** Whether records of one creation time have one token: two each. */
  readonly equalTokens?: boolean;
  /** Whether `_after` and `_before` include the record that they name. */
  readonly inclusive?: boolean;
}

interface Listed {
  readonly id: string;
  readonly token: number;
  readonly name: string;
  /** The number of the event that added it. */
  readonly added: number;
}

const epochMs = Date.parse("2026-01-01T00:00:00.000Z");

/** A list behind a load balancer: each replica knows the events up to its own moment. */
export class ReplicatedService {
  readonly client: ApiClient = fakeApiClient({ call: (_, __, input) => this.#call(input ?? {}) });
  readonly requested: PagingValues[] = [];
  readonly #traits: ReplicatedTraits;
  readonly #cache = new Map<
    string,
    { readonly rows: readonly object[]; readonly known: number; readonly at: number }
  >();
  /** How many events each response knew. */
  readonly known: number[] = [];

  constructor(traits: ReplicatedTraits) {
    this.#traits = traits;
  }

  /** The records after the first `count` events. */
  stateAt(count: number): ReadonlyMap<string, Listed> {
    const state = new Map<string, Listed>();
    for (const [added, event] of this.#traits.events.slice(0, count).entries()) {
      const had = state.get(event.id);
      if (event.kind === "add") state.set(event.id, { name: "kept", ...event, added });
      else if (event.kind === "remove") state.delete(event.id);
      else if (had !== undefined && event.kind === "grow") state.set(event.id, { ...had, token: event.token });
      else if (had !== undefined && event.kind === "rename") state.set(event.id, { ...had, name: "renamed" });
    }
    return state;
  }

  /** Records of every state from one event to another, by this filter, whose tokens are below a bound. */
  staying(from: number, to: number, filter: object = {}, before = Number.POSITIVE_INFINITY): ReadonlySet<string> {
    const ids = new Set(matching(this.stateAt(from), filter, before));
    for (let count = from + 1; count <= to; count++) {
      const present = new Set(matching(this.stateAt(count), filter, before));
      for (const id of ids) if (!present.has(id)) ids.delete(id);
    }
    return ids;
  }

  /** Ids that were ever listed up to an event. */
  everUpTo(count: number): ReadonlySet<string> {
    return new Set(this.#traits.events.slice(0, count).map(({ id }) => id));
  }

  #knownTo(request: number): number {
    const { replicas, schedule, events } = this.#traits;
    const replica = replicas[schedule[(request - 1) % schedule.length] ?? 0] ?? { knows: events.length, learns: 0 };
    return Math.min(events.length, replica.knows + replica.learns * (request - 1));
  }

  #call<Output>({ paging = {}, query = {} }: CallInput<unknown>): ApiPromise<Output> {
    const request = this.requested.push(paging);
    const key = JSON.stringify([paging, query]);
    const cached = this.#cache.get(key);
    const isFresh =
      !this.#traits.emptyAt?.has(request) && cached !== undefined && request - cached.at < (this.#traits.cacheFor ?? 0);
    const known = isFresh ? cached.known : this.#knownTo(request);
    const rows = isFresh ? cached.rows : this.#rows(paging, query, known, request);
    // What responds with an empty page in the service's place stands before the cache.
    if (!isFresh && !this.#traits.emptyAt?.has(request)) this.#cache.set(key, { rows, known, at: request });
    this.known.push(known);
    return toApiPromise(Promise.resolve(rows as Output), { response: { status: 200, headers: {} } });
  }

  #rows({ _after, _before, _size, _sort }: PagingValues, filter: object, known: number, request: number): object[] {
    const { caps = [], emptyAt, inclusive = false } = this.#traits;
    if (emptyAt?.has(request)) return [];
    const cap = caps[(request - 1) % caps.length] ?? this.#traits.cap;
    const field = _sort?.startsWith("createdAt") ? "added" : "token";
    const descending = _sort?.split(",")[0]?.endsWith(".desc") ?? false;
    const isWithin = (token: number) =>
      (_after === undefined || token > Number(_after) || (inclusive && token === Number(_after))) &&
      (_before === undefined || token < Number(_before) || (inclusive && token === Number(_before)));
    const state = this.stateAt(known);
    const fitting = new Set(matching(state, filter));
    return [...state.values()]
      .filter(({ id }) => fitting.has(id))
      .filter((record) => isWithin(this.#token(record)))
      .sort((one, other) => (one[field] - other[field]) * (descending ? -1 : 1))
      .slice(0, Math.min(_size ?? cap, cap))
      .map((record) => this.#shown(record));
  }

  #token({ token }: Listed): number {
    return this.#traits.equalTokens ? Math.floor(token / 2) * 2 : token;
  }

  #shown(record: Listed): object {
    const createdAt = new Date(epochMs + record.added * 1_000).toISOString();
    return { id: record.id, name: record.name, createdAt, pagingToken: String(this.#token(record)) };
  }
}

function matching(state: ReadonlyMap<string, Listed>, filter: object, before = Number.POSITIVE_INFINITY): string[] {
  const wanted = Object.entries(filter);
  return [...state.values()]
    .filter(({ token }) => token < before)
    .filter((record) => wanted.every(([field, value]) => Reflect.get(record, field) === value))
    .map(({ id }) => id);
}

/** Events that add records with the tokens 10, 20, …: there is room between two of them. */
export function adding(count: number, from = 1): ListEvent[] {
  return Array.from({ length: count }, (_, index) => added(from + index));
}

export function added(number: number): ListEvent {
  return { kind: "add", id: `r${number}`, token: number * 10 };
}
