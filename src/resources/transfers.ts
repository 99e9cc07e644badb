import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** Source or target of a transfer. One of the two known values on creation, any value in responses. */
export type TransferEnd = "wallet" | "exchange-rate" | (string & {});

/** Money moved between a provider's wallet and its exchange rates (Interface description 0.0.1, "Transfer"). */
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

/** Body of update. Which fields are required is not shown. */
export interface TransferUpdate
  extends Optional<Pick<Transfer, "from" | "to" | "exchangeRateId" | "gatewayId" | "currency" | "amount">> {}

/** Body of create. Which fields are required is not shown. */
export interface TransferFields extends Omit<TransferUpdate, "from" | "to"> {
  from?: "wallet" | "exchange-rate" | undefined;
  to?: "wallet" | "exchange-rate" | undefined;
}

/** Filters of the list, and the query parameters of the single read. They are every field. */
export interface TransferFilter extends Optional<Transfer> {}

const writable = ["from", "to", "exchangeRateId", "gatewayId", "currency", "amount"] as const;
const ends = ["wallet", "exchange-rate"] as const;

/** The description's rows of this resource. */
export const transfers = resource<Transfer, TransferFields, TransferUpdate>()(
  "liquidityProviders.transfers",
  "/liquidity-providers/{liquidityProviderId}/transfers",
  {
    fields: {
      id: "text",
      from: "status",
      to: "status",
      exchangeRateId: "text",
      gatewayId: "text",
      currency: "text",
      amount: "decimal",
    },
    create: { body: writable, oneOf: { from: ends, to: ends }, signed: false, signer: "gatewayId" },
    list: true,
    get: true,
    update: { body: writable, signed: false, signer: "gatewayId" },
  },
);

/** The transfers of one liquidity provider. */
export class Transfers {
  readonly #client: ApiClient;
  readonly #liquidityProviderId: string;

  /** @internal */
  constructor(client: ApiClient, liquidityProviderId: string) {
    this.#client = client;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Creates a transfer: `POST /liquidity-providers/{id}/transfers`. Moves money. Not signed unless `signedOperations` names it.
   *
   * The client repeats it only if nothing was sent, and after a 429. A lost response throws
   * `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type, an end that creation does not allow or an amount that is not a decimal
   *   numeral.
   */
  create(fields: TransferFields, options?: RequestOptions): ApiPromise<Transfer> {
    return this.#client.call(transfers.create, [this.#liquidityProviderId], { body: fields }, options);
  }

  /** Reads one transfer: `GET /liquidity-providers/{id}/transfers/{id}`. */
  get(transferId: string, options?: GetOptions<TransferFilter>): ApiPromise<Transfer> {
    return this.#client.call(transfers.get, [this.#liquidityProviderId, transferId], {}, options);
  }

  /**
   * Updates a transfer: `PUT /liquidity-providers/{id}/transfers/{id}`. Send all six fields. What the service does with
   * those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(transferId: string, fields: TransferUpdate, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(transfers.update, [this.#liquidityProviderId, transferId], { body: fields }, options);
  }

  /** Lists the provider's transfers: `GET /liquidity-providers/{id}/transfers`. */
  list(query?: ListQuery<Transfer, TransferFilter>, options?: RequestOptions): Listing<Transfer> {
    return listRecords(this.#client, transfers.list, [this.#liquidityProviderId], query, options);
  }
}
