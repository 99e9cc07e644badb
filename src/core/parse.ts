import { describeName, describeValue, nearest } from "./describe.js";

/** Checks one option. */
export interface Check<Value = never> {
  readonly accepts: (value: unknown) => boolean;
  /** Follows "must be" in the message about another value. */
  readonly expected: string;
  /** Follows the name in the message about a value that isn't accepted, if there is more to say. */
  readonly problemOf?: (value: unknown) => string | undefined;
  readonly isRequired?: true;
  /** A wrong value is never shown. */
  readonly isSecret?: true;
  /** The documentation has it, too. */
  readonly default?: Value;
}

/** A row for each option. One too many or one too few doesn't compile. */
export type CheckTable<Options> = {
  readonly [Name in keyof Options]-?: Check<Exclude<Options[Name], undefined>>;
};

/** The options with their defaults. An option without a default can still be undefined. */
export type WithDefaults<Options, Table> = {
  readonly [Name in keyof Options & keyof Table]-?: Table[Name] extends { readonly default: unknown }
    ? Exclude<Options[Name], undefined>
    : Options[Name];
};

/**
 * Checks an object of options against its table, and returns a copy. Each option is read once.
 *
 * @param what begins the message if the object itself is wrong, such as `the client's options`.
 * @param refuse makes the error of a message.
 * @param hint follows the message about an option that does not exist.
 */
export function parseOptions<Options = Record<string, unknown>>(
  table: Readonly<Record<string, Check<unknown>>>,
  given: unknown,
  what: string,
  refuse: (message: string) => Error,
  hint = "",
): Options {
  const names = Object.keys(table);
  if (!isPlainObject(given)) throw refuse(`${what} must be an object; got ${describeValue(given)}`);
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(table, name)) continue;
    const meant = nearest(name, names) ?? names.find((each) => each.startsWith(name));
    const advice = meant === undefined ? `; the options are ${names.join(", ")}` : `. Did you mean "${meant}"?`;
    throw refuse(`unknown option ${describeName(name)}${advice}${hint}`);
  }
  const values: Record<string, unknown> = {};
  for (const name of names) {
    const value = given[name];
    const { accepts, expected, problemOf, isRequired, isSecret } = table[name] as Check;
    if (value === undefined ? isRequired : !accepts(value)) {
      const problem = problemOf?.(value);
      const got = isSecret ? describeValue(value) : showValue(value);
      throw refuse(problem === undefined ? `${name} must be ${expected}; got ${got}` : `${name} ${problem}`);
    }
    if (value !== undefined) values[name] = value;
  }
  // The table has checked the types.
  return values as Options;
}

/** The defaults of a table, and over them what was parsed. */
export function withDefaults<Options, Table extends CheckTable<Options>>(
  table: Table,
  parsed: Options,
): WithDefaults<Options, Table> {
  const defaults = Object.entries<Check<unknown>>(table).map(([name, option]) => [name, option.default]);
  return { ...Object.fromEntries(defaults), ...parsed };
}

/** Shows numbers and booleans, but only the type of anything else, since it may be a secret. */
function showValue(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describeValue(value);
}

export const isBoolean = (value: unknown): boolean => typeof value === "boolean";
/** Whether a value has named properties. An array, a `Map`, or a promise that wasn't awaited has none. */
export const isPlainObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  Object.prototype.toString.call(value) === "[object Object]";
export const isFunction = (value: unknown): boolean => typeof value === "function";
export const hasMethods = (value: unknown, ...names: readonly string[]): boolean =>
  names.every((name) => isFunction(Reflect.get(Object(value), name)));
export const isText = (value: unknown): boolean => typeof value === "string" && value !== "";
export const isWholeFrom =
  (least: number, most = Number.MAX_SAFE_INTEGER) =>
  (value: unknown): boolean =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
export const isPositiveInteger = isWholeFrom(1);
