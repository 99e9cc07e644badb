import type { Operation } from "../api/operation.js";
import { deposits } from "./deposits.js";
import { exchangeRates } from "./exchange-rates.js";
import { gatewayWithdrawals } from "./gateway-withdrawals.js";
import { liquidityProviders } from "./liquidity-providers.js";
import { paymentGateways } from "./payment-gateways.js";
import { paymentIntents } from "./payment-intents.js";
import { payments } from "./payments.js";
import { transfers } from "./transfers.js";
import { withdrawals } from "./withdrawals.js";

/** The version of the interface description that this release implements. */
export const describedVersion = "0.0.1";

/** Every resource of the description, in the order of its "Operations" table. */
export const catalogue = [
  paymentGateways,
  liquidityProviders,
  deposits,
  withdrawals,
  exchangeRates,
  transfers,
  gatewayWithdrawals,
  paymentIntents,
  payments,
] as const;

type RowOf<Resource> = Resource extends unknown ? Resource[keyof Resource] : never;
/** One of the rows, with its types. */
type Row = RowOf<(typeof catalogue)[number]>;

const rows = catalogue.flatMap((resource) => Object.values<Row>(resource));

/** The names of all operations. */
export const operationNames = Object.freeze(rows.map(({ name }) => name));

/** The path of an operation in code, such as `liquidityProviders.deposits.create`. */
export type OperationName = (typeof operationNames)[number];

export const operations: ReadonlyMap<string, Operation> = new Map(rows.map((row) => [row.name, row]));
