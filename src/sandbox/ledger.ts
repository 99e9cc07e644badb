import type { FieldKind } from "../api/fields.js";
import type { TypedOperation } from "../api/operation.js";
import { type CataloguedOperation, operations } from "../resources/catalogue.js";
import type { Deposit } from "../resources/deposits.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import type { LiquidityProvider } from "../resources/liquidity-providers.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import type { Transfer } from "../resources/transfers.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import { Collection } from "./collection.js";

/** Copies of what is stored, oldest first: the records of every resource that can be created. */
export type StoredRecords = {
  readonly paymentGateways: readonly PaymentGateway[];
  readonly liquidityProviders: readonly LiquidityProvider[];
  readonly deposits: readonly Deposit[];
  readonly withdrawals: readonly Withdrawal[];
  readonly exchangeRates: readonly ExchangeRate[];
  readonly transfers: readonly Transfer[];
  readonly paymentIntents: readonly PaymentIntent[];
  readonly payments: readonly Payment[];
};

type Collections = { readonly [Name in keyof StoredRecords]: Collection<StoredRecords[Name][number]> };

export interface Ledger extends Collections {
  /** The gateway that a field of a record names, by its `institutionId` or by its `id`. */
  gatewayNamed(name: string): PaymentGateway | undefined;
  /** The record with this id and owner, where the records of that name are stored. */
  find(storedName: string, id: string, owner: string): object | undefined;
}

export function createLedger(now: () => number): Ledger {
  let lastToken = 0;
  // Shared by all collections: tokens rise, with gaps within one collection.
  const nextToken = () => ++lastToken;
  const collections = Object.fromEntries(
    storedNames.map((name) => [name, new Collection(nextToken, now)]),
  ) as Collections;
  const { paymentGateways } = collections;
  return {
    ...collections,
    gatewayNamed(name) {
      if (name === "") return undefined;
      const byId = paymentGateways.find(name)?.record;
      return byId ?? paymentGateways.rows().find(({ record }) => record.institutionId === name)?.record;
    },
    find: (name, id, owner) => (isStoredName(name) ? collections[name].find(id, owner)?.record : undefined),
  };
}

export function storedRecords(ledger: Ledger): StoredRecords {
  const entries = storedNames.map((name): [string, unknown] => [name, ledger[name].records()]);
  return Object.fromEntries(entries) as StoredRecords;
}

/** `deposits` of `liquidityProviders.deposits.create`. */
type StoredName<Name extends string> = Name extends `${infer Stored}.create`
  ? Stored extends `${string}.${infer Nested}`
    ? StoredName<`${Nested}.create`>
    : Stored
  : never;
/** Does not compile where a resource that can be created is none of the `StoredRecords`. */
type CreatedRecords = { readonly [Row in CataloguedOperation as StoredName<Row["name"]>]: readonly RecordOf<Row>[] };
type RecordOf<Row> = Row extends TypedOperation<string, readonly string[], infer _Body, infer Item> ? Item : never;
type EveryOne<_Records extends CreatedRecords> = keyof CreatedRecords;

/** The name under which the records of a `create` are stored. */
export function storedNameOf({ name }: { readonly name: string }): EveryOne<StoredRecords> {
  return name.split(".").at(-2) as keyof StoredRecords;
}

const storedNames = [...operations.values()].filter(({ verb }) => verb === "create").map(storedNameOf);

function isStoredName(name: string): name is keyof StoredRecords {
  return storedNames.some((stored) => stored === name);
}

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
  publicKey: "",
  paymentStatus: "",
  secret: "",
  account: "",
  decimal: "0",
  integer: 0,
  any: null,
};
