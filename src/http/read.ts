import type { $ZodType } from "zod/v4/core";
import { mayCompile } from "#platform";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField, repeatsRequest } from "../api/fields.js";
import type { AnyOperation, Operation } from "../api/operation.js";
import { clock } from "../core/clock.js";
import { Ended } from "../core/deadline.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { loadZod, type Zod } from "../core/libraries.js";
import { isPlainObject } from "../core/parse.js";
import { parseRetryAfterMs } from "../core/retry.js";
import { decimalNumeral } from "../money.js";
import { type BrokenBody, WireFailure, type WireResponse } from "../wire/transport.js";
import { classifyBroken, classifyFailure, classifyResponse, type FailureClass } from "./decision.js";

/** How an attempt failed, as data. `toError` turns it into the error of the call. */
export interface Failure {
  readonly class: FailureClass;
  /** A status, a code such as `ECONNRESET`, or why a 2xx can't be used. */
  readonly reason: string;
  readonly isSent: boolean;
  /** Absent if no status arrived. */
  readonly response?: WireResponse;
  /** Why a 2xx can't be used, as a sentence. */
  readonly problem?: string;
  readonly retryAfterMs?: number | undefined;
  /** undici's error about a proxy, which has its status, and nothing of the request. */
  readonly cause?: unknown;
}

/** Something outside of the exchange failed, such as a token, a signature, or this library. It isn't retried. */
export interface Thrown {
  readonly error: unknown;
}

/** The data, with its differences from the description, or a failure. */
export type Outcome = { readonly data: unknown; readonly mismatches: readonly Mismatch[] } | Failure;

/** The failure of an exchange that threw. */
export function failureOfThrown(error: unknown): Failure | Thrown {
  if (error instanceof Ended) {
    return { class: classifyFailure(error), reason: error.kind, isSent: error.sent };
  }
  if (!(error instanceof WireFailure)) return { error };
  const { reason, sent: isSent, cause } = error;
  // Your `fetch` can give its errors any code. Three digits may be of an account.
  return { class: classifyFailure(error), reason: /\d{3}/.test(reason) ? "UNKNOWN" : reason, isSent, cause };
}

const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "The response broke off.",
  "too-large": "The response is larger than maxResponseBytes allows.",
  "not-utf8": "The response is not valid UTF-8.",
  encoded: "The response is compressed in a way that can't be read.",
  timeout: "The deadline passed before all of it had arrived.",
  abort: "Your signal ended the call before all of it had arrived.",
};

/** How to compare responses with the description: `report` differences, throw (`strict`), or don't compare (`off`). */
export type ValidationMode = "report" | "strict" | "off";

/**
 * Reads the status, the JSON, the shape, and the fields of a response. Pure.
 *
 * @param sent the values of the request, by field.
 */
export function readResponse(
  operation: AnyOperation,
  sent: Readonly<Record<string, unknown>>,
  response: WireResponse,
  validation: ValidationMode,
  schemas: Schemas,
): Outcome {
  const { status, headers, text, broken } = response;
  const refused = classifyResponse(response);
  if (refused !== undefined) {
    const retryAfterMs = parseRetryAfterMs(headers["retry-after"], clock.wallMs());
    return { class: refused, reason: String(status), isSent: true, response, retryAfterMs };
  }
  const unusable = (problem: string, kind: FailureClass = "unreadable", reason: string = kind) => {
    return { class: kind, reason, isSent: true, response, problem };
  };
  // The description gives this response no body, so the update is done, unless it's a proxy's page. Frameworks label an empty body as
  // HTML, too.
  if (operation.verb === "update") return /^\s*</.test(text) ? unusable("The response is a page of HTML.") : noData;
  if (broken !== undefined) return unusable(brokenTexts[broken], classifyBroken(broken), broken);
  if (operation.verb === "request" && text === "") return noData;
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    return unusable("The response is not JSON.");
  }
  if (operation.verb === "request") return { ...noData, data };
  const problem = problemOf(operation, sent, data);
  if (problem !== undefined) return unusable(`The response is ${problem}.`);
  const mismatches = validation === "off" ? [] : schemas.mismatches(operation, data);
  const [first] = mismatches;
  if (validation !== "strict" || first === undefined) return { data, mismatches };
  // It is certainly the record of a create.
  const kind = operation.verb === "create" ? "made" : "unreadable";
  return unusable(`Its ${first.field} is not ${first.expected} but ${first.found}.`, kind);
}

const noData: Outcome = { data: undefined, mismatches: [] };

/** Why the data isn't this record, if so. A 2xx alone proves nothing, since a proxy or a connection out of step may have sent it. */
function problemOf(
  { verb, identifiedBy, record }: Operation,
  sent: Readonly<Record<string, unknown>>,
  data: unknown,
): string | undefined {
  if (isDeep(data)) return `JSON of more than ${maxLevels} levels`;
  if (verb === "list") return Array.isArray(data) && data.every(isPlainObject) ? undefined : "not an array of records";
  if (!isPlainObject(data)) return "not a record";
  if (data.id === "" || idText(data.id) === undefined) return "not a record, since it has no id";
  if (repeatsRequest(record, sent, data)) return "only the request";
  if (identifiedBy === undefined || sent[identifiedBy] === undefined) return undefined;
  const isOwn = idText(data[identifiedBy]) === idText(sent[identifiedBy]);
  return isOwn ? undefined : `of another request, since its ${identifiedBy} is not the one that was sent`;
}

/** A service may trim an id, or return it as a number. */
function idText(id: unknown): string | undefined {
  return typeof id === "string" || typeof id === "number" ? String(id).trim() : undefined;
}

/** More levels than any record has, and few enough to copy and store it. */
const maxLevels = 100;

function isDeep(value: unknown, left = maxLevels): boolean {
  if (typeof value !== "object" || value === null) return false;
  return left === 0 || Object.values(value).some((item) => typeof item === "object" && isDeep(item, left - 1));
}

/** A field that differs from the description, without its value. */
export interface Mismatch {
  /** Its name, or `(unprintable)` if it has another name than those of the description and doesn't look like one. */
  readonly field: string;
  readonly expected: string;
  readonly found: string;
}

/** The schemas of records, each made from a table of fields on first use. Derived clients share them. */
export class Schemas {
  /** Whether zod may make code from text. If not, it interprets the schemas. */
  readonly compiles: boolean = mayCompile;
  readonly #records = new Map<FieldTable, $ZodType>();
  #zod: Zod | undefined;

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
    let known: readonly string[] = [];
    for (const item of items) {
      const names = Object.keys(item);
      const isValid = zod.validate(schema, item);
      // If no described field is missing, each further one is unknown. Most records of a list have the names of the one before them.
      if (isValid && (names.length <= described || names.every((name, index) => name === known[index]))) continue;
      known = names;
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
    const made = this.compiles ? zod.compile(schema) : schema;
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
  const patterns: Partial<Readonly<Record<FieldKind, readonly RegExp[]>>> = {
    timestamp: [zod.regexes.datetime({ offset: true }), /(Z|\+00:00)$/],
    paymentStatus: [/^(pending|processed|error|reverted)$/],
    decimal: [decimalNumeral],
  };
  const checks = patterns[kind]?.map(
    (pattern) => new zod.$ZodCheckRegex({ check: "string_format", format: "regex", pattern }),
  );
  return new zod.$ZodString({ type: "string", ...(checks && { checks }) });
}
