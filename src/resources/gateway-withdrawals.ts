import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** A withdrawal as its payment gateway sees it (Interface description 0.0.1, "Withdrawal as seen from a payment gateway"). */
export interface GatewayWithdrawal {
  id: string;
  /** The gateway's own transaction id of the processed withdrawal. */
  gatewayTransactionId: string;
  /** Whose funds are withdrawn. */
  liquidityProviderId: string;
  /** Amount to withdraw, a decimal numeral. */
  amount: string;
  /** Fee for the amount withdrawn, a decimal numeral. */
  fee: string;
  /** Currency withdrawn. */
  currency: string;
  blockchainTransactionId: string;
  /** Status of the withdrawal request. Its values are not shown. */
  status: string;
}

/** Body of update. Which fields are required is not shown. */
export interface GatewayWithdrawalFields
  extends Optional<Pick<GatewayWithdrawal, "amount" | "fee" | "currency" | "blockchainTransactionId" | "status">> {}

/** Filters of the list, and the query parameters of the single read. They are the withdrawal's own fields. */
export interface GatewayWithdrawalFilter extends Optional<GatewayWithdrawal> {}

const writable = ["amount", "fee", "currency", "blockchainTransactionId", "status"] as const;

/** The description's rows of this resource. */
export const gatewayWithdrawals = resource<GatewayWithdrawal, GatewayWithdrawalFields>()(
  "paymentGateways.withdrawals",
  "/payment-gateways/{paymentGatewayId}/withdrawals",
  {
    fields: {
      id: "text",
      gatewayTransactionId: "text",
      liquidityProviderId: "text",
      amount: "decimal",
      fee: "decimal",
      currency: "text",
      blockchainTransactionId: "text",
      status: "status",
    },
    list: true,
    get: true,
    update: { body: writable },
  },
);

/** The withdrawals of one payment gateway. */
export class GatewayWithdrawals {
  readonly #client: ApiClient;
  readonly #paymentGatewayId: string;

  /** @internal */
  constructor(client: ApiClient, paymentGatewayId: string) {
    this.#client = client;
    this.#paymentGatewayId = paymentGatewayId;
  }

  /** Reads one withdrawal: `GET /payment-gateways/{id}/withdrawals/{id}`. */
  get(withdrawalId: string, options?: GetOptions<GatewayWithdrawalFilter>): ApiPromise<GatewayWithdrawal> {
    return this.#client.call(gatewayWithdrawals.get, [this.#paymentGatewayId, withdrawalId], {}, options);
  }

  /**
   * Updates a withdrawal: `PUT /payment-gateways/{id}/withdrawals/{id}`. Send all five fields. What the service does with
   * those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(withdrawalId: string, fields: GatewayWithdrawalFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(
      gatewayWithdrawals.update,
      [this.#paymentGatewayId, withdrawalId],
      { body: fields },
      options,
    );
  }

  /** Lists the gateway's withdrawals: `GET /payment-gateways/{id}/withdrawals`. */
  list(
    query?: ListQuery<GatewayWithdrawal, GatewayWithdrawalFilter>,
    options?: RequestOptions,
  ): Listing<GatewayWithdrawal> {
    return listRecords(this.#client, gatewayWithdrawals.list, [this.#paymentGatewayId], query, options);
  }
}
