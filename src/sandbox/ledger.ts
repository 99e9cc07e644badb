import type { FieldKind } from "../api/fields.js";
import type { TypedOperation } from "../api/operation.js";
import { type CataloguedOperation, operations } from "../resources/catalogue.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import { Collection } from "./collection.js";

/** The records that the service stores, by the last part of their resource's name: of every resource that can be created. */
export type StoredTypes = {
  readonly [Row in CataloguedOperation as StoredName<Row["name"]>]: Row extends TypedOperation<
    string,
    readonly string[],
    never,
    infer Item
  >
    ? Item
    : never;
};
type StoredName<Name> = Name extends `${infer Resource}.create` ? LastPart<Resource> : never;
type LastPart<Name> = Name extends `${string}.${infer Rest}` ? LastPart<Rest> : Name;

type Collections = { readonly [Name in keyof StoredTypes]: Collection<StoredTypes[Name]> };

/** Copies of what is stored, oldest first. */
export type StoredRecords = { readonly [Name in keyof StoredTypes]: readonly StoredTypes[Name][] };

/** Everything that one sandbox stores. */
export interface Ledger extends Collections {
  /** The gateway that a field of a record names, by its `institutionId` or by its `id`. */
  gatewayNamed(name: string): PaymentGateway | undefined;
}

export function createLedger(): Ledger {
  let lastToken = 0;
  // Shared by all collections: tokens rise, with gaps within one collection.
  const nextToken = () => ++lastToken;
  const collections = Object.fromEntries(storedNames.map((name) => [name, new Collection(nextToken)])) as Collections;
  const { paymentGateways } = collections;
  return {
    ...collections,
    gatewayNamed(name) {
      if (name === "") return undefined;
      const byId = paymentGateways.find(name)?.record;
      return byId ?? paymentGateways.rows().find(({ record }) => record.institutionId === name)?.record;
    },
  };
}

export function storedRecords(ledger: Ledger): StoredRecords {
  const entries = storedNames.map((name): [string, unknown] => [name, ledger[name].records()]);
  return Object.fromEntries(entries) as StoredRecords;
}

const storedNames = [...operations.values()]
  .filter(({ verb }) => verb === "create")
  .map(({ name }) => name.split(".").at(-2) as keyof StoredTypes);

/** A record of empty texts, zeros and nulls. */
export function blankRecord<T>(row: TypedOperation<string, readonly string[], never, T>): T {
  const entries = Object.entries(row.record).map(([name, kind]) => [name, blankValues[kind]]);
  // The table has every field of T with its kind: its type holds it to that.
  return Object.fromEntries(entries) as T;
}

const blankValues: Readonly<Record<FieldKind, unknown>> = {
  text: "",
  timestamp: "",
  status: "",
  secret: "",
  account: "",
  decimal: "0",
  integer: 0,
  any: null,
};
