import type { $ZodType } from "zod/v4/core";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { describeThrown, describeValue, looksLikeName } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
import { loadedLate } from "../core/lazy-load.js";
import { decimalNumeral } from "../money.js";
import type { Zod } from "./compiled-schemas.js";

/** A field that is not what the description says; never with its value. */
export interface Mismatch {
  /** Its name; `(unprintable)` where the description does not have it and it does not look like a name. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** Loads zod with the first call. */
export class SchemaLoader {
  loaded: Schemas | undefined;

  async load(): Promise<Schemas> {
    const zod = await loadedLate(loadWhole(), "what reads records");
    this.loaded ??= new Schemas(zod);
    return this.loaded;
  }
}

/** Where another zod is forced upon the package, CommonJS takes what it has not for undefined, and would fail once a payment is sent. */
async function loadWhole(): Promise<Zod> {
  const zod = await (await import("#schemas")).loadZod();
  for (const [name, part] of Object.entries(zod)) if (typeof part !== "function") throw new Error(`zod has no ${name}`);
  return zod;
}

/** The schemas of records: each is made from a table of fields on first use. */
export class Schemas {
  readonly #zod: Zod;
  readonly #records = new Map<FieldTable, RecordSchema>();

  constructor(zod: Zod) {
    this.#zod = zod;
  }

  /**
   * Makes and tries what reads the records of an operation, before its request is sent: what others have done to the process, such as to
   * `Object.prototype`, is not to be found out by a response.
   *
   * @throws {ConfigError} where it does not work.
   */
  prepare(operation: AnyOperation): void {
    if (operation.verb === "request" || operation.verb === "update") return;
    try {
      this.#recordSchema(operation.record);
    } catch (error) {
      const cause = describeThrown(error);
      throw new ConfigError(
        `records can't be read in this process (${cause.message}), so nothing was sent; has something added enumerable properties to Object.prototype, or replaced Function? The option validation: "off" does without it`,
        { cause },
      );
    }
  }

  /**
   * The fields of a response that aren't as described, each once: at most 20, in the first 1,000 records that have any.
   *
   * @param value a record or, for a list, an array of records. It is passed on as it came: nothing is copied.
   * @param length of its text. Records of more than 64 KiB may have any number of fields: unknown ones aren't searched for.
   */
  mismatches({ record }: Operation, value: unknown, length = 0): readonly Mismatch[] {
    const schema = this.#recordSchema(record);
    const items: readonly object[] = Array.isArray(value) ? value : [value];
    const isCounted = length / items.length <= 2 ** 16;
    const found: Differences = new Map();
    let looked = 0;
    for (const item of items) {
      const differs = !this.#zod.validate(schema.whole, item);
      // If no described field is missing, each further one is unknown.
      const hasMore = isCounted && (differs || hasMoreKeys(item, schema.count));
      if (!differs && !hasMore) continue;
      if (differs) this.#addDifferent(found, schema, record, item);
      if (hasMore) addUnknown(found, record, item);
      looked += 1;
      if (found.size >= maxMismatches || looked >= maxRecordsLookedAt) break;
    }
    return [...found.values()];
  }

  #addDifferent(found: Differences, schema: RecordSchema, record: FieldTable, item: object): void {
    const { compile, validate } = this.#zod;
    schema.fields ??= Object.entries(schema.shape).map(([name, field]) => [name, compile(field)]);
    for (const [name, field] of schema.fields) {
      if (found.size >= maxMismatches) return;
      if (found.has(name)) continue;
      const value: unknown = Reflect.get(item, name);
      if (Object.hasOwn(item, name) && validate(field, value)) continue;
      found.set(name, { field: name, expected: wantedOf(record, name), found: describeFound(value) });
    }
  }

  /** Made and tried when it is first asked for. */
  #recordSchema(record: FieldTable): RecordSchema {
    const known = this.#records.get(record);
    if (known !== undefined) return known;
    const { compile, validate, $ZodObject } = this.#zod;
    const shape = Object.fromEntries(Object.entries(record).map(([name, kind]) => [name, kinds[kind](this.#zod)]));
    const whole = compile(new $ZodObject({ type: "object", shape }));
    validate(whole, {});
    const schema = { whole, shape, count: Object.keys(shape).length, fields: undefined };
    this.#records.set(record, schema);
    return schema;
  }
}

interface RecordSchema {
  readonly whole: $ZodType;
  readonly shape: Readonly<Record<string, $ZodType>>;
  readonly count: number;
  /** Each field for itself, from the first record on that differs. */
  fields: readonly (readonly [name: string, schema: $ZodType])[] | undefined;
}

type Differences = Map<string, Mismatch>;

/** Stands for the name of a field that does not look like one: it may be anything, a secret included. */
export const unprintable = "(unprintable)";

const maxMismatches = 20;
const maxRecordsLookedAt = 1000;

function hasMoreKeys(item: object, count: number): boolean {
  let keys = 0;
  for (const _ in item) if (++keys > count) return true;
  return false;
}

function addUnknown(found: Differences, record: FieldTable, item: object): void {
  for (const name in item) {
    if (found.size >= maxMismatches) return;
    if (found.has(name) || Object.hasOwn(record, name) || !Object.hasOwn(item, name)) continue;
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

function wantedOf(fields: FieldTable, field: string): string {
  return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;
}

function describeFound(value: unknown): string {
  return typeof value === "string" && value !== "" ? "another string" : describeValue(value);
}
