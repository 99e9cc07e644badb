import type { Operation, TypedOperation } from "../api/operation.js";
import { type CataloguedResource, catalogue } from "../resources/catalogue.js";
import type { Collection, Row } from "./collection.js";
import type { HandlersOf } from "./handler.js";
import { blankRecord, type Ledger, type StoredRecords, storedNameOf } from "./ledger.js";
import { assertQuery, pageOf, tokenText } from "./list-page.js";
import { SandboxRefusal } from "./responses.js";
import type { SandboxCall, Service } from "./service.js";

/** What makes one kind of record different from the others. */
interface RecordRules<T> {
  /** What a record has before its body is laid over it, where that is not an empty text. */
  readonly blank?: Partial<T>;
  /** Further fields that only the creation sets. */
  create?(record: T, call: SandboxCall<unknown>): T;
  /** Checks a record before it is stored or replaced, and sets what follows from its other fields. */
  settle?(record: T, owner: string): T;
}

/** By the name under which the records are stored. A resource without rules is stored and read as it is sent. */
export type Rules = { readonly [Name in keyof StoredRecords]?: RecordRules<StoredRecords[Name][number]> };

/** A resource whose records can be created, so that the sandbox has a place for them. */
type StoredResource = Extract<CataloguedResource, { readonly create: unknown }>;
type RowsOf<Resource> = Resource extends unknown ? Extract<Resource[keyof Resource], { readonly name: string }> : never;

/** Handlers of all that is stored, whatever it is kept under: they follow from the rows. */
export function recordHandlers(service: Service, rules: Rules): HandlersOf<RowsOf<StoredResource>> {
  const handlers = catalogue.flatMap((resource) => {
    if (!("create" in resource)) return [];
    const name = storedNameOf(resource.create);
    // The collection, the rules and the row are of the same record, by its name.
    return handlersOf(service, resource, service.ledger[name] as never, (rules[name] ?? {}) as RecordRules<AnyRecord>);
  });
  // Each is of the type of the row that it stands under.
  return Object.fromEntries(handlers) as unknown as HandlersOf<RowsOf<StoredResource>>;
}

/** One page of a list. Stored payments carry `pagingToken`; other records get it where all lists are to have it. */
export function listPage<T extends object>(
  { settings, isLaggingRead }: Service,
  operation: Operation,
  query: URLSearchParams,
  rows: readonly Row<T>[],
): T[] {
  const { listedAfterMs = 0, replicaLagMs = 0 } = settings.quirks;
  const lagMs = listedAfterMs + (replicaLagMs > 0 && isLaggingRead() ? replicaLagMs : 0);
  const listed = lagMs === 0 ? rows : rows.filter(({ addedAtMs }) => addedAtMs + lagMs <= settings.now());
  const page = pageOf(listed, operation, query, settings);
  if (settings.pagingTokens !== "all") return page.map(({ record }) => record);
  return page.map(({ token, record }) => ({ ...record, pagingToken: tokenText(token, settings.quirks) }));
}

export function notFound(what: string): SandboxRefusal {
  return new SandboxRefusal("not_found", `there is no such ${what}`);
}

type AnyRecord = { readonly id: string };
type CreateRow = TypedOperation<string, readonly string[], never, AnyRecord>;
type AnyHandler = (call: SandboxCall<object>) => unknown;
type AnyRows = { readonly create: CreateRow } & Readonly<Record<string, Operation>>;

function handlersOf(
  service: Service,
  rows: AnyRows,
  collection: Collection<AnyRecord>,
  rules: RecordRules<AnyRecord>,
): [string, AnyHandler][] {
  const blank = { ...blankRecord(rows.create), ...rules.blank };
  const settled = (record: AnyRecord, owner: string) => rules.settle?.(record, owner) ?? record;
  const rowAt = (operation: Operation, { params }: SandboxCall<unknown>) => {
    const row = collection.find(params.at(-1) ?? "", ownerOf(service.ledger, operation, params));
    if (row === undefined) throw notFound("record");
    return row;
  };
  const byVerb: Readonly<Record<Operation["verb"], (operation: Operation, call: SandboxCall<object>) => unknown>> = {
    create(operation, call) {
      const owner = ownerOf(service.ledger, operation, call.params);
      const record = { ...blank, ...call.body, id: service.newId() };
      return collection.add(settled(rules.create?.(record, call) ?? record, owner), owner).record;
    },
    list(operation, call) {
      const owner = ownerOf(service.ledger, operation, call.params);
      const own = collection.rows().filter((row) => row.owner === owner);
      return listPage(service, operation, call.query, own);
    },
    get(operation, call) {
      assertQuery(call.query, operation);
      return rowAt(operation, call).record;
    },
    update(operation, call) {
      const row = rowAt(operation, call);
      const fields = service.settings.quirks.updateClears === true ? Object.keys(operation.body?.fields ?? {}) : [];
      const cleared = Object.entries(blank).filter(([name]) => fields.includes(name));
      row.record = settled({ ...row.record, ...Object.fromEntries(cleared), ...call.body }, row.owner);
    },
  };
  return Object.values(rows).map((row) => [row.name, (call) => byVerb[row.verb](row, call)]);
}

/**
 * The id of the record under which those of an operation are kept; empty for records of their own.
 *
 * @throws {SandboxRefusal} when there is no such record.
 */
function ownerOf(ledger: Ledger, { name }: Operation, params: readonly string[]): string {
  const owners = name.split(".").slice(0, -2);
  return owners.reduce((above, owner, index) => {
    const id = params[index] ?? "";
    if (ledger.find(owner, id, above) === undefined) throw notFound(words(owner));
    return id;
  }, "");
}

/** `liquidity provider` of `liquidityProviders`. */
function words(name: string): string {
  return name.replace(/s$/, "").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
