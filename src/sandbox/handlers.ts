import type { CataloguedOperation } from "../resources/catalogue.js";
import { deposits } from "../resources/deposits.js";
import { exchangeRates } from "../resources/exchange-rates.js";
import { liquidityProviders } from "../resources/liquidity-providers.js";
import { paymentGateways } from "../resources/payment-gateways.js";
import { paymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { transfers } from "../resources/transfers.js";
import { withdrawals } from "../resources/withdrawals.js";
import { gatewayWithdrawalHandlers } from "./gateway-withdrawal-handlers.js";
import type { HandlersOf } from "./handler.js";
import { blankRecord } from "./ledger.js";
import { assertQuery } from "./list-page.js";
import { createIntent, createPayment } from "./payment-handlers.js";
import { checkDeposit, checkGateway, checkTransfer, checkWithdrawal, settleExchangeRate } from "./record-rules.js";
import { listPage, notFound, providerResource, topResource } from "./resource-handlers.js";
import type { Call, Service } from "./service.js";

/** A handler for every row of the description: one too few does not compile. */
export type Handlers = HandlersOf<CataloguedOperation>;

export function createHandlers(service: Service): Handlers {
  const { ledger } = service;
  return {
    ...topResource(service, paymentGateways, {
      collection: ledger.paymentGateways,
      blank: blankRecord(paymentGateways.create),
      settle: (gateway) => checkGateway(ledger, gateway),
    }),
    ...gatewayWithdrawalHandlers(service),
    ...topResource(service, liquidityProviders, {
      collection: ledger.liquidityProviders,
      blank: blankRecord(liquidityProviders.create),
    }),
    ...providerResource(service, deposits, {
      collection: ledger.deposits,
      blank: blankRecord(deposits.create),
      create: (deposit, call) => ({
        ...deposit,
        blockchainTransactionId: deposit.blockchainTransactionId || service.newTransactionId(),
        requestUri: call.signedPath,
        requestBody: call.rawText,
        paymentGatewayPublicKeyBase64: call.signature?.publicKeyBase64 ?? "",
        requestSignatureBase64: call.signature?.signatureBase64 ?? "",
      }),
      settle: (deposit) => checkDeposit(ledger, deposit),
    }),
    ...providerResource(service, withdrawals, {
      collection: ledger.withdrawals,
      blank: { ...blankRecord(withdrawals.create), status: "pending" },
      settle: (withdrawal) => checkWithdrawal(ledger, withdrawal),
    }),
    ...providerResource(service, exchangeRates, {
      collection: ledger.exchangeRates,
      blank: blankRecord(exchangeRates.create),
      settle: (rate) => settleExchangeRate(ledger, rate),
    }),
    ...providerResource(service, transfers, {
      collection: ledger.transfers,
      blank: blankRecord(transfers.create),
      settle: (transfer, liquidityProviderId) => checkTransfer(ledger, transfer, liquidityProviderId),
    }),
    "paymentIntents.create": (call) => createIntent(service, call),
    "paymentIntents.get": ({ params: [id = ""], query }) => {
      assertQuery(query, paymentIntents.get);
      const intent = ledger.paymentIntents.find(id)?.record;
      if (intent === undefined) throw notFound("payment intent");
      return intent;
    },
    "payments.create": (call) => createPayment(service, call),
    "payments.list": ({ query }) => listPage(service, payments.list, query, ledger.payments.rows()),
  };
}

/** The handler of one row, for a call whose body was checked against that row. */
export function handlerOf(handlers: Handlers, operation: string): (call: Call<unknown>) => unknown {
  // `Handlers` is mapped over the rows that the name comes from.
  return Reflect.get(handlers, operation) as (call: Call<unknown>) => unknown;
}
