/**
 * The parts of zod that this package uses, by name, so that bundlers leave out the rest. Most of it is the languages of its
 * messages.
 */
export {
  $ZodCheckRegex,
  $ZodNumberFormat,
  $ZodObject,
  $ZodString,
  $ZodUnknown,
  compile,
  safeParse,
  validate,
} from "zod/v4/core";
