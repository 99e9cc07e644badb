import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";
import { Deposits } from "./deposits.js";
import { ExchangeRates } from "./exchange-rates.js";
import { Transfers } from "./transfers.js";
import { Withdrawals } from "./withdrawals.js";

/** Someone who funds gateways (Interface description 0.0.1, "Liquidity provider"). */
export interface LiquidityProvider {
  /** Assigned by the service on creation. */
  id: string;
  firstName: string;
  lastName: string;
  email: string;
}

/** Body of create and update. Which fields are required is not shown. */
export interface LiquidityProviderFields
  extends Optional<Pick<LiquidityProvider, "firstName" | "lastName" | "email">> {}

/** Filters of the list, and the query parameters of the single read. They are every field. */
export interface LiquidityProviderFilter extends Optional<LiquidityProvider> {}

const writable = ["firstName", "lastName", "email"] as const;

/** The description's rows of this resource. */
export const liquidityProviders = resource<LiquidityProvider, LiquidityProviderFields>()(
  "liquidityProviders",
  "/liquidity-providers",
  {
    fields: {
      id: "text",
      firstName: "text",
      lastName: "text",
      email: "text",
    },
    create: { body: writable },
    list: true,
    get: true,
    update: { body: writable },
  },
);

/** Liquidity providers, and the records that are kept under each of them. */
export class LiquidityProviders {
  readonly #client: ApiClient;

  /** @internal */
  constructor(client: ApiClient) {
    this.#client = client;
  }

  /**
   * Creates a liquidity provider: `POST /liquidity-providers`. Not signed.
   *
   * The client repeats it only if nothing was sent, and after a 429. A lost response throws
   * `OutcomeUnknownError`.
   *
   * @returns the stored record, `id` included.
   * @throws {InvalidArgumentError} on an unknown field or a wrong type, before anything is sent.
   * @throws {BadRequestError} when the service finds the request invalid.
   */
  create(fields: LiquidityProviderFields, options?: RequestOptions): ApiPromise<LiquidityProvider> {
    return this.#client.call(liquidityProviders.create, [], { body: fields }, options);
  }

  /** Reads one liquidity provider: `GET /liquidity-providers/{id}`. */
  get(liquidityProviderId: string, options?: GetOptions<LiquidityProviderFilter>): ApiPromise<LiquidityProvider> {
    return this.#client.call(liquidityProviders.get, [liquidityProviderId], {}, options);
  }

  /**
   * Updates a liquidity provider: `PUT /liquidity-providers/{id}`. Send all three fields. What the service does with
   * those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(liquidityProviderId: string, fields: LiquidityProviderFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(liquidityProviders.update, [liquidityProviderId], { body: fields }, options);
  }

  /** Lists liquidity providers: `GET /liquidity-providers`. Await it for the first page, or iterate it for every record. */
  list(
    query?: ListQuery<LiquidityProvider, LiquidityProviderFilter>,
    options?: RequestOptions,
  ): Listing<LiquidityProvider> {
    return listRecords(this.#client, liquidityProviders.list, [], query, options);
  }

  /** The provider's deposits. Binds the id without I/O. */
  deposits(liquidityProviderId: string): Deposits {
    return new Deposits(this.#client, liquidityProviderId);
  }

  /** The provider's withdrawals. Binds the id without I/O. */
  withdrawals(liquidityProviderId: string): Withdrawals {
    return new Withdrawals(this.#client, liquidityProviderId);
  }

  /** The provider's exchange rates. Binds the id without I/O. */
  exchangeRates(liquidityProviderId: string): ExchangeRates {
    return new ExchangeRates(this.#client, liquidityProviderId);
  }

  /** The provider's transfers. Binds the id without I/O. */
  transfers(liquidityProviderId: string): Transfers {
    return new Transfers(this.#client, liquidityProviderId);
  }
}
