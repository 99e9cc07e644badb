import type { FieldKind, Fields, FieldTable } from "./fields.js";
import type { Operation, TypedOperation, Verb } from "./operation.js";
import { parsePathTemplate } from "./path.js";

/** The fields of a resource, and the verbs that its records have. */
export interface ResourceDescription<Item, Create, Update> {
  readonly fields: Fields<Item>;
  /**
   * The query parameters of `list` and `get` are every field of the record, except those named here. With `open` the description
   * doesn't show those of `list`.
   */
  readonly filters?: "open" | { readonly except: readonly (keyof Item & string)[] };
  readonly create?: BodyDescription<Create>;
  readonly get?: true;
  readonly list?: true;
  readonly update?: BodyDescription<Update>;
}

/** The comments of `Operation` say what these are. */
interface BodyDescription<Body> extends Pick<Operation, "signer" | "repeatable" | "sendsBack"> {
  readonly body: readonly (keyof Body & string)[];
  readonly required?: readonly (keyof Body & string)[];
  readonly oneOf?: Readonly<Record<string, readonly string[]>>;
  readonly signed?: boolean;
  readonly identifiedBy?: keyof Body & string;
}

export type Resource<Name extends string, Path extends string, Item, Create, Update, Verbs extends Verb> = {
  readonly [V in Verbs]: TypedOperation<`${Name}.${V}`, IdsOf<Path, V>, BodyOf<V, Create, Update>, OutputOf<V, Item>>;
};

/** One id for each parameter of the path, and for a single record its own id. */
type IdsOf<Path extends string, V extends Verb> = V extends "create" | "list"
  ? readonly [...ParametersOf<Path>]
  : readonly [...ParametersOf<Path>, string];
/** The parameters of a path template, a string each. */
export type ParametersOf<Path extends string> = Path extends `${string}{${string}}${infer Rest}`
  ? [string, ...ParametersOf<Rest>]
  : [];
type BodyOf<V extends Verb, Create, Update> = V extends "create" ? Create : V extends "update" ? Update : never;
// biome-ignore lint/suspicious/noConfusingVoidType: what the promise of an update resolves to
type OutputOf<V extends Verb, Item> = V extends "update" ? void : V extends "list" ? Item[] : Item;

/**
 * Makes the rows of a resource. Names, methods and the paths of single records are derived, so that a row can't contradict
 * itself. Called in two steps, since TypeScript infers either all type parameters or none.
 *
 * @example
 * export const transfers = resource<Transfer, TransferFields>()(
 *   "liquidityProviders.transfers",
 *   "/liquidity-providers/{liquidityProviderId}/transfers",
 *   { fields: { id: "text", … }, create: { body: writable }, get: true, list: true, update: { body: writable } },
 * );
 */
export function resource<Item, Create = never, Update = Create>() {
  return <
    const Name extends string,
    const Path extends `/${string}`,
    const Description extends ResourceDescription<Item, Create, Update>,
  >(
    name: Name,
    path: Path,
    description: Description,
  ): Resource<Name, Path, Item, Create, Update, keyof Description & Verb> => {
    const rows: Partial<Record<Verb, Operation>> = {};
    for (const verb of verbs) {
      if (description[verb] !== undefined) rows[verb] = toRow(name, path, verb, description);
    }
    // Each row is made from the same name, path and table of fields as its type.
    return rows as Resource<Name, Path, Item, Create, Update, keyof Description & Verb>;
  };
}

const verbs: readonly Verb[] = ["create", "list", "get", "update"];
const methods = { create: "POST", get: "GET", list: "GET", update: "PUT" } as const;

function toRow<Item, Create, Update>(
  name: string,
  path: string,
  verb: Verb,
  description: ResourceDescription<Item, Create, Update>,
): Operation {
  const fields: FieldTable = description.fields;
  const isOfOneRecord = verb === "get" || verb === "update";
  const row = {
    name: `${name}.${verb}`,
    verb,
    method: methods[verb],
    path: parsePathTemplate(isOfOneRecord ? `${path}/{${itemIdOf(name)}}` : path),
    record: fields,
    signed: false,
  };
  const { filters } = description;
  if (verb === "list" && filters === "open") return { ...row, query: filters };
  const except = filters === undefined || filters === "open" ? [] : filters.except;
  if (verb === "list" || verb === "get") return { ...row, query: queryFields(fields, except) };
  const { body = [], required = [], oneOf, signed = false, ...rest } = description[verb] ?? {};
  const choices = oneOf === undefined ? undefined : { oneOf };
  return { ...row, ...rest, body: { fields: pick(fields, body), required, ...choices }, signed };
}

/** `liquidityProviders.deposits` gives `depositId`. */
function itemIdOf(name: string): string {
  return `${name.slice(name.lastIndexOf(".") + 1).replace(/s$/, "")}Id`;
}

function queryFields(fields: FieldTable, except: readonly string[]): FieldTable {
  const names = Object.keys(fields).filter((name) => !except.includes(name));
  // A query carries strings, so a field of any content is sent as text.
  return Object.fromEntries(names.map((name) => [name, fields[name] === "any" ? "text" : (fields[name] as FieldKind)]));
}

function pick(fields: FieldTable, names: readonly string[]): FieldTable {
  return Object.fromEntries(names.map((name) => [name, fields[name] as FieldKind]));
}
