import type { ApiClient, GetOptions } from "../api/api-client.js";
import { endpoint } from "../api/endpoint.js";
import { type Fields, pick } from "../api/fields.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions } from "../api/request-options.js";
import { Listing } from "../paging/listing.js";

/** The prices at which a liquidity provider trades between two gateways (description: "Exchange rate"). */
export interface ExchangeRate {
  /** Assigned by the service on creation. */
  id: string;
  baseGatewayId: string;
  counterGatewayId: string;
  baseCurrency: string;
  counterCurrency: string;
  /** Price to buy 1 base currency in counter currency: a decimal numeral. */
  buyPrice: string;
  /** Price to sell 1 base currency in counter currency: a decimal numeral. */
  sellPrice: string;
  /** Response only: numerator companion of `buyPrice`. The exact relation is not shown. */
  buyPriceN: number;
  /** Response only: denominator companion of `buyPrice`. The exact relation is not shown. */
  buyPriceD: number;
  /** Response only: numerator companion of `sellPrice`. The exact relation is not shown. */
  sellPriceN: number;
  /** Response only: denominator companion of `sellPrice`. The exact relation is not shown. */
  sellPriceD: number;
}

const writable = [
  "baseGatewayId",
  "counterGatewayId",
  "baseCurrency",
  "counterCurrency",
  "buyPrice",
  "sellPrice",
] as const;

/** Body of create and update. Which fields are required is not shown. */
export interface ExchangeRateFields extends Partial<Pick<ExchangeRate, (typeof writable)[number]>> {}

/** Filters of the list, and the query parameters of the single read: every field; the N and D companions are integers. */
export interface ExchangeRateFilter extends Partial<ExchangeRate> {}

export const exchangeRateFields: Fields<ExchangeRate> = {
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
};

const body = { fields: pick(exchangeRateFields, writable), required: [] };

export const exchangeRateEndpoints = {
  create: endpoint<ExchangeRate, ExchangeRateFields>({
    operation: "liquidityProviders.exchangeRates.create",
    verb: "create",
    method: "POST",
    path: "/liquidity-providers/{liquidityProviderId}/exchange-rates",
    body,
    record: exchangeRateFields,
  }),
  list: endpoint<ExchangeRate[]>({
    operation: "liquidityProviders.exchangeRates.list",
    verb: "list",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/exchange-rates",
    query: exchangeRateFields,
    record: exchangeRateFields,
  }),
  get: endpoint<ExchangeRate>({
    operation: "liquidityProviders.exchangeRates.get",
    verb: "get",
    method: "GET",
    path: "/liquidity-providers/{liquidityProviderId}/exchange-rates/{exchangeRateId}",
    query: exchangeRateFields,
    record: exchangeRateFields,
  }),
  update: endpoint<void, ExchangeRateFields>({
    operation: "liquidityProviders.exchangeRates.update",
    verb: "update",
    method: "PUT",
    path: "/liquidity-providers/{liquidityProviderId}/exchange-rates/{exchangeRateId}",
    body,
  }),
};

/** The exchange rates of one liquidity provider. */
export class ExchangeRates {
  readonly #caller: ApiClient;
  readonly #liquidityProviderId: string;

  constructor(caller: ApiClient, liquidityProviderId: string) {
    caller.assertId(exchangeRateEndpoints.list, 0, liquidityProviderId);
    this.#caller = caller;
    this.#liquidityProviderId = liquidityProviderId;
  }

  /**
   * Creates an exchange rate: `POST /liquidity-providers/{id}/exchange-rates`. Not signed unless `signedOperations` names it.
   *
   * Never repeated by the client once it may have been sent: a lost response throws `OutcomeUnknownError`.
   *
   * @throws {InvalidArgumentError} on an unknown field, a wrong type or a price that is no decimal numeral.
   */
  create(fields: ExchangeRateFields, options?: RequestOptions): ApiPromise<ExchangeRate> {
    const input = { path: [this.#liquidityProviderId], body: fields };
    return this.#caller.call(exchangeRateEndpoints.create, input, options);
  }

  /** Reads one exchange rate: `GET /liquidity-providers/{id}/exchange-rates/{id}`. */
  get(exchangeRateId: string, options?: GetOptions<ExchangeRateFilter>): ApiPromise<ExchangeRate> {
    const input = { path: [this.#liquidityProviderId, exchangeRateId], query: options?.query };
    return this.#caller.call(exchangeRateEndpoints.get, input, options);
  }

  /**
   * Updates an exchange rate: `PUT /liquidity-providers/{id}/exchange-rates/{id}`. Send all six fields: what the service
   * does with those left out is not shown. Safe to repeat, and repeated by the client on transient failures.
   */
  update(exchangeRateId: string, fields: ExchangeRateFields, options?: RequestOptions): ApiPromise<void> {
    const input = { path: [this.#liquidityProviderId, exchangeRateId], body: fields };
    return this.#caller.call(exchangeRateEndpoints.update, input, options);
  }

  /** Lists the provider's exchange rates: `GET /liquidity-providers/{id}/exchange-rates`. */
  list(query?: ListQuery<ExchangeRate, ExchangeRateFilter>, options?: RequestOptions): Listing<ExchangeRate> {
    return new Listing(this.#caller, exchangeRateEndpoints.list, [this.#liquidityProviderId], query, options);
  }
}
