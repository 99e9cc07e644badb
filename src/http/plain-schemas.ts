/**
 * The names of `compiled-schemas.ts` for the web: without zod's compiler, which is two thirds of what would be loaded, and
 * which workers and pages with a content security policy don't allow.
 */
export { $ZodCheckRegex, $ZodNumberFormat, $ZodObject, $ZodString, $ZodUnknown, validate } from "zod/v4/core";

/** Leaves the schema as it is: `validate` interprets it. */
export function compile<T>(schema: T): T {
  return schema;
}
