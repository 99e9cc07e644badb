import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** Funds that a liquidity provider takes out of a gateway (Interface description 0.0.1, "Withdrawal"). */
export interface Withdrawal {
  /** Assigned by the service on creation. */
  id: string;
  /** Gateway from which funds are withdrawn. */
  paymentGatewayId: string;
  /** Gateway transaction id of the processed withdrawal. Response only. */
  paymentGatewayTransactionId: string;
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

/** Body of create and update. Which fields are required is not shown. */
export interface WithdrawalFields
  extends Optional<
    Pick<Withdrawal, "paymentGatewayId" | "amount" | "fee" | "currency" | "blockchainTransactionId" | "status">
  > {}

/** Filters of the list, and the query parameters of the single read. They are the withdrawal's own fields. */
export interface WithdrawalFilter extends Optional<Withdrawal> {}

const writable = ["paymentGatewayId", "amount", "fee", "currency", "blockchainTransactionId", "status"] as const;

/** The description's rows of this resource. */
export const withdrawals = resource<Withdrawal, WithdrawalFields>()(
  "liquidityProviders.withdrawals",
  "/liquidity-providers/{liquidityProviderId}/withdrawals",
  {
    fields: {
      id: "text",
      paymentGatewayId: "text",
      paymentGatewayTransactionId: "text",
      amount: "decimal",
      fee: "decimal",
      currency: "text",
      blockchainTransactionId: "text",
      status: "status",
    },
    create: { body: writable, signed: false, signer: "paymentGatewayId" },
    list: true,
    get: true,
    update: { body: writable, signed: false, signer: "paymentGatewayId" },
  },
);

/** The withdrawals of one liquidity provider. */
export class Withdrawals {
  readonly #client: ApiClient;
  readonly #liquidityProviderId: string;

  /** @internal */
  constructor(client: ApiClient, liquidityProviderId: string) {
    this.#client = client;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Requests a withdrawal: `POST /liquidity-providers/{id}/withdrawals`. Not signed unless `signedOperations` names it.
   *
   * The client repeats it only if nothing was sent, and after a 429. A lost response throws
   * `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or an amount that is not a decimal numeral.
   */
  create(fields: WithdrawalFields, options?: RequestOptions): ApiPromise<Withdrawal> {
    return this.#client.call(withdrawals.create, [this.#liquidityProviderId], { body: fields }, options);
  }

  /** Reads one withdrawal: `GET /liquidity-providers/{id}/withdrawals/{id}`. */
  get(withdrawalId: string, options?: GetOptions<WithdrawalFilter>): ApiPromise<Withdrawal> {
    return this.#client.call(withdrawals.get, [this.#liquidityProviderId, withdrawalId], {}, options);
  }

  /**
   * Updates a withdrawal: `PUT /liquidity-providers/{id}/withdrawals/{id}`. Send all six fields. What the service does
   * with those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(withdrawalId: string, fields: WithdrawalFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(withdrawals.update, [this.#liquidityProviderId, withdrawalId], { body: fields }, options);
  }

  /** Lists the provider's withdrawals: `GET /liquidity-providers/{id}/withdrawals`. */
  list(query?: ListQuery<Withdrawal, WithdrawalFilter>, options?: RequestOptions): Listing<Withdrawal> {
    return listRecords(this.#client, withdrawals.list, [this.#liquidityProviderId], query, options);
  }
}
