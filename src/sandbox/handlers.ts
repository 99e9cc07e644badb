import type { TypedEndpoint } from "../api/endpoint.js";
import { depositFields } from "../resources/deposits.js";
import { endpoints } from "../resources/endpoints.js";
import { exchangeRateFields } from "../resources/exchange-rates.js";
import { liquidityProviderFields } from "../resources/liquidity-providers.js";
import { paymentGatewayFields } from "../resources/payment-gateways.js";
import { transferFields } from "../resources/transfers.js";
import { withdrawalFields } from "../resources/withdrawals.js";
import { gatewayWithdrawalHandlers } from "./gateway-withdrawal-handlers.js";
import { assertQuery } from "./list-page.js";
import { createIntent, createPayment } from "./payment-handlers.js";
import {
  checkDeposit,
  checkGateway,
  checkTransfer,
  checkTransferEnds,
  checkWithdrawal,
  settleExchangeRate,
} from "./record-rules.js";
import { blank } from "./records.js";
import { listPage, notFound, providerResource, topResource } from "./resource-handlers.js";
import type { Call, Service } from "./service.js";

type Endpoints = typeof endpoints;

/** What handles one row: takes a call with the row's body, gives the row's output, or throws a `Refusal`. */
export type Handler<Row> = Row extends TypedEndpoint<infer Body, infer Output> ? (call: Call<Body>) => Output : never;

/** A handler for every row of the description's table: one too few does not compile. */
export type Handlers = {
  readonly [Resource in keyof Endpoints]: {
    readonly [Verb in keyof Endpoints[Resource]]: Handler<Endpoints[Resource][Verb]>;
  };
};

export function createHandlers(service: Service): Handlers {
  const { ledger } = service;
  return {
    paymentGateways: topResource(service, endpoints.paymentGateways, {
      collection: ledger.paymentGateways,
      blank: blank(paymentGatewayFields),
      settle: (gateway) => checkGateway(ledger, gateway),
    }),
    "paymentGateways.withdrawals": gatewayWithdrawalHandlers(service),
    liquidityProviders: topResource(service, endpoints.liquidityProviders, {
      collection: ledger.liquidityProviders,
      blank: blank(liquidityProviderFields),
    }),
    "liquidityProviders.deposits": providerResource(service, endpoints["liquidityProviders.deposits"], {
      collection: ledger.deposits,
      blank: blank(depositFields),
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
    "liquidityProviders.withdrawals": providerResource(service, endpoints["liquidityProviders.withdrawals"], {
      collection: ledger.withdrawals,
      blank: { ...blank(withdrawalFields), status: "pending" },
      settle: (withdrawal) => checkWithdrawal(ledger, withdrawal),
    }),
    "liquidityProviders.exchangeRates": providerResource(service, endpoints["liquidityProviders.exchangeRates"], {
      collection: ledger.exchangeRates,
      blank: blank(exchangeRateFields),
      settle: (rate) => settleExchangeRate(ledger, rate),
    }),
    "liquidityProviders.transfers": providerResource(service, endpoints["liquidityProviders.transfers"], {
      collection: ledger.transfers,
      blank: blank(transferFields),
      create: checkTransferEnds,
      settle: (transfer, liquidityProviderId) => checkTransfer(ledger, transfer, liquidityProviderId),
    }),
    paymentIntents: {
      create: (call) => createIntent(service, call),
      get({ params: [id = ""], query }) {
        assertQuery(query, endpoints.paymentIntents.get);
        const intent = ledger.paymentIntents.find(id)?.record;
        if (intent === undefined) throw notFound("payment intent");
        return intent;
      },
    },
    payments: {
      create: (call) => createPayment(service, call),
      list: ({ query }) => listPage(service, endpoints.payments.list, query, ledger.payments.rows()),
    },
  };
}

/** The handler of one row, for a call whose body has been held to that row. */
export function handlerOf(handlers: Handlers, operation: string): (call: Call<unknown>) => unknown {
  const dot = operation.lastIndexOf(".");
  const [resource, verb] = [operation.slice(0, dot), operation.slice(dot + 1)];
  const handler: unknown = Reflect.get(Reflect.get(handlers, resource), verb);
  // Rows and handlers have the same keys: `Handlers` is mapped over the table that the operation comes from.
  return handler as (call: Call<unknown>) => unknown;
}
