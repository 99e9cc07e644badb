import { type GatewayWithdrawal, gatewayWithdrawals } from "../resources/gateway-withdrawals.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import type { Row } from "./collection.js";
import type { HandlersOf } from "./handler.js";
import { assertQuery } from "./list-page.js";
import { checkWithdrawal } from "./record-rules.js";
import { listPage, notFound } from "./resource-handlers.js";
import type { SandboxCall, Service } from "./service.js";

/** Reads and updates of withdrawals by the gateway that pays them out: the same stored records, seen from there. */
export function gatewayWithdrawalHandlers(
  service: Service,
): HandlersOf<(typeof gatewayWithdrawals)[keyof typeof gatewayWithdrawals]> {
  const rowsOf = ({ params: [gatewayId = ""] }: SandboxCall<unknown>) => rowsAt(service, gatewayId);
  const rowOf = (call: SandboxCall<unknown>) => {
    const row = rowsOf(call).find(({ record }) => record.id === call.params[1]);
    if (row === undefined) throw notFound("withdrawal");
    return row;
  };
  return {
    "paymentGateways.withdrawals.list": (call) => {
      const seen = rowsOf(call).map((row) => ({ ...row, record: seenFromGateway(row) }));
      return listPage(service, gatewayWithdrawals.list, call.query, seen);
    },
    "paymentGateways.withdrawals.get": (call) => {
      assertQuery(call.query, gatewayWithdrawals.get);
      return seenFromGateway(rowOf(call));
    },
    "paymentGateways.withdrawals.update": (call) => {
      const row = rowOf(call);
      // JSON has no undefined.
      const changes = call.body as Partial<Withdrawal>;
      row.record = honored(service, checkWithdrawal(service.ledger, { ...row.record, ...changes }));
    },
  };
}

function rowsAt({ ledger }: Service, gatewayId: string): Row<Withdrawal>[] {
  if (ledger.paymentGateways.find(gatewayId) === undefined) throw notFound("payment gateway");
  return ledger.withdrawals
    .rows()
    .filter(({ record }) => ledger.gatewayNamed(record.paymentGatewayId)?.id === gatewayId);
}

function seenFromGateway({ owner, record }: Row<Withdrawal>): GatewayWithdrawal {
  const { id, paymentGatewayTransactionId, amount, fee, currency, blockchainTransactionId, status } = record;
  return {
    id,
    gatewayTransactionId: paymentGatewayTransactionId,
    liquidityProviderId: owner,
    amount,
    fee,
    currency,
    blockchainTransactionId,
    status,
  };
}

/** No body carries the gateway's transaction id, so it appears when the gateway says that it has paid out. */
function honored(service: Service, withdrawal: Withdrawal): Withdrawal {
  if (withdrawal.status !== "processed" || withdrawal.paymentGatewayTransactionId !== "") return withdrawal;
  return { ...withdrawal, paymentGatewayTransactionId: service.newTransactionId() };
}
