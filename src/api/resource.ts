import type { FieldKind, Fields, FieldTable } from "./fields.js";
import type { Operation, TypedOperation, Verb } from "./operation.js";
import { parsePathTemplate } from "./path.js";

/** What the description says of one resource: its fields, and what can be done with its records. */
export interface ResourceDescription<Item, Create, Update, Owner extends string = string> {
  readonly fields: Fields<Item>;
  /**
   * The query parameters of `list` and `get`: every field of the record, except those named here. `open`: the description does
   * not show those of `list`.
   */
  readonly filters?: "open" | { readonly except: readonly (keyof Item & string)[] };
  readonly create?: [Create] extends [never] ? never : CreateDescription<Create, Owner>;
  readonly get?: true;
  readonly list?: true;
  readonly update?: [Update] extends [never] ? never : BodyDescription<Update, Owner>;
}

// A row that names the gateway says whether that gateway has to sign: an unsigned payment must not be an oversight.
type BodyDescription<Body, Owner extends string> = {
  readonly body: readonly (keyof Body & string)[];
  readonly required?: readonly (keyof Body & string)[];
} & Choices<Body> &
  (
    | { readonly signed: boolean; readonly signer: (keyof Body & string) | Owner }
    | { readonly signed?: never; readonly signer?: never }
  );

/** The values of the fields whose type allows no others: none of these fields can be left out. */
type Choices<Body> = [ChoiceField<Body>] extends [never]
  ? { readonly oneOf?: never }
  : { readonly oneOf: { readonly [K in ChoiceField<Body>]: readonly (Exclude<Body[K], undefined> & string)[] } };
type ChoiceField<Body> = {
  [K in keyof Body]-?: unknown extends Body[K] ? never : string extends Exclude<Body[K], undefined> ? never : K;
}[keyof Body];

// A signed create whose response nothing ties to its request would take the 2xx of another record for its own.
type CreateDescription<Body, Owner extends string> = BodyDescription<Body, Owner> & {
  readonly repeatable?: true;
  readonly sendsBack?: true;
} & (
    | { readonly signed: true; readonly identifiedBy: keyof Body & string }
    | { readonly signed?: false; readonly identifiedBy?: keyof Body & string }
  );

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
/** The names of a path template's parameters. */
type ParameterOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParameterOf<Rest>
  : never;
type BodyOf<V extends Verb, Create, Update> = V extends "create" ? Create : V extends "update" ? Update : never;
// biome-ignore lint/suspicious/noConfusingVoidType: what the promise of an update resolves to
type OutputOf<V extends Verb, Item> = V extends "update" ? void : V extends "list" ? Item[] : Item;

/** Refuses what inference alone would let through: a verb, a field or a property of a body that does not exist. */
type Exact<Given extends { readonly fields: unknown }, Item, Create, Update, Owner extends string> = NothingElse<
  Given,
  ResourceDescription<Item, Create, Update, Owner>
> & { readonly fields: NothingElse<Given["fields"], Item> } & {
  readonly [V in keyof Given & ("create" | "update")]: NothingElse<
    Given[V],
    V extends "create" ? CreateDescription<Create, Owner> : BodyDescription<BodyOf<V, Create, Update>, Owner>
  >;
} & EveryField<Given, Create | Update>;
type NothingElse<Given, Known> = { readonly [K in Exclude<keyof Given, keyof Known>]: never };

/** Refuses bodies that leave out a field of their type: the error names it as missing. */
type EveryField<Given, Body> = [keyof Given & ("create" | "update")] extends [never]
  ? unknown
  : [Exclude<keyof Body, BodyField<Given>>] extends [never]
    ? unknown
    : { readonly fieldsMissingInBodies: Exclude<keyof Body, BodyField<Given>> };
type BodyField<Given> = {
  [V in keyof Given & ("create" | "update")]: Given[V] extends { readonly body: readonly (infer Name)[] }
    ? Name
    : never;
}[keyof Given & ("create" | "update")];

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
    const Description extends ResourceDescription<Item, Create, Update, ParameterOf<Path>>,
  >(
    name: Name,
    path: Path,
    description: Description & Exact<Description, Item, Create, Update, ParameterOf<Path>>,
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
  if (verb === "list") return { ...row, query: filters === "open" ? filters : queryFields(fields, filters) };
  if (verb === "get") return { ...row, query: queryFields(fields, filters === "open" ? undefined : filters) };
  const { body = [], required = [], oneOf, signed = false, ...rest } = description[verb] ?? {};
  const choices = oneOf === undefined ? undefined : { oneOf };
  return { ...row, ...rest, body: { fields: pick(fields, body), required, ...choices }, signed };
}

/** `liquidityProviders.deposits` gives `depositId`. */
function itemIdOf(name: string): string {
  return `${name.slice(name.lastIndexOf(".") + 1).replace(/s$/, "")}Id`;
}

function queryFields<Item>(
  fields: FieldTable,
  filters: Exclude<ResourceDescription<Item, never, never>["filters"], "open">,
): FieldTable {
  const except: readonly string[] = filters?.except ?? [];
  const names = Object.keys(fields).filter((name) => !except.includes(name));
  // A query carries strings: a field of any content is sent as the text that it is given as.
  return Object.fromEntries(names.map((name) => [name, fields[name] === "any" ? "text" : (fields[name] as FieldKind)]));
}

function pick(fields: FieldTable, names: readonly string[]): FieldTable {
  return Object.fromEntries(names.map((name) => [name, fields[name] as FieldKind]));
}
