import { exactExchangeRate, exchangeRate } from "../../money.js";
import { operationNames } from "../../resources/catalogue.js";
import type { ExchangeRate } from "../../resources/exchange-rates.js";
import type { PaymentIntent } from "../../resources/payment-intents.js";
import type { Payment } from "../../resources/payments.js";
import type { Row } from "../collection.js";
import type { IssuedToken } from "../sandbox-tokens.js";
import type { Service } from "../service.js";
import type { ConsoleState, IntentLine, PaymentLine, RateLine, Some, TokenLine } from "./console-state.js";
import type { PaymentDesk } from "./payment-desk.js";
import type { RegisteredKeys } from "./registered-keys.js";

/** What the sandbox stores, as the page shows it. */
export function readRecords(
  service: Service,
  desk: PaymentDesk,
  registered: RegisteredKeys,
): Omit<ConsoleState, "service" | "requests" | "faults" | "tokens"> {
  const { ledger, accounts } = service;
  return {
    gateways: newest(ledger.paymentGateways.rows(), ({ record }) => ({
      id: record.id,
      institutionId: record.institutionId || record.id,
      name: record.name,
      country: record.countryCode,
      currency: record.currency,
      fingerprint: registered.fingerprintOf(record),
      canSign: desk.canSign(record),
    })),
    providers: newest(ledger.liquidityProviders.rows(), ({ record }) => ({
      id: record.id,
      name: providerName(record),
    })),
    rates: newest(ledger.exchangeRates.rows(), (row) => rateLine(service, row)),
    intents: newest(ledger.paymentIntents.rows(), ({ record }) => intentLine(record)),
    payments: newest(ledger.payments.rows(), ({ record }) => paymentLine(record)),
    accounts: accounts.first(most),
    operations: operationNames,
  };
}

/** Tokens without the tokens, the newest first. */
export function tokenLines({ settings }: Service, issued: readonly IssuedToken[]): TokenLine[] {
  const nowMs = settings.now();
  const lines = issued.map(({ kind, issuedAtMs, untilMs, isEnded, number }) => ({
    ...{ id: String(number), user: settings.credentials.username, kind, issuedAtMs, untilMs },
    fate: isEnded ? ("revoked" as const) : nowMs < untilMs ? ("valid" as const) : ("expired" as const),
  }));
  return lines.reverse();
}

export function intentLine(intent: PaymentIntent): IntentLine {
  const perUnit = `${intent.senderCurrency} for 1 ${intent.receiverCurrency}`;
  return {
    id: intent.id,
    senderGatewayId: intent.senderGatewayId,
    sender: endOf(intent.senderGatewayId, intent.senderAccount),
    senderName: intent.senderName,
    senderAmount: `${intent.senderAmount} ${intent.senderCurrency}`,
    receiver: endOf(intent.receiverGatewayId, intent.receiverAccount),
    receiverName: intent.receiverName,
    receiverAmount: `${intent.receiverAmount} ${intent.receiverCurrency}`,
    fee: `${intent.receivingGatewayFee} ${intent.receiverCurrency}`,
    rate: `${exchangeRate(intent, { scale: 6 })} ${perUnit}`,
    exactRate: `${exactExchangeRate(intent, { scale: 6 })} ${perUnit}`,
    memo: intent.memo,
  };
}

function paymentLine(payment: Payment): PaymentLine {
  return {
    id: payment.id,
    createdAt: payment.createdAt,
    sender: endOf(payment.senderGatewayId, payment.senderAccount),
    senderAmount: `${payment.senderAmount} ${payment.senderCurrency}`,
    receiver: endOf(payment.receiverGatewayId, payment.receiverAccount),
    receiverAmount: `${payment.receiverAmount} ${payment.receiverCurrency}`,
    senderStatus: payment.senderGatewayStatus,
    receiverStatus: payment.receiverGatewayStatus,
    senderTransactionId: payment.senderGatewayTransactionId,
    receiverTransactionId: payment.receiverGatewayTransactionId,
  };
}

function rateLine({ ledger }: Service, { record, owner }: Row<ExchangeRate>): RateLine {
  const provider = ledger.liquidityProviders.find(owner)?.record;
  const nameOf = (gateway: string) => ledger.gatewayNamed(gateway)?.institutionId || gateway;
  return {
    id: record.id,
    provider: provider === undefined ? owner : providerName(provider),
    base: `${record.baseCurrency} at ${nameOf(record.baseGatewayId)}`,
    counter: `${record.counterCurrency} at ${nameOf(record.counterGatewayId)}`,
    buyPrice: record.buyPrice,
    sellPrice: record.sellPrice,
  };
}

function providerName({
  firstName,
  lastName,
  id,
}: {
  readonly firstName: string;
  readonly lastName: string;
  readonly id: string;
}): string {
  return [firstName, lastName].filter((part) => part !== "").join(" ") || id;
}

function endOf(gateway: string, account: string): string {
  return `${account} at ${gateway}`;
}

/** So many of each kind are shown. */
const most = 100;

function newest<Stored, Line>(rows: readonly Row<Stored>[], lineOf: (row: Row<Stored>) => Line): Some<Line> {
  return { total: rows.length, lines: rows.slice(-most).reverse().map(lineOf) };
}
