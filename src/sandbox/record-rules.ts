import { exact } from "../money.js";
import type { Deposit } from "../resources/deposits.js";
import type { ExchangeRate } from "../resources/exchange-rates.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { Transfer } from "../resources/transfers.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import type { Ledger } from "./ledger.js";
import { type PriceFraction, priceFraction } from "./price-fraction.js";
import { SandboxRefusal } from "./responses.js";

/** A gateway is named by its `institutionId` in payments: no two may share one. */
export function checkGateway(ledger: Ledger, gateway: PaymentGateway): PaymentGateway {
  const named = ledger.gatewayNamed(gateway.institutionId);
  if (named !== undefined && named.id !== gateway.id) {
    throw new SandboxRefusal("duplicate_institution_id", "another gateway has this institutionId");
  }
  return gateway;
}

export function checkDeposit(ledger: Ledger, deposit: Deposit): Deposit {
  requireGateway(ledger, "paymentGatewayId", deposit.paymentGatewayId);
  requireNotNegative("amount", deposit.amount);
  return deposit;
}

export function checkWithdrawal(ledger: Ledger, withdrawal: Withdrawal): Withdrawal {
  requireGateway(ledger, "paymentGatewayId", withdrawal.paymentGatewayId);
  requireNotNegative("amount", withdrawal.amount);
  requireNotNegative("fee", withdrawal.fee);
  return withdrawal;
}

/** The four integers follow from the prices: each pair is its price as a fraction in lowest terms. */
export function settleExchangeRate(ledger: Ledger, rate: ExchangeRate): ExchangeRate {
  requireGateway(ledger, "baseGatewayId", rate.baseGatewayId);
  requireGateway(ledger, "counterGatewayId", rate.counterGatewayId);
  const buy = fractionOf("buyPrice", rate.buyPrice);
  const sell = fractionOf("sellPrice", rate.sellPrice);
  return {
    ...rate,
    buyPriceN: buy.numerator,
    buyPriceD: buy.denominator,
    sellPriceN: sell.numerator,
    sellPriceD: sell.denominator,
  };
}

export function checkTransfer(ledger: Ledger, transfer: Transfer, liquidityProviderId: string): Transfer {
  const { from, to, exchangeRateId, gatewayId } = transfer;
  if (gatewayId !== "") requireGateway(ledger, "gatewayId", gatewayId);
  requireNotNegative("amount", transfer.amount);
  const needsRate = exchangeRateId !== "" || from === "exchange-rate" || to === "exchange-rate";
  if (needsRate && ledger.exchangeRates.find(exchangeRateId, liquidityProviderId) === undefined) {
    throw new SandboxRefusal("unknown_exchange_rate", "exchangeRateId names none of the provider's exchange rates");
  }
  return transfer;
}

export function requireGateway(ledger: Ledger, field: string, name: string): PaymentGateway {
  const gateway = ledger.gatewayNamed(name);
  if (gateway === undefined) throw new SandboxRefusal("unknown_gateway", `${field} names no registered gateway`);
  return gateway;
}

export function requirePositive(field: string, numeral: string): void {
  if (exact(numeral).units <= 0n) throw new SandboxRefusal("invalid_value", `${field} must be above zero`);
}

export function requireNotNegative(field: string, numeral: string): void {
  if (exact(numeral).units < 0n) throw new SandboxRefusal("invalid_value", `${field} must not be below zero`);
}

function fractionOf(field: string, price: string): PriceFraction {
  const fraction = priceFraction(price);
  if (fraction === undefined) throw new SandboxRefusal("invalid_value", `${field} must be above zero and within 2^53`);
  return fraction;
}
