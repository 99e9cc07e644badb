import type { $ZodType } from "zod/v4/core";
import { mayCompile } from "#platform";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
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

/** The schemas of records, each made from a table of fields on first use. Derived clients share them. */
export class Schemas {
  readonly #compiles: boolean;
  readonly #records = new Map<FieldTable, $ZodType>();
  #zod: Zod | undefined;

  /** @param compiles whether zod may make code from text. If not, it interprets the schemas. */
  constructor(compiles = mayCompile) {
    this.#compiles = compiles;
  }

  async load(): Promise<void> {
    if (this.#zod !== undefined) return;
    this.#zod = await loadZod();
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
    const items: readonly Readonly<Record<string, unknown>>[] = Array.isArray(value) ? value : [value];
    const found = new Map<string, Mismatch>();
    for (const item of items) {
      const names = Object.keys(item);
      const isValid = zod.validate(schema, item);
      // If no described field is missing, each further one is unknown.
      if (isValid && names.length <= described) continue;
      const wrong = isValid ? [] : (zod.safeParse(schema, item).error?.issues.map(({ path }) => String(path[0])) ?? []);
      const unknown = names.filter((name) => !Object.hasOwn(record, name));
      for (const name of [...wrong, ...unknown]) {
        const kind = kindOfField(record, name);
        // Another name may be a secret.
        const field = kind !== undefined || looksLikeName(name) ? name : "(unprintable)";
        const expected = kind === undefined ? "a field of the description" : fieldKinds[kind].expected;
        if (!found.has(field)) found.set(field, { field, expected, found: describeValue(item[name]) });
      }
      if (found.size >= maxMismatches) break;
    }
    return [...found.values()].slice(0, maxMismatches);
  }

  #schemaOf(zod: Zod, record: FieldTable): $ZodType {
    const known = this.#records.get(record);
    if (known !== undefined) return known;
    const shape = Object.fromEntries(Object.entries(record).map(([name, kind]) => [name, schemaOf(zod, kind)]));
    const schema = new zod.$ZodObject({ type: "object", shape });
    const made = this.#compiles ? zod.compile(schema) : schema;
    this.#records.set(record, made);
    return made;
  }
}

const maxMismatches = 20;

/** A text of any content, unless its kind says more. */
function schemaOf(zod: Zod, kind: FieldKind): $ZodType {
  if (kind === "any") return new zod.$ZodUnknown({ type: "unknown" });
  if (kind === "integer") {
    return new zod.$ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false });
  }
  const pattern = kind === "timestamp" ? zod.regexes.datetime({}) : patterns[kind];
  const checks = pattern && [new zod.$ZodCheckRegex({ check: "string_format", format: "regex", pattern })];
  return new zod.$ZodString({ type: "string", ...(checks && { checks }) });
}

const patterns: Partial<Readonly<Record<FieldKind, RegExp>>> = {
  paymentStatus: /^(pending|processed|error|reverted)$/,
  decimal: decimalNumeral,
};
