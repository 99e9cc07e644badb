/**
 * What `schema.ts` needs of zod, loaded with the first call. Each name stands here by itself so that bundlers leave out the
 * rest, most of which are the languages of zod's messages. `plain-schemas.ts` exports the same names.
 */
export {
  $ZodCheckRegex,
  $ZodNumberFormat,
  $ZodObjectJIT as $ZodObject,
  $ZodString,
  $ZodUnknown,
  compile,
  validate,
} from "zod/v4/core";
