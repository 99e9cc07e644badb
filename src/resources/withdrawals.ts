import type { ApiClient, GetOptions } from "../api/api-client.js";
import { endpoint } from "../api/endpoint.js";
import { type Fields, pick } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { Listing } from "../paging/listing.js";

/** Funds that a liquidity provider takes out of a gateway (description: "Withdrawal"). */
export interface Withdrawal {
  /** Assigned by the service on creation. */
  id: string;
  /** Gateway from which funds are withdrawn. */
  paymentGatewayId: string;
  /** Response only: gateway transaction id of the processed withdrawal. */
  paymentGatewayTransactionId: string;
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

const writable = ["paymentGatewayId", "amount", "fee", "currency", "blockchainTransactionId", "status"] as const;

/** Body of create and update. Which fields are required is not shown. */
export interface WithdrawalFields extends Partial<Pick<Withdrawal, (typeof writable)[number]>> {}

/** Filters of the list, and the query parameters of the single read: the withdrawal's own fields. */
export interface WithdrawalFilter extends Partial<Withdrawal> {}

export const withdrawalFields: Fields<Withdrawal> = {
  id: "text",
  paymentGatewayId: "text",
  paymentGatewayTransactionId: "text",
  amount: "decimal",
  fee: "decimal",
  currency: "text",
  blockchainTransactionId: "text",
  status: "text",
};

const body = { fields: pick(withdrawalFields, writable), required: [] };

export const withdrawalEndpoints = {
  create: endpoint<Withdrawal, WithdrawalFields>({
    operation: "liquidityProviders.withdrawals.create",
    verb: "create",
    method: "POST",
    path: "/liquidity-providers/{liquidityProviderId}/withdrawals",
    body,
    record: withdrawalFields,
  }),
  list: endpoint<Withdrawal[]>({
    operation: "liquidityProviders.withdrawals.list",
    verb: "list",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/withdrawals",
    query: withdrawalFields,
    record: withdrawalFields,
  }),
  get: endpoint<Withdrawal>({
    operation: "liquidityProviders.withdrawals.get",
    verb: "get",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/withdrawals/{withdrawalId}",
    query: withdrawalFields,
    record: withdrawalFields,
  }),
  update: endpoint<void, WithdrawalFields>({
    operation: "liquidityProviders.withdrawals.update",
    verb: "update",
    method: "PUT",
    path: "/liquidity-providers/{liquidityProviderId}/withdrawals/{withdrawalId}",
    body,
  }),
};

/** The withdrawals of one liquidity provider. */
export class Withdrawals {
  readonly #caller: ApiClient;
  readonly #liquidityProviderId: string;

  constructor(caller: ApiClient, liquidityProviderId: string) {
    caller.assertId(withdrawalEndpoints.list, 0, liquidityProviderId);
    this.#caller = caller;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Requests a withdrawal: `POST /liquidity-providers/{id}/withdrawals`. Not signed unless `signedOperations` names it.
   *
   * Never repeated by the client once it may have been sent: a lost response throws `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or an amount that is no decimal numeral.
   */
  create(fields: WithdrawalFields, options?: RequestOptions): ApiPromise<Withdrawal> {
    const input = { path: [this.#liquidityProviderId], body: fields };
    return this.#caller.call(withdrawalEndpoints.create, input, options);
  }

  /** Reads one withdrawal: `GET /liquidity-providers/{id}/withdrawals/{id}`. */
  get(withdrawalId: string, options?: GetOptions<WithdrawalFilter>): ApiPromise<Withdrawal> {
    const input = { path: [this.#liquidityProviderId, withdrawalId], query: options?.query };
    return this.#caller.call(withdrawalEndpoints.get, input, options);
  }

  /**
   * Updates a withdrawal: `PUT /liquidity-providers/{id}/withdrawals/{id}`. Send all six fields: what the service does
   * with those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(withdrawalId: string, fields: WithdrawalFields, options?: RequestOptions): ApiPromise<void> {
    const input = { path: [this.#liquidityProviderId, withdrawalId], body: fields };
    return this.#caller.call(withdrawalEndpoints.update, input, options);
  }

  /** Lists the provider's withdrawals: `GET /liquidity-providers/{id}/withdrawals`. */
  list(query?: ListQuery<Withdrawal, WithdrawalFilter>, options?: RequestOptions): Listing<Withdrawal> {
    return new Listing(this.#caller, withdrawalEndpoints.list, [this.#liquidityProviderId], query, options);
  }
}
