import { describeValue } from "../errors/describe-value.js";

/** One option: what it must be, what it is when it is left out, and its line in the documentation. */
export interface Option<Value> {
  readonly accepts: (value: unknown) => boolean;
  /** What `accepts` wants, after "must be". */
  readonly wanted: string;
  readonly default?: Value;
  readonly isRequired?: true;
  /** The default as the documentation gives it, where `default` does not say it. */
  readonly documentedDefault?: string;
  /** The option's line in the documentation. */
  readonly documentation: string;
}

/** A row for each option: one too many or one too few does not compile. */
export type OptionTable<Options> = {
  readonly [Name in keyof Options]-?: Option<Exclude<Options[Name], undefined>>;
};

/** The options with their defaults. An option without a default can still be undefined. */
export type WithDefaults<Options, Table> = {
  readonly [Name in keyof Options & keyof Table]-?: Table[Name] extends { readonly default: unknown }
    ? Exclude<Options[Name], undefined>
    : Options[Name];
};

/**
 * Checks an object of options against its table.
 *
 * @param what begins the message where the object itself is wrong, such as `the client's options`.
 * @param refuse makes the error of a message.
 * @param hint follows the message about an option that does not exist.
 */
export function assertOptions(
  table: Readonly<Record<string, Option<unknown>>>,
  given: unknown,
  what: string,
  refuse: (message: string) => Error,
  hint = "",
): void {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw refuse(`${what} must be an object; found ${describeValue(given)}`);
  }
  const values: Readonly<Record<string, unknown>> = { ...given };
  for (const name of Object.keys(values)) {
    if (!Object.hasOwn(table, name)) {
      throw refuse(`there is no option ${JSON.stringify(name)}; there are ${Object.keys(table).join(", ")}${hint}`);
    }
  }
  for (const [name, { accepts, wanted, isRequired }] of Object.entries(table)) {
    const value = values[name];
    if (value === undefined ? isRequired !== true : accepts(value)) continue;
    throw refuse(`${name} must be ${wanted}; found ${showValue(value)}`);
  }
}

/** The defaults of a table, and over them what is given. */
export function withDefaults<Options extends object, Table extends OptionTable<Options>>(
  table: Table,
  given: Options,
): WithDefaults<Options, Table> {
  const values = { ...given } as Readonly<Record<string, unknown>>;
  const entries = Object.entries<Option<unknown>>(table).map(([name, option]) => [
    name,
    values[name] === undefined ? option.default : values[name],
  ]);
  return Object.fromEntries(entries) as WithDefaults<Options, Table>;
}

/** Numbers and booleans as they are; of anything else only its type, since it may be a secret. */
function showValue(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : describeValue(value);
}

export const isBoolean = (value: unknown): boolean => typeof value === "boolean";
export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isPositiveInteger = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;
