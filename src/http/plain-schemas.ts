import { $ZodCheckRegex, $ZodNumberFormat, $ZodObject, $ZodString, $ZodUnknown, validate } from "zod/v4/core";

/**
 * What `compiled-schemas.ts` has, for the web: without zod's compiler, which is two thirds of what would be loaded, and which workers and pages
 * with a content security policy don't allow.
 */
export function loadZod() {
  return { $ZodCheckRegex, $ZodNumberFormat, $ZodObject, $ZodString, $ZodUnknown, compile, validate };
}

/** Leaves the schema as it is: `validate` interprets it. */
function compile<T>(schema: T): T {
  return schema;
}
