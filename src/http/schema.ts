import type { $ZodType } from "zod/v4/core";
import { mayCompile } from "#platform";
import { type FieldKind, type FieldTable, fieldKinds } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { loadZod, type Zod } from "../core/libraries.js";
import { decimalNumeral } from "../money.js";

/** A field that differs from the description, without its value. */
export interface Mismatch {
  /** Its name, or `(unprintable)` if it has another name than those of the description and doesn't look like one. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

interface RecordSchema {
  readonly parse: $ZodType;
  /** Made from the same fields, and faster. */
  readonly compiled: $ZodType;
  readonly count: number;
}

/** The schemas of records, each made from a table of fields on first use. Derived clients share them. */
export class Schemas {
  readonly #compiles: boolean;
  readonly #records = new Map<FieldTable, RecordSchema>();
  #zod: Zod | undefined;

  /** @param compiles whether zod may make code from text. If not, it interprets the schemas. */
  constructor(compiles = mayCompile) {
    this.#compiles = compiles;
  }

  get isLoaded(): boolean {
    return this.#zod !== undefined;
  }

  async load(): Promise<void> {
    const zod = await loadZod();
    if (this.#zod !== undefined) return;
    this.#zod = zod;
    // zod's first schema takes 2 ms, which a later call then doesn't wait for.
    this.mismatches({ record: everyKind }, {});
  }

  /**
   * The fields of a response that aren't as described, each once, and at most 20.
   *
   * @param value a record or, for a list, an array of records. Nothing is copied.
   */
  mismatches({ record }: Pick<Operation, "record">, value: unknown): readonly Mismatch[] {
    const zod = this.#zod;
    if (zod === undefined) return [];
    const schema = this.#schemaOf(zod, record);
    const found = new Map<string, Mismatch>();
    const items: readonly object[] = Array.isArray(value) ? value : [value];
    for (const item of items) {
      const differs = !zod.validate(schema.compiled, item);
      if (differs) addDifferent(found, zod, schema, record, item);
      // If no described field is missing, each further one is unknown.
      if (differs || Object.keys(item).length > schema.count) addUnknown(found, record, item);
      if (found.size >= maxMismatches) break;
    }
    return [...found.values()].slice(0, maxMismatches);
  }

  #schemaOf(zod: Zod, record: FieldTable): RecordSchema {
    const known = this.#records.get(record);
    if (known !== undefined) return known;
    const shape = Object.fromEntries(Object.entries(record).map(([name, kind]) => [name, kinds[kind](zod)]));
    const parse = new zod.$ZodObject({ type: "object", shape });
    const compiled = this.#compiles ? zod.compile(parse) : parse;
    const schema = { parse, compiled, count: Object.keys(shape).length };
    this.#records.set(record, schema);
    return schema;
  }
}

/** Stands for a field name that doesn't look like one, since it may be a secret. */
const unprintable = "(unprintable)";

const maxMismatches = 20;

function addDifferent(
  found: Map<string, Mismatch>,
  zod: Zod,
  { parse }: RecordSchema,
  record: FieldTable,
  item: object,
): void {
  for (const { path } of zod.safeParse(parse, item).error?.issues ?? []) {
    const field = String(path[0]);
    if (found.has(field)) continue;
    const expected = fieldKinds[record[field] ?? "text"].wanted;
    found.set(field, { field, expected, found: describeFound(Reflect.get(item, field)) });
  }
}

function addUnknown(found: Map<string, Mismatch>, record: FieldTable, item: object): void {
  for (const name of Object.keys(item)) {
    if (found.size >= maxMismatches) return;
    if (Object.hasOwn(record, name)) continue;
    const field = looksLikeName(name) ? name : unprintable;
    if (found.has(field)) continue;
    found.set(field, { field, expected: "a field of the description", found: describeFound(Reflect.get(item, name)) });
  }
}

function describeFound(value: unknown): string {
  return typeof value === "string" && value !== "" ? "another string" : describeValue(value);
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
