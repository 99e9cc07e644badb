import type { Deposit } from "../resources/deposits.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import type { LiquidityProvider } from "../resources/liquidity-providers.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import type { Transfer } from "../resources/transfers.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import { Collection } from "./records.js";

/** Everything that one sandbox stores. */
export class Ledger {
  #lastToken = 0;
  readonly #nextToken = () => ++this.#lastToken;

  readonly paymentGateways = new Collection<PaymentGateway>(this.#nextToken);
  readonly liquidityProviders = new Collection<LiquidityProvider>(this.#nextToken);
  readonly deposits = new Collection<Deposit>(this.#nextToken);
  readonly withdrawals = new Collection<Withdrawal>(this.#nextToken);
  readonly exchangeRates = new Collection<ExchangeRate>(this.#nextToken);
  readonly transfers = new Collection<Transfer>(this.#nextToken);
  readonly paymentIntents = new Collection<PaymentIntent>(this.#nextToken);
  readonly payments = new Collection<Payment>(this.#nextToken);

  /** The gateway that a field of a record names, by its `institutionId` or by its `id`. */
  gatewayNamed(name: string): PaymentGateway | undefined {
    if (name === "") return undefined;
    const byId = this.paymentGateways.find(name)?.record;
    return byId ?? this.paymentGateways.rows().find(({ record }) => record.institutionId === name)?.record;
  }
}

/** Copies of what is stored, oldest first. */
export interface StoredRecords {
  readonly paymentGateways: readonly PaymentGateway[];
  readonly liquidityProviders: readonly LiquidityProvider[];
  readonly deposits: readonly Deposit[];
  readonly withdrawals: readonly Withdrawal[];
  readonly exchangeRates: readonly ExchangeRate[];
  readonly transfers: readonly Transfer[];
  readonly paymentIntents: readonly PaymentIntent[];
  readonly payments: readonly Payment[];
}

export function storedRecords(ledger: Ledger): StoredRecords {
  return {
    paymentGateways: ledger.paymentGateways.records(),
    liquidityProviders: ledger.liquidityProviders.records(),
    deposits: ledger.deposits.records(),
    withdrawals: ledger.withdrawals.records(),
    exchangeRates: ledger.exchangeRates.records(),
    transfers: ledger.transfers.records(),
    paymentIntents: ledger.paymentIntents.records(),
    payments: ledger.payments.records(),
  };
}
