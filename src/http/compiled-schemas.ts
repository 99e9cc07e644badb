import {
  $ZodCheckRegex,
  $ZodNumberFormat,
  $ZodObjectJIT as $ZodObject,
  $ZodString,
  $ZodUnknown,
  compile,
  validate,
} from "zod/v4/core";

/** What `schema.ts` needs of zod. */
export type Zod = ReturnType<typeof loadZod>;

/**
 * For bundles, loaded with the first call. Each name stands here by itself so that bundlers leave out the rest, most of which are the languages of
 * zod's messages. Where there is no bundle, `installed-schemas.ts` takes its place; on the web, `plain-schemas.ts`.
 */
export function loadZod() {
  return { $ZodCheckRegex, $ZodNumberFormat, $ZodObject, $ZodString, $ZodUnknown, compile, validate };
}
