import type { $ZodType } from "zod/v4/core";
import { mayCompile } from "#platform";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { loadZod, type Zod } from "../core/libraries.js";
import { decimalNumeral } from "../money.js";

/** A field that differs from the description, without its value. */
export interface Mismatch {
  /** Its name; `(unprintable)` if the description doesn't have it and it doesn't look like a name. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** Loads zod once for a client and the clients derived from it. */
export class SchemaLoader {
  loaded: Schemas | undefined;

  async load(): Promise<Schemas> {
    const zod = await loadZod();
    if (this.loaded === undefined) {
      this.loaded = new Schemas(zod);
      // zod's first schema takes 2 ms, which a call that comes later then doesn't wait for.
      this.loaded.mismatches({ record: everyKind }, {});
    }
    return this.loaded;
  }
}

/** The schemas of records. Each is made from a table of fields on first use. */
export class Schemas {
  readonly #zod: Zod;
  readonly #compile: <T extends $ZodType>(schema: T) => T;
  readonly #records = new Map<FieldTable, RecordSchema>();

  /** @param compiles whether zod may make code from text. If not, it interprets the schemas. */
  constructor(zod: Zod, compiles = mayCompile) {
    this.#zod = zod;
    this.#compile = compiles ? zod.compile : (schema) => schema;
  }

  /**
   * The fields of a response that aren't as described, each once, and at most 20.
   *
   * @param value a record or, for a list, an array of records. Nothing is copied.
   */
  mismatches({ record }: Pick<Operation, "record">, value: unknown): readonly Mismatch[] {
    const schema = this.#recordSchema(record);
    const items: readonly object[] = Array.isArray(value) ? value : [value];
    const found: Differences = new Map();
    for (const item of items) {
      const differs = !this.#zod.validate(schema.whole, item);
      if (differs) this.#addDifferent(found, schema, record, item);
      // If no described field is missing, each further one is unknown.
      if (differs || Object.keys(item).length > schema.count) addUnknown(found, record, item);
      if (found.size >= maxMismatches) break;
    }
    return [...found.values()];
  }

  #addDifferent(found: Differences, schema: RecordSchema, record: FieldTable, item: object): void {
    schema.fields ??= Object.entries(schema.shape).map(([name, field]) => [name, this.#compile(field)]);
    for (const [name, field] of schema.fields) {
      if (found.size >= maxMismatches) return;
      if (found.has(name)) continue;
      const value: unknown = Reflect.get(item, name);
      if (Object.hasOwn(item, name) && this.#zod.validate(field, value)) continue;
      found.set(name, { field: name, expected: wantedOf(record, name), found: describeFound(value) });
    }
  }

  #recordSchema(record: FieldTable): RecordSchema {
    const known = this.#records.get(record);
    if (known !== undefined) return known;
    const shape = Object.fromEntries(Object.entries(record).map(([name, kind]) => [name, kinds[kind](this.#zod)]));
    const whole = this.#compile(new this.#zod.$ZodObject({ type: "object", shape }));
    const schema = { whole, shape, count: Object.keys(shape).length, fields: undefined };
    this.#records.set(record, schema);
    return schema;
  }
}

interface RecordSchema {
  readonly whole: $ZodType;
  readonly shape: Readonly<Record<string, $ZodType>>;
  readonly count: number;
  /** Each field alone, compiled when the first record differs. */
  fields: readonly (readonly [name: string, schema: $ZodType])[] | undefined;
}

type Differences = Map<string, Mismatch>;

/** Stands for a field name that doesn't look like one: it may be a secret. */
export const unprintable = "(unprintable)";

const maxMismatches = 20;

function addUnknown(found: Differences, record: FieldTable, item: object): void {
  for (const name of Object.keys(item)) {
    if (found.size >= maxMismatches) return;
    if (Object.hasOwn(record, name)) continue;
    const field = looksLikeName(name) ? name : unprintable;
    if (found.has(field)) continue;
    found.set(field, { field, expected: "a field of the description", found: describeFound(Reflect.get(item, name)) });
  }
}

const text = ({ $ZodString }: Zod): $ZodType => new $ZodString({ type: "string" });

const textLike =
  (pattern: RegExp) =>
  ({ $ZodString, $ZodCheckRegex }: Zod): $ZodType =>
    new $ZodString({
      type: "string",
      checks: [new $ZodCheckRegex({ check: "string_format", format: "regex", pattern })],
    });

const kinds: Readonly<Record<FieldKind, (zod: Zod) => $ZodType>> = {
  text,
  timestamp: textLike(
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|\+00:00)$/,
  ),
  status: text,
  publicKey: text,
  paymentStatus: textLike(/^(?:pending|processed|error|reverted)$/),
  secret: text,
  account: text,
  decimal: textLike(decimalNumeral),
  integer: ({ $ZodNumberFormat }) =>
    new $ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false }),
  any: ({ $ZodUnknown }) => new $ZodUnknown({ type: "unknown" }),
};

const everyKind: FieldTable = { text: "text", decimal: "decimal", integer: "integer", any: "any" };

function wantedOf(fields: FieldTable, field: string): string {
  return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;
}

function describeFound(value: unknown): string {
  return typeof value === "string" && value !== "" ? "another string" : describeValue(value);
}
