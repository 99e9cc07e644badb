import type { Endpoint } from "../api/endpoint.js";
import { depositEndpoints } from "./deposits.js";
import { exchangeRateEndpoints } from "./exchange-rates.js";
import { gatewayWithdrawalEndpoints } from "./gateway-withdrawals.js";
import { liquidityProviderEndpoints } from "./liquidity-providers.js";
import { paymentGatewayEndpoints } from "./payment-gateways.js";
import { paymentIntentEndpoints } from "./payment-intents.js";
import { paymentEndpoints } from "./payments.js";
import { transferEndpoints } from "./transfers.js";
import { withdrawalEndpoints } from "./withdrawals.js";

/** The description's "Operations" table: 31 rows. */
export const endpoints = {
  paymentGateways: paymentGatewayEndpoints,
  "paymentGateways.withdrawals": gatewayWithdrawalEndpoints,
  liquidityProviders: liquidityProviderEndpoints,
  "liquidityProviders.deposits": depositEndpoints,
  "liquidityProviders.withdrawals": withdrawalEndpoints,
  "liquidityProviders.exchangeRates": exchangeRateEndpoints,
  "liquidityProviders.transfers": transferEndpoints,
  paymentIntents: paymentIntentEndpoints,
  payments: paymentEndpoints,
};

type Resources = typeof endpoints;

/** Name of an operation, such as `liquidityProviders.deposits.create`. */
export type OperationName = {
  [Resource in keyof Resources]: `${Resource}.${keyof Resources[Resource] & string}`;
}[keyof Resources];

/** Every row by its operation's name. */
export const endpointsByOperation: ReadonlyMap<string, Endpoint> = new Map(
  Object.values<Readonly<Record<string, Endpoint>>>(endpoints)
    .flatMap((rows) => Object.values(rows))
    .map((row) => [row.operation, row]),
);
