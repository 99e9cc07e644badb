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
  readonly whole: $ZodType;
  readonly shape: Readonly<Record<string, $ZodType>>;
  /** Each field alone, compiled when the first record differs. */
  fields?: readonly (readonly [name: string, schema: $ZodType])[];
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
    this.mismatches({ record: { id: "text", amount: "decimal" } }, {});
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
    const described = Object.keys(record).length;
    const found = new Map<string, Mismatch>();
    const add = (item: object, field: string, expected: string, shown = field) => {
      if (found.has(shown) || found.size >= maxMismatches) return;
      found.set(shown, { field: shown, expected, found: describeFound(Reflect.get(item, field)) });
    };
    const items: readonly object[] = Array.isArray(value) ? value : [value];
    /** Most records of a list have the names of the one before them. */
    let known: readonly string[] = [];
    for (const item of items) {
      const names = Object.keys(item);
      const differs = !zod.validate(schema.whole, item);
      if (differs) {
        schema.fields ??= Object.entries(schema.shape).map(([name, field]) => [name, this.#compiled(zod, field)]);
        for (const [name, field] of schema.fields) {
          const isAsDescribed = Object.hasOwn(item, name) && zod.validate(field, Reflect.get(item, name));
          if (!isAsDescribed) add(item, name, fieldKinds[record[name] ?? "text"].expected);
        }
      }
      // If no described field is missing, each further one is unknown.
      if ((differs || names.length > described) && !names.every((name, index) => name === known[index])) {
        known = names;
        for (const name of names) {
          if (Object.hasOwn(record, name)) continue;
          // Another name may be a secret.
          add(item, name, "a field of the description", looksLikeName(name) ? name : "(unprintable)");
        }
      }
      if (found.size >= maxMismatches) break;
    }
    return [...found.values()];
  }

  #schemaOf(zod: Zod, record: FieldTable): RecordSchema {
    const known = this.#records.get(record);
    if (known !== undefined) return known;
    const shape = Object.fromEntries(Object.entries(record).map(([name, kind]) => [name, schemaOf(zod, kind)]));
    const schema = { whole: this.#compiled(zod, new zod.$ZodObject({ type: "object", shape })), shape };
    this.#records.set(record, schema);
    return schema;
  }

  #compiled(zod: Zod, schema: $ZodType): $ZodType {
    return this.#compiles ? zod.compile(schema) : schema;
  }
}

const maxMismatches = 20;

function describeFound(value: unknown): string {
  return typeof value === "string" && value !== "" ? "another string" : describeValue(value);
}

/** A text of any content, unless its kind has a pattern. */
function schemaOf(zod: Zod, kind: FieldKind): $ZodType {
  if (kind === "any") return new zod.$ZodUnknown({ type: "unknown" });
  if (kind === "integer") {
    return new zod.$ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false });
  }
  const pattern = patterns[kind];
  const checks = pattern && [new zod.$ZodCheckRegex({ check: "string_format", format: "regex", pattern })];
  return new zod.$ZodString({ type: "string", ...(checks && { checks }) });
}

const patterns: Partial<Readonly<Record<FieldKind, RegExp>>> = {
  timestamp:
    /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|\+00:00)$/,
  paymentStatus: /^(?:pending|processed|error|reverted)$/,
  decimal: decimalNumeral,
};
