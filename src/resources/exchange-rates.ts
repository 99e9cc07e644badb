import type { ApiClient, GetOptions } from "../api/api-client.js";
import type { Optional } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { resource } from "../api/resource.js";
import { type Listing, listRecords } from "../paging/listing.js";

/** The prices at which a liquidity provider trades between two gateways (Interface description 0.0.1, "Exchange rate"). */
export interface ExchangeRate {
  /** Assigned by the service on creation. */
  id: string;
  baseGatewayId: string;
  counterGatewayId: string;
  baseCurrency: string;
  counterCurrency: string;
  /** Price to buy 1 base currency in counter currency, a decimal numeral. */
  buyPrice: string;
  /** Price to sell 1 base currency in counter currency, a decimal numeral. */
  sellPrice: string;
  /** Numerator companion of `buyPrice`. The exact relation is not shown. Response only. */
  buyPriceN: number;
  /** Denominator companion of `buyPrice`. The exact relation is not shown. Response only. */
  buyPriceD: number;
  /** Numerator companion of `sellPrice`. The exact relation is not shown. Response only. */
  sellPriceN: number;
  /** Denominator companion of `sellPrice`. The exact relation is not shown. Response only. */
  sellPriceD: number;
}

/** Body of create and update. Which fields are required is not shown. */
export interface ExchangeRateFields
  extends Optional<
    Pick<
      ExchangeRate,
      "baseGatewayId" | "counterGatewayId" | "baseCurrency" | "counterCurrency" | "buyPrice" | "sellPrice"
    >
  > {}

/** Filters of the list, and the query parameters of the single read. They are every field. The N and D companions are integers. */
export interface ExchangeRateFilter extends Optional<ExchangeRate> {}

const writable = [
  "baseGatewayId",
  "counterGatewayId",
  "baseCurrency",
  "counterCurrency",
  "buyPrice",
  "sellPrice",
] as const;

/** The description's rows of this resource. */
export const exchangeRates = resource<ExchangeRate, ExchangeRateFields>()(
  "liquidityProviders.exchangeRates",
  "/liquidity-providers/{liquidityProviderId}/exchange-rates",
  {
    fields: {
      id: "text",
      baseGatewayId: "text",
      counterGatewayId: "text",
      baseCurrency: "text",
      counterCurrency: "text",
      buyPrice: "decimal",
      sellPrice: "decimal",
      buyPriceN: "integer",
      buyPriceD: "integer",
      sellPriceN: "integer",
      sellPriceD: "integer",
    },
    create: { body: writable, signed: false, signer: "baseGatewayId" },
    list: true,
    get: true,
    update: { body: writable, signed: false, signer: "baseGatewayId" },
  },
);

/** The exchange rates of one liquidity provider. */
export class ExchangeRates {
  readonly #client: ApiClient;
  readonly #liquidityProviderId: string;

  /** @internal */
  constructor(client: ApiClient, liquidityProviderId: string) {
    this.#client = client;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Creates an exchange rate: `POST /liquidity-providers/{id}/exchange-rates`. Not signed unless `signedOperations` names it.
   *
   * The client repeats it only if nothing was sent, and after a 429. A lost response throws
   * `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or a price that is not a decimal numeral.
   */
  create(fields: ExchangeRateFields, options?: RequestOptions): ApiPromise<ExchangeRate> {
    return this.#client.call(exchangeRates.create, [this.#liquidityProviderId], { body: fields }, options);
  }

  /** Reads one exchange rate: `GET /liquidity-providers/{id}/exchange-rates/{id}`. */
  get(exchangeRateId: string, options?: GetOptions<ExchangeRateFilter>): ApiPromise<ExchangeRate> {
    return this.#client.call(exchangeRates.get, [this.#liquidityProviderId, exchangeRateId], {}, options);
  }

  /**
   * Updates an exchange rate: `PUT /liquidity-providers/{id}/exchange-rates/{id}`. Send all six fields. What the service
   * does with those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(exchangeRateId: string, fields: ExchangeRateFields, options?: RequestOptions): ApiPromise<void> {
    return this.#client.call(
      exchangeRates.update,
      [this.#liquidityProviderId, exchangeRateId],
      { body: fields },
      options,
    );
  }

  /** Lists the provider's exchange rates: `GET /liquidity-providers/{id}/exchange-rates`. */
  list(query?: ListQuery<ExchangeRate, ExchangeRateFilter>, options?: RequestOptions): Listing<ExchangeRate> {
    return listRecords(this.#client, exchangeRates.list, [this.#liquidityProviderId], query, options);
  }
}
