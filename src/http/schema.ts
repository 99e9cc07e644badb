import type { $ZodType } from "zod/v4/core";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { BodyFields, Operation } from "../api/operation.js";
import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { decimalNumeral } from "../money.js";

/** A field that is not what the description says; never with its value. */
export interface Mismatch {
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** Values of a query: texts, and whole numbers where the description says integer. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/** The part of zod that is made for libraries, without the methods, texts and languages that are not needed here. */
type Zod = typeof import("zod/v4/core");

/** Loads zod with the first call. */
export class SchemaLoader {
  /** Set once zod is loaded. */
  loaded: Schemas | undefined;
  #loading: Promise<Schemas> | undefined;

  load(): Promise<Schemas> {
    this.#loading ??= import("zod/v4/core").then((zod) => {
      this.loaded = new Schemas(zod);
      return this.loaded;
    });
    return this.#loading;
  }
}

/** The schemas of the operations: each is made from a table of fields, and compiled, on first use. */
export class Schemas {
  readonly #zod: Zod;
  readonly #bodies = new Map<BodyFields, $ZodType<Record<string, unknown>>>();
  readonly #queries = new Map<FieldTable | "open", $ZodType<QueryValues>>();
  readonly #records = new Map<FieldTable, $ZodType>();
  readonly #lists = new Map<FieldTable, $ZodType>();

  constructor(zod: Zod) {
    this.#zod = zod;
  }

  /**
   * A copy of the body that holds the described fields and nothing else, in the description's order.
   *
   * @throws {InvalidArgumentError} that names every field at fault.
   */
  checkBody({ name }: Operation, body: BodyFields, value: unknown): Record<string, unknown> {
    const schema = remember(this.#bodies, body, () => this.#strictObject(body.fields, bodyKinds, body.required));
    const result = this.#zod.safeParse(schema, value);
    if (result.success) return result.data;
    throw refusal(`${name}: the body`, body.fields, value, result.error.issues);
  }

  /**
   * A copy of the query that holds the described fields and nothing else.
   *
   * @throws {InvalidArgumentError} that names every query field at fault.
   */
  checkQuery(operation: Operation, query: object): QueryValues {
    const fields = operation.query ?? noFields;
    const schema = remember(this.#queries, fields, () => this.#querySchema(fields));
    const result = this.#zod.safeParse(schema, query);
    if (result.success) return result.data;
    throw refusal(`${operation.name}: the query`, fields === "open" ? noFields : fields, query, result.error.issues);
  }

  /**
   * The fields of a response that are not as described, each once; none when all is well.
   *
   * @param value a record or, for a list, an array of records.
   */
  mismatches({ verb, record }: Operation, value: unknown): Mismatch[] {
    const isList = verb === "list";
    const schema = remember(isList ? this.#lists : this.#records, record, () => this.#recordSchema(record, isList));
    // The record is passed on as it came, unknown fields included: nothing is copied unless there is something to report.
    if (this.#zod.validate(schema, value)) return [];
    const issues = this.#zod.safeParse(schema, value).error?.issues ?? [];
    const found = new Map<string, Mismatch>();
    for (const { path } of issues) {
      const [index, name] = isList ? path : [undefined, path[0]];
      const field = String(name);
      if (found.has(field)) continue;
      const item: unknown = index === undefined ? value : Reflect.get(value as object, index);
      found.set(field, {
        field,
        expected: wantedOf(record, field),
        found: describeFound(Reflect.get(item as object, field)),
      });
    }
    return [...found.values()];
  }

  #recordSchema(record: FieldTable, isList: boolean): $ZodType {
    const { compile, $ZodArray, $ZodObjectJIT } = this.#zod;
    const element = new $ZodObjectJIT({ type: "object", shape: this.#shape(record, recordKinds) });
    return compile(isList ? new $ZodArray({ type: "array", element }) : element);
  }

  #querySchema(fields: FieldTable | "open"): $ZodType<QueryValues> {
    const { compile, $ZodRecord, $ZodString } = this.#zod;
    const texts = new $ZodString({ type: "string" });
    const schema =
      fields === "open"
        ? compile(new $ZodRecord({ type: "record", keyType: texts, valueType: this.#optional(texts) }))
        : this.#strictObject(fields, queryKinds, []);
    // The tables of queries hold texts and integers only.
    return schema as $ZodType<unknown> as $ZodType<QueryValues>;
  }

  #strictObject(
    fields: FieldTable,
    kinds: KindSchemas,
    required: readonly string[],
  ): $ZodType<Record<string, unknown>> {
    const { compile, $ZodNever, $ZodObjectJIT } = this.#zod;
    const shape = this.#shape(fields, kinds);
    for (const [name, schema] of Object.entries(shape)) {
      if (!required.includes(name)) shape[name] = this.#optional(schema);
    }
    return compile(new $ZodObjectJIT({ type: "object", shape, catchall: new $ZodNever({ type: "never" }) }));
  }

  #optional(innerType: $ZodType): $ZodType {
    return new this.#zod.$ZodOptional({ type: "optional", innerType });
  }

  #shape(fields: FieldTable, kinds: KindSchemas): Record<string, $ZodType> {
    return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, kinds[kind](this.#zod)]));
  }
}

/** One object for all, since schemas are remembered by their tables. */
const noFields: FieldTable = {};

type KindSchemas = Readonly<Record<FieldKind, (zod: Zod) => $ZodType>>;

const text = ({ $ZodString }: Zod): $ZodType => new $ZodString({ type: "string" });

const recordKinds: KindSchemas = {
  text,
  timestamp: text,
  status: text,
  secret: text,
  account: text,
  decimal: ({ $ZodString, $ZodCheckRegex }) =>
    new $ZodString({
      type: "string",
      checks: [new $ZodCheckRegex({ check: "string_format", format: "regex", pattern: decimalNumeral })],
    }),
  integer: ({ $ZodNumberFormat }) =>
    new $ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false }),
  any: ({ $ZodUnknown }) => new $ZodUnknown({ type: "unknown" }),
};

const bodyKinds: KindSchemas = recordKinds;

/** A filter may be half a numeral, or a pattern of the service's own: only its type is certain. */
const queryKinds: KindSchemas = { ...recordKinds, decimal: text };

function wantedOf(fields: FieldTable, field: string): string {
  return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;
}

interface Issue {
  readonly code?: string | undefined;
  readonly path: readonly PropertyKey[];
  readonly keys?: readonly string[];
}

function refusal(what: string, fields: FieldTable, value: unknown, issues: readonly Issue[]): InvalidArgumentError {
  const problems = issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      const known = Object.keys(fields).join(", ");
      return issue.keys?.map((key) => `has no field ${JSON.stringify(key)} (it has ${known})`) ?? [];
    }
    const field = issue.path[0];
    if (typeof field !== "string") return `must be an object with fields; found ${describeValue(value)}`;
    const found: unknown = Reflect.get(value as object, field);
    return `needs ${field} to be ${wantedOf(fields, field)}; found ${describeFound(found)}`;
  });
  return new InvalidArgumentError(`${what} ${problems.join("; ")}`);
}

function describeFound(value: unknown): string {
  return typeof value === "string" ? (value === "" ? "an empty string" : "another string") : describeValue(value);
}

function remember<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
