import { randomBytes } from "node:crypto";
import type { FieldKind, FieldTable } from "../api/fields.js";
import type { Deposit } from "../resources/deposits.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import type { LiquidityProvider } from "../resources/liquidity-providers.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import type { Transfer } from "../resources/transfers.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import type { SandboxSettings } from "./options.js";

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

/** A stored record. */
export interface Row<T> {
  /** Rises with each record of the sandbox. It is the paging token. */
  readonly token: number;
  /** The liquidity provider under which it is stored, or empty. */
  readonly owner: string;
  readonly addedAtMs: number;
  record: Readonly<T>;
}

/** The stored records of one kind, oldest first. */
export class Collection<T extends { readonly id: string }> {
  readonly #rows = new Map<string, Row<T>>();
  readonly #newPlace: () => { readonly token: number; readonly addedAtMs: number };

  constructor(newPlace: () => { readonly token: number; readonly addedAtMs: number }) {
    this.#newPlace = newPlace;
  }

  add(record: T, owner = ""): Row<T> {
    const row = { ...this.#newPlace(), owner, record };
    this.#rows.set(record.id, row);
    return row;
  }

  find(id: string, owner = ""): Row<T> | undefined {
    const row = this.#rows.get(id);
    return row?.owner === owner ? row : undefined;
  }

  rows(): Row<T>[] {
    return [...this.#rows.values()];
  }

  records(): T[] {
    return this.rows().map(({ record }) => structuredClone(record));
  }
}

const kinds = [
  ...["paymentGateways", "liquidityProviders", "deposits", "withdrawals", "exchangeRates", "transfers"],
  ...["paymentIntents", "payments"],
];
type Collections = { readonly [Name in keyof StoredRecords]: Collection<StoredRecords[Name][number]> };

/** The memory of a sandbox. */
export class Store {
  readonly settings: SandboxSettings;
  readonly accounts = new AccountDirectory();
  readonly records: Collections;
  #lastToken = 0;
  #lastMicros = -Infinity;

  constructor(settings: SandboxSettings) {
    this.settings = settings;
    // Shared by all collections, so tokens have gaps within one.
    const newPlace = () => {
      this.#lastToken += 1;
      return { token: this.#lastToken, addedAtMs: settings.now() };
    };
    this.records = Object.fromEntries(kinds.map((kind) => [kind, new Collection(newPlace)])) as unknown as Collections;
  }

  /** The gateway that a field names, by its `institutionId` or its `id`. */
  gatewayNamed(name: string): PaymentGateway | undefined {
    if (name === "") return undefined;
    const { paymentGateways } = this.records;
    const isNamed = ({ record }: Row<PaymentGateway>) => record.institutionId === name;
    return (paymentGateways.find(name) ?? paymentGateways.rows().find(isNamed))?.record;
  }

  /** ISO 8601 in UTC with microseconds. Each is later than the one before, so records of one millisecond keep their order. */
  timestamp(): string {
    this.#lastMicros = Math.max(Math.floor(this.settings.now() * 1000), this.#lastMicros + 1);
    const millis = Math.floor(this.#lastMicros / 1000);
    const rest = String(this.#lastMicros - millis * 1000).padStart(3, "0");
    return `${new Date(millis).toISOString().slice(0, -1)}${rest}Z`;
  }
}

export function newTransactionId(): string {
  return randomBytes(32).toString("hex");
}

/** A record of empty texts, zeros, and nulls. */
export function blankRecord(fields: FieldTable): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, blankValues[kind] ?? ""]));
}

const blankValues: { readonly [Kind in FieldKind]?: unknown } = { decimal: "0", integer: 0 };

/** One account of one gateway, with the name of its holder. */
export interface Account {
  /** The gateway's `institutionId`, or its record's `id`. */
  readonly gatewayId: string;
  readonly account: string;
  readonly name: string;
}

/** The accounts that the sandbox's name verification knows. */
export class AccountDirectory {
  readonly #accounts = new Map<string, Account>();

  /** Adds an account, or renames a known one. */
  add({ gatewayId, account, name }: Account): void {
    this.#accounts.set(keyOf(gatewayId, account), { gatewayId, account, name });
  }

  /** Removes an account. Returns whether there was one. */
  remove(gatewayId: string, account: string): boolean {
    return this.#accounts.delete(keyOf(gatewayId, account));
  }

  /** @internal */
  all(): readonly Account[] {
    return [...this.#accounts.values()];
  }

  nameOf(gatewayId: string, account: string): string | undefined {
    return this.#accounts.get(keyOf(gatewayId, account))?.name;
  }
}

function keyOf(gatewayId: string, account: string): string {
  return JSON.stringify([gatewayId, account]);
}
