import type { ApiClient, GetOptions } from "../api/api-client.js";
import { endpoint } from "../api/endpoint.js";
import { type Fields, pick } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { Listing } from "../paging/listing.js";

/** What a transfer goes from or to: on creation one of the two known values; in responses whatever the service says. */
export type TransferEnd = "wallet" | "exchange-rate" | (string & {});

/** Money moved between a provider's wallet and its exchange rates (description: "Transfer"). */
export interface Transfer {
  /** Assigned by the service on creation. */
  id: string;
  /** On creation `wallet` or `exchange-rate`. */
  from: TransferEnd;
  /** On creation `wallet` or `exchange-rate`. */
  to: TransferEnd;
  /** Affected exchange rate. */
  exchangeRateId: string;
  gatewayId: string;
  currency: string;
  /** A decimal numeral. */
  amount: string;
}

const writable = ["from", "to", "exchangeRateId", "gatewayId", "currency", "amount"] as const;

/** Body of create and update. Which fields are required is not shown. */
export interface TransferFields extends Partial<Pick<Transfer, (typeof writable)[number]>> {}

/** Filters of the list, and the query parameters of the single read: every field. */
export interface TransferFilter extends Partial<Transfer> {}

export const transferFields: Fields<Transfer> = {
  id: "text",
  from: "status",
  to: "status",
  exchangeRateId: "text",
  gatewayId: "text",
  currency: "text",
  amount: "decimal",
};

const body = { fields: pick(transferFields, writable), required: [] };

export const transferEndpoints = {
  create: endpoint<Transfer, TransferFields>({
    operation: "liquidityProviders.transfers.create",
    verb: "create",
    method: "POST",
    path: "/liquidity-providers/{liquidityProviderId}/transfers",
    body,
    record: transferFields,
  }),
  list: endpoint<Transfer[]>({
    operation: "liquidityProviders.transfers.list",
    verb: "list",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/transfers",
    query: transferFields,
    record: transferFields,
  }),
  get: endpoint<Transfer>({
    operation: "liquidityProviders.transfers.get",
    verb: "get",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/transfers/{transferId}",
    query: transferFields,
    record: transferFields,
  }),
  update: endpoint<void, TransferFields>({
    operation: "liquidityProviders.transfers.update",
    verb: "update",
    method: "PUT",
    path: "/liquidity-providers/{liquidityProviderId}/transfers/{transferId}",
    body,
  }),
};

/** The transfers of one liquidity provider. */
export class Transfers {
  readonly #caller: ApiClient;
  readonly #liquidityProviderId: string;

  constructor(caller: ApiClient, liquidityProviderId: string) {
    caller.assertId(transferEndpoints.list, 0, liquidityProviderId);
    this.#caller = caller;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Creates a transfer: `POST /liquidity-providers/{id}/transfers`. Moves money; not signed unless `signedOperations` names it.
   *
   * Never repeated by the client once it may have been sent: a lost response throws `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or an amount that is no decimal numeral.
   */
  create(fields: TransferFields, options?: RequestOptions): ApiPromise<Transfer> {
    const input = { path: [this.#liquidityProviderId], body: fields };
    return this.#caller.call(transferEndpoints.create, input, options);
  }

  /** Reads one transfer: `GET /liquidity-providers/{id}/transfers/{id}`. */
  get(transferId: string, options?: GetOptions<TransferFilter>): ApiPromise<Transfer> {
    const input = { path: [this.#liquidityProviderId, transferId], query: options?.query };
    return this.#caller.call(transferEndpoints.get, input, options);
  }

  /**
   * Updates a transfer: `PUT /liquidity-providers/{id}/transfers/{id}`. Send all six fields: what the service does with
   * those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(transferId: string, fields: TransferFields, options?: RequestOptions): ApiPromise<void> {
    const input = { path: [this.#liquidityProviderId, transferId], body: fields };
    return this.#caller.call(transferEndpoints.update, input, options);
  }

  /** Lists the provider's transfers: `GET /liquidity-providers/{id}/transfers`. */
  list(query?: ListQuery<Transfer, TransferFilter>, options?: RequestOptions): Listing<Transfer> {
    return new Listing(this.#caller, transferEndpoints.list, [this.#liquidityProviderId], query, options);
  }
}
