import type { ApiClient, GetOptions } from "../api/api-client.js";
import { endpoint } from "../api/endpoint.js";
import { type Fields, pick } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { Listing } from "../paging/listing.js";

/** A withdrawal as its payment gateway sees it (description: "Withdrawal as seen from a payment gateway"). */
export interface GatewayWithdrawal {
  id: string;
  /** The gateway's own transaction id of the processed withdrawal. */
  gatewayTransactionId: string;
  /** Whose funds are withdrawn. */
  liquidityProviderId: string;
  /** Amount to withdraw: a decimal numeral. */
  amount: string;
  /** Fee for the amount withdrawn: a decimal numeral. */
  fee: string;
  /** Currency withdrawn. */
  currency: string;
  blockchainTransactionId: string;
  /** Status of the withdrawal request. Allowed values: not shown. */
  status: string;
}

const writable = ["amount", "fee", "currency", "blockchainTransactionId", "status"] as const;

/** Body of update. Which fields are required is not shown. */
export interface GatewayWithdrawalFields extends Partial<Pick<GatewayWithdrawal, (typeof writable)[number]>> {}

/** Filters of the list, and the query parameters of the single read: the withdrawal's own fields. */
export interface GatewayWithdrawalFilter extends Partial<GatewayWithdrawal> {}

export const gatewayWithdrawalFields: Fields<GatewayWithdrawal> = {
  id: "text",
  gatewayTransactionId: "text",
  liquidityProviderId: "text",
  amount: "decimal",
  fee: "decimal",
  currency: "text",
  blockchainTransactionId: "text",
  status: "text",
};

export const gatewayWithdrawalEndpoints = {
  list: endpoint<GatewayWithdrawal[]>({
    operation: "paymentGateways.withdrawals.list",
    verb: "list",
    method: "GET",
    path: "/payment-gateways/{paymentGatewayId}/withdrawals",
    query: gatewayWithdrawalFields,
    record: gatewayWithdrawalFields,
  }),
  get: endpoint<GatewayWithdrawal>({
    operation: "paymentGateways.withdrawals.get",
    verb: "get",
    method: "GET",
    path: "/payment-gateways/{paymentGatewayId}/withdrawals/{withdrawalId}",
    query: gatewayWithdrawalFields,
    record: gatewayWithdrawalFields,
  }),
  update: endpoint<void, GatewayWithdrawalFields>({
    operation: "paymentGateways.withdrawals.update",
    verb: "update",
    method: "PUT",
    path: "/payment-gateways/{paymentGatewayId}/withdrawals/{withdrawalId}",
    body: { fields: pick(gatewayWithdrawalFields, writable), required: [] },
  }),
};

/** The withdrawals of one payment gateway. */
export class GatewayWithdrawals {
  readonly #caller: ApiClient;
  readonly #paymentGatewayId: string;

  constructor(caller: ApiClient, paymentGatewayId: string) {
    caller.assertId(gatewayWithdrawalEndpoints.list, 0, paymentGatewayId);
    this.#caller = caller;
    this.#paymentGatewayId = paymentGatewayId;
  }

  /** Reads one withdrawal: `GET /payment-gateways/{id}/withdrawals/{id}`. */
  get(withdrawalId: string, options?: GetOptions<GatewayWithdrawalFilter>): ApiPromise<GatewayWithdrawal> {
    const input = { path: [this.#paymentGatewayId, withdrawalId], query: options?.query };
    return this.#caller.call(gatewayWithdrawalEndpoints.get, input, options);
  }

  /**
   * Updates a withdrawal: `PUT /payment-gateways/{id}/withdrawals/{id}`. Send all five fields: what the service does with
   * those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(withdrawalId: string, fields: GatewayWithdrawalFields, options?: RequestOptions): ApiPromise<void> {
    const input = { path: [this.#paymentGatewayId, withdrawalId], body: fields };
    return this.#caller.call(gatewayWithdrawalEndpoints.update, input, options);
  }

  /** Lists the gateway's withdrawals: `GET /payment-gateways/{id}/withdrawals`. */
  list(
    query?: ListQuery<GatewayWithdrawal, GatewayWithdrawalFilter>,
    options?: RequestOptions,
  ): Listing<GatewayWithdrawal> {
    return new Listing(this.#caller, gatewayWithdrawalEndpoints.list, [this.#paymentGatewayId], query, options);
  }
}
