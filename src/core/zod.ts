/**
 * The parts of zod that this package uses, by name: bundlers then leave out the rest, most of which are the languages of its
 * messages.
 */
export {
  $ZodCheckRegex,
  $ZodNumberFormat,
  $ZodObject,
  $ZodString,
  $ZodUnknown,
  compile,
  regexes,
  safeParse,
  validate,
} from "zod/v4/core";
