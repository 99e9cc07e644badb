import type { Operation, TypedOperation } from "../api/operation.js";
import type { Collection, Row } from "./collection.js";
import type { HandlersOf } from "./handler.js";
import { assertQuery, pageOf } from "./list-page.js";
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

/** The rows of a resource with all four verbs. */
interface ResourceRows<T, Body> {
  readonly create: TypedOperation<string, readonly string[], Body, T>;
  readonly list: TypedOperation<string, readonly string[], never, T[]>;
  readonly get: TypedOperation<string, readonly string[], never, T>;
  readonly update: TypedOperation<string, readonly string[], Body, void>;
}

type RowsOf<Rows> = Extract<Rows[keyof Rows], { readonly name: string }>;

/** Handlers of records whose path starts with themselves. */
export function topResource<
  T extends { readonly id: string },
  Body extends Partial<T>,
  Rows extends ResourceRows<T, Body>,
>(service: Service, rows: Rows & ResourceRows<T, Body>, resource: Resource<T, Body>): HandlersOf<RowsOf<Rows>> {
  return resourceHandlers(service, rows, resource, ({ params: [id = ""] }) => ({ owner: "", id }));
}

/** Handlers of records that are kept under a liquidity provider. */
export function providerResource<
  T extends { readonly id: string },
  Body extends Partial<T>,
  Rows extends ResourceRows<T, Body>,
>(service: Service, rows: Rows & ResourceRows<T, Body>, resource: Resource<T, Body>): HandlersOf<RowsOf<Rows>> {
  return resourceHandlers(service, rows, resource, ({ params: [owner = "", id = ""] }) => {
    if (service.ledger.liquidityProviders.find(owner) === undefined) throw notFound("liquidity provider");
    return { owner, id };
  });
}

/** One page of a list. Stored payments carry `pagingToken`; other records get it where all lists are to have it. */
export function listPage<T extends object>(
  { settings }: Service,
  operation: Operation,
  query: URLSearchParams,
  rows: readonly Row<T>[],
): T[] {
  const page = pageOf(rows, operation, query, settings);
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

function resourceHandlers<
  T extends { readonly id: string },
  Body extends Partial<T>,
  Rows extends ResourceRows<T, Body>,
>(
  service: Service,
  rows: ResourceRows<T, Body>,
  resource: Resource<T, Body>,
  addressOf: (call: Call<unknown>) => Address,
): HandlersOf<RowsOf<Rows>> {
  const { collection, blank } = resource;
  const settled = (record: T, owner: string) => resource.settle?.(record, owner) ?? record;
  const rowAt = ({ id, owner }: Address) => {
    const row = collection.find(id, owner);
    if (row === undefined) throw notFound("record");
    return row;
  };
  const create = (call: Call<Body>): T => {
    const { owner } = addressOf(call);
    const record = { ...blank, ...call.body, id: service.newId() };
    return collection.add(settled(resource.create?.(record, call) ?? record, owner), owner).record;
  };
  const list = (call: Call<unknown>): T[] => {
    const { owner } = addressOf(call);
    const own = collection.rows().filter((row) => row.owner === owner);
    return listPage(service, rows.list, call.query, own);
  };
  const get = (call: Call<unknown>): T => {
    assertQuery(call.query, rows.get);
    return rowAt(addressOf(call)).record;
  };
  const update = (call: Call<Body>): void => {
    const address = addressOf(call);
    const row = rowAt(address);
    row.record = settled({ ...row.record, ...call.body }, address.owner);
  };
  const handlers = {
    [rows.create.name]: create,
    [rows.list.name]: list,
    [rows.get.name]: get,
    [rows.update.name]: update,
  };
  // Each is of the type of the row that it stands under.
  return handlers as HandlersOf<RowsOf<Rows>>;
}
