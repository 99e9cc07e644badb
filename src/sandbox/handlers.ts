import type { CataloguedOperation } from "../resources/catalogue.js";
import { gatewayWithdrawalHandlers } from "./gateway-withdrawal-handlers.js";
import type { HandlersOf } from "./handler.js";
import { createIntent, createPayment } from "./payment-handlers.js";
import { checkDeposit, checkGateway, checkTransfer, checkWithdrawal, settleExchangeRate } from "./record-rules.js";
import { type Rules, recordHandlers } from "./resource-handlers.js";
import type { SandboxCall, Service } from "./service.js";

/** A handler for every row of the description: one too few does not compile. */
export type Handlers = HandlersOf<CataloguedOperation>;

export function createHandlers(service: Service): Handlers {
  return {
    ...recordHandlers(service, rulesOf(service)),
    ...gatewayWithdrawalHandlers(service),
    "paymentIntents.create": (call) => createIntent(service, call),
    "payments.create": (call) => createPayment(service, call),
  };
}

/** Rules of the records that are more than what was sent. */
function rulesOf({ ledger, newTransactionId }: Service): Rules {
  return {
    paymentGateways: { settle: (gateway) => checkGateway(ledger, gateway) },
    deposits: {
      create: (deposit, call) => ({
        ...deposit,
        blockchainTransactionId: deposit.blockchainTransactionId || newTransactionId(),
        requestUri: call.signedPath,
        requestBody: call.rawText,
        paymentGatewayPublicKeyBase64: call.signature?.publicKeyBase64 ?? "",
        requestSignatureBase64: call.signature?.signatureBase64 ?? "",
      }),
      settle: (deposit) => checkDeposit(ledger, deposit),
    },
    withdrawals: {
      blank: { status: "pending" },
      settle: (withdrawal) => checkWithdrawal(ledger, withdrawal),
    },
    exchangeRates: { settle: (rate) => settleExchangeRate(ledger, rate) },
    transfers: { settle: (transfer, liquidityProviderId) => checkTransfer(ledger, transfer, liquidityProviderId) },
  };
}

/** The handler of one row, for a call whose body was checked against that row. */
export function handlerOf(handlers: Handlers, operation: string): (call: SandboxCall<unknown>) => unknown {
  // `Handlers` is mapped over the rows that the name comes from.
  return Reflect.get(handlers, operation) as (call: SandboxCall<unknown>) => unknown;
}
