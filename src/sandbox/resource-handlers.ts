import type { Endpoint } from "../api/endpoint.js";
import { assertQuery, pageOf } from "./list-page.js";
import type { Collection, Row } from "./records.js";
import { Refusal } from "./responses.js";
import type { Call, Service } from "./service.js";

/** What makes one kind of record different from the others. */
export interface Resource<T extends { readonly id: string }, Body> {
  readonly collection: Collection<T>;
  /** The record before its body is laid over it. */
  readonly blank: T;
  /** Further fields that only the creation sets. */
  create?(record: T, call: Call<Body>): T;
  /** Checks a record before it is stored or replaced, and sets what follows from its other fields. */
  settle?(record: T, owner: string): T;
}

export interface ResourceEndpoints {
  readonly list: Endpoint;
  readonly get: Endpoint;
}

/** The four verbs, as functions of requests. */
export interface ResourceHandlers<T, Body> {
  create(call: Call<Body>): T;
  list(call: Call<unknown>): T[];
  get(call: Call<unknown>): T;
  update(call: Call<Body>): void;
}

/** Create, list, get and update of records whose path starts with themselves. */
export function topResource<T extends { readonly id: string }, Body extends Partial<T>>(
  service: Service,
  rows: ResourceEndpoints,
  resource: Resource<T, Body>,
): ResourceHandlers<T, Body> {
  return resourceHandlers(service, rows, resource, ({ params: [id = ""] }) => ({ owner: "", id }));
}

/** Create, list, get and update of records that are kept under a liquidity provider. */
export function providerResource<T extends { readonly id: string }, Body extends Partial<T>>(
  service: Service,
  rows: ResourceEndpoints,
  resource: Resource<T, Body>,
): ResourceHandlers<T, Body> {
  return resourceHandlers(service, rows, resource, ({ params: [owner = "", id = ""] }) => {
    if (service.ledger.liquidityProviders.find(owner) === undefined) throw notFound("liquidity provider");
    return { owner, id };
  });
}

/** One page of a list; its records carry `pagingToken`, unless only payments are to have it. */
export function listPage<T extends object>(
  { settings }: Service,
  endpoint: Endpoint,
  query: URLSearchParams,
  rows: readonly Row<T>[],
): T[] {
  const page = pageOf(rows, endpoint, query, settings);
  if (settings.pagingTokens === "payments") return page.map(({ record }) => record);
  return page.map(({ token, record }) => ({ ...record, pagingToken: String(token) }));
}

export function notFound(what: string): Refusal {
  return new Refusal("not_found", `there is no such ${what}`);
}

interface Address {
  readonly owner: string;
  readonly id: string;
}

function resourceHandlers<T extends { readonly id: string }, Body extends Partial<T>>(
  service: Service,
  rows: ResourceEndpoints,
  resource: Resource<T, Body>,
  addressOf: (call: Call<unknown>) => Address,
): ResourceHandlers<T, Body> {
  const { collection, blank } = resource;
  const settled = (record: T, owner: string) => resource.settle?.(record, owner) ?? record;
  const rowAt = ({ id, owner }: Address) => {
    const row = collection.find(id, owner);
    if (row === undefined) throw notFound("record");
    return row;
  };
  return {
    create(call) {
      const { owner } = addressOf(call);
      const record = { ...blank, ...call.body, id: service.newId() };
      return collection.add(settled(resource.create?.(record, call) ?? record, owner), owner).record;
    },
    list(call) {
      const { owner } = addressOf(call);
      return listPage(
        service,
        rows.list,
        call.query,
        collection.rows().filter((row) => row.owner === owner),
      );
    },
    get(call) {
      assertQuery(call.query, rows.get);
      return rowAt(addressOf(call)).record;
    },
    update(call) {
      const address = addressOf(call);
      const row = rowAt(address);
      row.record = settled({ ...row.record, ...call.body }, address.owner);
    },
  };
}
