import { looksLikeName } from "../core/describe.js";

/** Decides how a field of the description is checked, filtered, and stored, and whether it may appear in a message. */
export type FieldKind =
  | "text"
  | "decimal"
  | "timestamp"
  | "status"
  | "paymentStatus"
  | "integer"
  | "publicKey"
  | "secret"
  | "account"
  | "any";

interface FieldKindFacts {
  /** What a value must be, for messages. */
  readonly expected: string;
  /** Its value never appears in a message, an event, or a log. */
  readonly isConfidential?: true;
}

const aString = "a string";

export const fieldKinds: Readonly<Record<FieldKind, FieldKindFacts>> = {
  text: { expected: aString },
  /** A numeral carried in a string, so that no digit is lost. */
  decimal: { expected: 'a decimal string such as "1500.00"' },
  /** ISO 8601 in UTC, kept as a string so that no sub-second digit is lost. */
  timestamp: { expected: "an ISO 8601 timestamp in UTC" },
  /** A string with values that the description doesn't show. */
  status: { expected: aString },
  /** A string of known values. Others are accepted and reported. */
  paymentStatus: { expected: "pending, processed, error or reverted" },
  integer: { expected: "a whole number that JavaScript holds exactly" },
  /** A public key as the service accepts it. A private key in its place is never sent. */
  publicKey: { expected: "Base64 of the PEM public key, as publicKeyToBase64 makes it" },
  secret: { expected: aString, isConfidential: true },
  /** An account number, or the name of an account's holder. */
  account: { expected: aString, isConfidential: true },
  any: { expected: "any value, null included" },
};

/** The kinds that a TypeScript type may have. With it the compiler checks a table of fields against its interface. */
type KindOf<T> = unknown extends T
  ? "any"
  : [T] extends [number]
    ? "integer"
    : [T] extends [string]
      ? Exclude<FieldKind, "integer" | "any">
      : never;

/** Fields that may be left out, or given as `undefined`, which means the same. */
export type Optional<T> = { [K in keyof T]?: T[K] | undefined };

/** A table of all fields of `T`. A missing field doesn't compile. */
export type Fields<T> = { readonly [K in keyof T]-?: KindOf<Exclude<T[K], undefined>> };

/** The same table of an unknown `T`. */
export type FieldTable = Readonly<Record<string, FieldKind>>;

/** The kind of a field. `undefined` if the table doesn't have it. */
export function kindOfField(fields: FieldTable, name: string): FieldKind | undefined {
  return Object.hasOwn(fields, name) ? fields[name] : undefined;
}

/** The texts that may appear in no message. The service may repeat them in one. A field that the table doesn't have may be anything. */
export function confidentialTexts(fields: FieldTable, values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const kind = kindOfField(fields, name);
    return kind === undefined || fieldKinds[kind].isConfidential ? textsIn(value) : [];
  });
}

/** Every text, number, and unusual name in a value, at any depth. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string" || typeof value === "number") return [String(value)];
  return Object.entries(Object(value)).flatMap(([name, item]) => [
    ...(looksLikeName(name) ? [] : [name]),
    ...textsIn(item),
  ]);
}

/** The status fields of a payment that say it failed, in any case of letters. */
export function failedStatuses(record: FieldTable, data: unknown): readonly string[] {
  const values: Readonly<Record<string, unknown>> = Object(data);
  return Object.keys(record).filter(
    (name) => record[name] === "paymentStatus" && /^(?:error|reverted)$/i.test(String(values[name])),
  );
}

/**
 * Whether a response only echoes its request. A proxy or another server may send it back without carrying it out. A record has more
 * fields, or another id.
 */
export function repeatsRequest(
  record: FieldTable,
  sent: Readonly<Record<string, unknown>>,
  data: Readonly<Record<string, unknown>>,
): boolean {
  return data.id === sent.id && !Object.keys(record).some((name) => data[name] && !sent[name]);
}
