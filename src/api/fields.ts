/**
 * What a field of the description is made of. `decimal` is a numeral carried in a string, `status` a string of known and
 * unknown values, `integer` a JSON number, `any` whatever JSON holds.
 */
export type FieldKind = "text" | "decimal" | "status" | "integer" | "any";

/** The kinds that a TypeScript type may have: this is how the compiler holds the tables to the interfaces. */
type KindOf<T> = unknown extends T
  ? "any"
  : [T] extends [number]
    ? "integer"
    : [T] extends [string]
      ? Exclude<FieldKind, "integer" | "any">
      : never;

/** A table of all the fields of `T`: one too many or one too few does not compile. */
export type Fields<T> = { readonly [K in keyof T]-?: KindOf<Exclude<T[K], undefined>> };

/** The same table where `T` is not known any more. */
export type FieldTable = Readonly<Record<string, FieldKind>>;

/** The part of a table that `names` names. */
export function pick<F extends FieldTable, const K extends keyof F & string>(
  fields: F,
  names: readonly K[],
): { readonly [Name in K]: F[Name] } {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as { readonly [Name in K]: F[Name] };
}

/** A table without some of its fields. */
export function omit<F extends FieldTable, const K extends keyof F & string>(
  fields: F,
  names: readonly K[],
): Omit<F, K> {
  const left = Object.entries(fields).filter(([name]) => !(names as readonly string[]).includes(name));
  return Object.fromEntries(left) as Omit<F, K>;
}
