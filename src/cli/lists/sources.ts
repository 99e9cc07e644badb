import { apiClientKey } from "../../api/api-client.js";
import type { FieldTable } from "../../api/fields.js";
import type { ListQuery } from "../../api/list-query.js";
import type { Operation, Verb } from "../../api/operation.js";
import type { RequestOptions } from "../../api/request-options.js";
import type { CrossBorderClient } from "../../client.js";
import { type Listing, listRecords } from "../../paging/listing.js";
import { catalogue, type OperationName } from "../../resources/catalogue.js";
import type { CommandOptions } from "../command.js";
import { isShown } from "../secrets.js";
import { type Column, column, type ListedRecord } from "./formats.js";

export type Rows = { readonly [V in Verb]?: Operation };

/** A resource of the catalogue, as its commands need it. */
export interface RecordSource {
  /** The first word of the resource's commands. */
  readonly name: string;
  /** What its records are called. */
  readonly title: string;
  readonly fields: FieldTable;
  /** What a table shows: what tells records apart comes first, and fits 80 characters. */
  readonly columns: readonly Column[];
  /** Options that name the records to which it belongs, in the order of its path. */
  readonly parents: readonly string[];
  /** Absent where the service has no such operation. */
  readonly list?: Operation | undefined;
  readonly get?: Operation | undefined;
}

export interface ListSource extends RecordSource {
  readonly list: Operation;
}

type ListedResource<Name> = Name extends `${infer Resource}.list` ? Resource : never;

function columnsOf(...fields: readonly string[]): readonly Column[] {
  return fields.map((field) => column(field));
}

const amount = column("amount", "amount", "currency");

/** Of a resource that is not here, a table shows the first fields. */
const tableColumns: Readonly<Partial<Record<ListedResource<OperationName>, readonly Column[]>>> = {
  paymentGateways: columnsOf("institutionId", "id", "name", "countryCode", "currency", "type"),
  "liquidityProviders.deposits": [
    column("id"),
    amount,
    ...columnsOf("paymentGatewayId", "paymentGatewayTransactionId"),
  ],
  "liquidityProviders.withdrawals": [column("id"), amount, ...columnsOf("status", "paymentGatewayId", "fee")],
  "liquidityProviders.exchangeRates": [
    column("id"),
    column("pair", "baseCurrency", "counterCurrency"),
    ...columnsOf("buyPrice", "sellPrice", "baseGatewayId", "counterGatewayId"),
  ],
  "liquidityProviders.transfers": [
    column("id"),
    ...columnsOf("from", "to"),
    amount,
    ...columnsOf("gatewayId", "exchangeRateId"),
  ],
  "paymentGateways.withdrawals": [
    column("id"),
    amount,
    ...columnsOf("status", "liquidityProviderId", "gatewayTransactionId", "fee"),
  ],
  payments: [
    column("id"),
    column("receiver", "receiverGatewayId"),
    column("received", "receiverAmount", "receiverCurrency"),
    column("status", "receiverGatewayStatus"),
    column("created", "createdAt"),
    column("sender", "senderGatewayId"),
    column("sent", "senderAmount", "senderCurrency"),
  ],
};

/** Six columns fit a usual window. */
const mostColumns = 6;

/** What commands need of each resource. Names, titles and options follow from its rows. */
export function sourcesOf(resources: readonly Rows[]): readonly RecordSource[] {
  const sources: RecordSource[] = [];
  for (const { list, get } of resources) {
    const row = list ?? get;
    if (row === undefined) continue;
    const resource = row.name.slice(0, row.name.lastIndexOf("."));
    const [own = "", parent = ""] = resource.split(".").map(words).reverse();
    const isTaken = sources.some(({ name }) => name === own);
    const fields = row.record;
    const columns: Readonly<Record<string, readonly Column[]>> = tableColumns;
    const shown = Object.keys(fields).filter((name) => isShown(name, false));
    sources.push({
      // Of two resources of one name, the second has its parent's last word before it.
      name: isTaken ? `${singular(parent).split("-").at(-1)}-${own}` : own,
      title: own.replaceAll("-", " ") + (parent === "" ? "" : ` of a ${singular(parent).replaceAll("-", " ")}`),
      fields,
      columns: columns[resource] ?? columnsOf(...shown.slice(0, mostColumns)),
      // The path of one record ends with its own id.
      parents: row.path.parameters
        .slice(0, list === undefined ? -1 : undefined)
        .map((id) => words(id).replace(/-id$/, "")),
      ...{ list, get },
    });
  }
  return sources;
}

export const sources = sourcesOf(catalogue);

export function hasList(source: RecordSource): source is ListSource {
  return source.list !== undefined;
}

/** Options for the records to which a resource belongs. */
export function parentOptions({ parents }: RecordSource, help: string): CommandOptions {
  return Object.fromEntries(parents.map((name) => [name, { type: "string", value: "ID", help, isRequired: true }]));
}

export function openList(
  { list }: ListSource,
  client: CrossBorderClient,
  ids: readonly string[],
  query: ListQuery<ListedRecord, object>,
  options?: RequestOptions,
): Listing<ListedRecord> {
  return listRecords(client[apiClientKey], list, ids, query, options);
}

/** `payment-gateways` of `paymentGateways`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function singular(name: string): string {
  return name.replace(/s$/, "");
}
