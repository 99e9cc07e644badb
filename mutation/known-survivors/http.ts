import type { KnownSurvivor } from "../known-survivor.js";

const partialObject = "src/http/parse-partial-object.ts";
const schema = "src/http/schema.ts";

export const http: readonly KnownSurvivor[] = [
  {
    file: "src/http/decision.ts",
    line: "return severity[one] >= severity[other] ? one : other;",
    replacement: "severity[one] > severity[other]",
    why: "Both are the same effect where they are as severe.",
  },
  {
    file: partialObject,
    line: "for (let at = start; at < end && (depth > 0 || at === start); at++) {",
    replacement: "at <= end",
    why: "Behind the text there is no character, which changes nothing.",
  },
  {
    file: partialObject,
    line: "} catch {",
    replacement: "{}",
    why: "It returns undefined without saying so, too.",
  },
  {
    file: partialObject,
    line: "for (let at = start + 1; at < end; at++) {",
    replacement: "at <= end",
    why: "Behind the text there is no character, so that no quote is found there.",
  },
  {
    file: schema,
    line: "if (differs) this.#addDifferent(found, schema, record, item);",
    replacement: "true",
    why: "Only speed: in a record that is valid as a whole, each field is.",
  },
  {
    file: schema,
    line: 'new $ZodNumberFormat({ type: "number", check: "number_format", format: "safeint", abort: false }),',
    replacement: "true",
    why: "Whether zod goes on to further checks of the number: there are none.",
  },
  {
    file: schema,
    line: 'return fieldKinds[kindOfField(fields, field) ?? "text"].wanted;',
    replacement: '""',
    why: "For the compiler: only fields of the table are asked for.",
  },
];
