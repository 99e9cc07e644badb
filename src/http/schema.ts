import type { z as Zod, ZodType } from "zod";
import { InvalidArgumentError } from "../errors.js";
import { kindOf } from "../kind-of.js";
import { decimalNumeral } from "../money.js";
import type { BodyFields, Endpoint } from "./endpoint.js";
import type { FieldKind, FieldTable } from "./fields.js";

/** A field that is not what the description says; never with its value. */
export interface Mismatch {
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** Values of a query: texts, and whole numbers where the description says integer. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/** The schemas of the endpoint rows: each is made of its table of fields on first use. */
export class Schemas {
  readonly #z: typeof Zod;
  readonly #bodies = new Map<BodyFields, ZodType<Record<string, unknown>>>();
  readonly #queries = new Map<FieldTable, ZodType<QueryValues>>();
  readonly #records = new Map<FieldTable, ZodType>();
  readonly #lists = new Map<FieldTable, ZodType>();

  private constructor(z: typeof Zod) {
    this.#z = z;
  }

  static async load(): Promise<Schemas> {
    const { z } = await import("zod");
    return new Schemas(z);
  }

  /**
   * A copy of the body that holds the described fields and nothing else, in the description's order.
   *
   * @throws {InvalidArgumentError} that names every field at fault.
   */
  checkBody(operation: string, body: BodyFields, value: unknown): Record<string, unknown> {
    const schema = remember(this.#bodies, body, () => this.#bodySchema(body));
    const result = schema.safeParse(value);
    if (result.success) return result.data;
    throw refusal(`${operation}: the body`, body.fields, value, result.error.issues);
  }

  /**
   * A copy of the query that holds the described fields and nothing else.
   *
   * @throws {InvalidArgumentError} that names every query field at fault.
   */
  checkQuery(endpoint: Endpoint, query: object): QueryValues {
    const fields = endpoint.query ?? noFields;
    const schema = remember(this.#queries, fields, () =>
      endpoint.openQuery === true
        ? this.#z.record(this.#z.string(), this.#z.string().optional())
        : // The tables of queries hold texts and integers only.
          (this.#z.strictObject(this.#shape(fields, queryKinds)).partial() as unknown as ZodType<QueryValues>),
    );
    const result = schema.safeParse(query);
    if (result.success) return result.data;
    throw refusal(`${endpoint.operation}: the query`, fields, query, result.error.issues);
  }

  /** The fields of an answer that are not as described, each once; none when all is well. `value` is a record or an array of records. */
  mismatches(endpoint: Endpoint, record: FieldTable, value: unknown): Mismatch[] {
    const isList = endpoint.verb === "list";
    const schemas = isList ? this.#lists : this.#records;
    const result = remember(schemas, record, () => this.#answerSchema(record, isList)).safeParse(value);
    if (result.success) return [];
    const found = new Map<string, Mismatch>();
    for (const { path } of result.error.issues) {
      const [index, name] = isList ? path : [undefined, path[0]];
      const field = String(name);
      if (found.has(field)) continue;
      const item: unknown = index === undefined ? value : Reflect.get(value as object, index);
      found.set(field, {
        field,
        expected: expectation(record, field),
        found: describeFound(Reflect.get(item as object, field)),
      });
    }
    return [...found.values()];
  }

  /** Checks and copies nothing that anybody reads: the record is handed on as it came, unknown fields and all. */
  #answerSchema(record: FieldTable, isList: boolean): ZodType {
    const schema = this.#z.object(this.#shape(record, answerKinds));
    return isList ? this.#z.array(schema) : schema;
  }

  #bodySchema({ fields, required }: BodyFields): ZodType<Record<string, unknown>> {
    const shape = this.#shape(fields, bodyKinds);
    for (const [name, schema] of Object.entries(shape)) {
      if (!required.includes(name)) shape[name] = schema.optional();
    }
    return this.#z.strictObject(shape);
  }

  #shape(fields: FieldTable, kinds: KindSchemas): Record<string, ZodType> {
    return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, kinds[kind](this.#z)]));
  }
}

/** One object for all, since schemas are remembered by their tables. */
const noFields: FieldTable = {};

type KindSchemas = Readonly<Record<FieldKind, (z: typeof Zod) => ZodType>>;

const answerKinds: KindSchemas = {
  text: (z) => z.string(),
  status: (z) => z.string(),
  decimal: (z) => z.string().regex(decimalNumeral),
  integer: (z) => z.int(),
  any: (z) => z.unknown(),
};

const bodyKinds: KindSchemas = answerKinds;

/** A filter may name half a numeral or a pattern of the service's own: only its type is certain. */
const queryKinds: KindSchemas = { ...answerKinds, decimal: (z) => z.string() };

const expectations: Readonly<Record<FieldKind, string>> = {
  text: "a string",
  status: "a string",
  decimal: 'a decimal numeral in a string, such as "12.50"',
  integer: "a whole number that JavaScript holds exactly",
  any: "any value, null included",
};

function expectation(fields: FieldTable, field: string): string {
  const kind = Object.hasOwn(fields, field) ? fields[field] : undefined;
  return expectations[kind ?? "text"];
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
    if (typeof field !== "string") return `must be an object with fields; found ${kindOf(value)}`;
    const found: unknown = Reflect.get(value as object, field);
    return `needs ${field} to be ${expectation(fields, field)}; found ${describeFound(found)}`;
  });
  return new InvalidArgumentError(`${what} ${problems.join("; ")}`);
}

function describeFound(value: unknown): string {
  return typeof value === "string" ? (value === "" ? "an empty string" : "another string") : kindOf(value);
}

function remember<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) {
    value = make();
    map.set(key, value);
  }
  return value;
}
