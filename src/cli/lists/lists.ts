import type { FieldTable } from "../../api/fields.js";
import type { ListQuery } from "../../api/list-query.js";
import type { RequestOptions } from "../../api/request-options.js";
import type { CrossBorderClient } from "../../client.js";
import type { Listing } from "../../paging/listing.js";
import { deposits } from "../../resources/deposits.js";
import { exchangeRates } from "../../resources/exchange-rates.js";
import { gatewayWithdrawals } from "../../resources/gateway-withdrawals.js";
import { liquidityProviders } from "../../resources/liquidity-providers.js";
import { paymentGateways } from "../../resources/payment-gateways.js";
import { payments } from "../../resources/payments.js";
import { transfers } from "../../resources/transfers.js";
import { withdrawals } from "../../resources/withdrawals.js";
import { type Column, column, type ListedRecord } from "./formats.js";

/** Fields and filters are those of whichever list: the client checks them. */
export type AnyQuery = ListQuery<never, object>;

/** One list of the service, as a command. */
export interface ListSource {
  /** The first word of its command. */
  readonly name: string;
  readonly title: string;
  readonly fields: FieldTable;
  /** What a table shows: what tells records apart comes first, and fits 80 characters. */
  readonly columns: readonly Column[];
  /** The option that names the record to which the list belongs. */
  readonly parent?: string;
  open(client: CrossBorderClient, parent: string, query: AnyQuery, options?: RequestOptions): Listing<ListedRecord>;
}

/** The listing of a record type, without its type. */
function untyped(listing: Listing<never>): Listing<ListedRecord> {
  return listing as unknown as Listing<ListedRecord>;
}

function columnsOf(...fields: readonly string[]): readonly Column[] {
  return fields.map((field) => column(field));
}

const amount = column("amount", "amount", "currency");
const ofProvider = { parent: "liquidity-provider" };

export const listSources: readonly ListSource[] = [
  {
    name: "payments",
    title: "payments",
    fields: payments.list.record,
    columns: [
      column("id"),
      column("receiver", "receiverGatewayId"),
      column("received", "receiverAmount", "receiverCurrency"),
      column("status", "receiverGatewayStatus"),
      column("created", "createdAt"),
      column("sender", "senderGatewayId"),
      column("sent", "senderAmount", "senderCurrency"),
    ],
    open: (client, _, query, options) => untyped(client.payments.list(query as never, options) as never),
  },
  {
    name: "payment-gateways",
    title: "payment gateways",
    fields: paymentGateways.list.record,
    columns: columnsOf("institutionId", "id", "name", "countryCode", "currency", "type"),
    open: (client, _, query, options) => untyped(client.paymentGateways.list(query as never, options) as never),
  },
  {
    name: "liquidity-providers",
    title: "liquidity providers",
    fields: liquidityProviders.list.record,
    columns: columnsOf("id", "firstName", "lastName", "email"),
    open: (client, _, query, options) => untyped(client.liquidityProviders.list(query as never, options) as never),
  },
  {
    ...ofProvider,
    name: "deposits",
    title: "deposits of a liquidity provider",
    fields: deposits.list.record,
    columns: [column("id"), amount, ...columnsOf("paymentGatewayId", "paymentGatewayTransactionId")],
    open: (client, id, query, options) =>
      untyped(client.liquidityProviders.deposits(id).list(query as never, options) as never),
  },
  {
    ...ofProvider,
    name: "withdrawals",
    title: "withdrawals of a liquidity provider",
    fields: withdrawals.list.record,
    columns: [column("id"), amount, ...columnsOf("status", "paymentGatewayId", "fee")],
    open: (client, id, query, options) =>
      untyped(client.liquidityProviders.withdrawals(id).list(query as never, options) as never),
  },
  {
    ...ofProvider,
    name: "exchange-rates",
    title: "exchange rates of a liquidity provider",
    fields: exchangeRates.list.record,
    columns: [
      column("id"),
      column("pair", "baseCurrency", "counterCurrency"),
      ...columnsOf("buyPrice", "sellPrice", "baseGatewayId", "counterGatewayId"),
    ],
    open: (client, id, query, options) =>
      untyped(client.liquidityProviders.exchangeRates(id).list(query as never, options) as never),
  },
  {
    ...ofProvider,
    name: "transfers",
    title: "transfers of a liquidity provider",
    fields: transfers.list.record,
    columns: [column("id"), ...columnsOf("from", "to"), amount, ...columnsOf("gatewayId", "exchangeRateId")],
    open: (client, id, query, options) =>
      untyped(client.liquidityProviders.transfers(id).list(query as never, options) as never),
  },
  {
    name: "gateway-withdrawals",
    parent: "payment-gateway",
    title: "withdrawals of a payment gateway",
    fields: gatewayWithdrawals.list.record,
    columns: [column("id"), amount, ...columnsOf("status", "liquidityProviderId", "gatewayTransactionId", "fee")],
    open: (client, id, query, options) =>
      untyped(client.paymentGateways.withdrawals(id).list(query as never, options) as never),
  },
];
