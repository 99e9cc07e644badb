import type { $ZodType } from "zod/v4/core";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { describeValue } from "../errors/describe-value.js";
import { decimalNumeral } from "../money.js";

/** A field that is not what the description says; never with its value. */
export interface Mismatch {
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

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

/** The schemas of records: each is made from a table of fields, and compiled, on first use. */
export class Schemas {
  readonly #zod: Zod;
  readonly #records = new Map<FieldTable, $ZodType>();
  readonly #lists = new Map<FieldTable, $ZodType>();

  constructor(zod: Zod) {
    this.#zod = zod;
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

  #shape(fields: FieldTable, kinds: KindSchemas): Record<string, $ZodType> {
    return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, kinds[kind](this.#zod)]));
  }
}

type KindSchemas = Readonly<Record<FieldKind, (zod: Zod) => $ZodType>>;

const text = ({ $ZodString }: Zod): $ZodType => new $ZodString({ type: "string" });

const recordKinds: KindSchemas = {
  text,
  timestamp: text,
  status: text,
  publicKey: text,
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

function wantedOf(fields: FieldTable, field: string): string {
  return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;
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
