import type { FieldTable } from "../../api/fields.js";
import type { Operation, Verb } from "../../api/operation.js";
import { catalogue, type OperationName } from "../../resources/catalogue.js";
import { isShown } from "../text.js";
import { type Column, columnsOf } from "./formats.js";

export type Rows = { readonly [V in Verb]?: Operation };

/** A resource of the catalogue, as its commands need it. */
export interface RecordSource {
  /** The first word of the resource's commands. */
  readonly name: string;
  /** What its records are called. */
  readonly title: string;
  readonly fields: FieldTable;
  readonly columns: readonly Column[];
  /** Options that name the records to which it belongs, in the order of its path. */
  readonly parents: readonly string[];
  /** Absent if the service has no such operation. */
  readonly list?: Operation | undefined;
  readonly get?: Operation | undefined;
}

type ListedResource<Name> = Name extends `${infer Resource}.list` ? Resource : never;

/** What a table shows: what tells records apart comes first, and fits 80 characters. By default the first six fields. */
const tableColumns: Readonly<Partial<Record<ListedResource<OperationName>, string>>> = {
  paymentGateways: "institutionId id name countryCode currency type",
  payments:
    "id receiver=receiverGatewayId received=receiverAmount+receiverCurrency status=receiverGatewayStatus created=createdAt sender=senderGatewayId sent=senderAmount+senderCurrency",
  "liquidityProviders.deposits": "id amount=amount+currency paymentGatewayId paymentGatewayTransactionId",
  "liquidityProviders.withdrawals": "id amount=amount+currency status paymentGatewayId fee",
  "liquidityProviders.exchangeRates":
    "id pair=baseCurrency+counterCurrency buyPrice sellPrice baseGatewayId counterGatewayId",
  "liquidityProviders.transfers": "id from to amount=amount+currency gatewayId exchangeRateId",
  "paymentGateways.withdrawals": "id amount=amount+currency status liquidityProviderId gatewayTransactionId fee",
};

/** What commands need of each resource. Names, titles, and options follow from its rows. */
export function sourcesOf(resources: readonly Rows[]): readonly RecordSource[] {
  const sources: RecordSource[] = [];
  for (const { list, get } of resources) {
    const row = list ?? get;
    if (row === undefined) continue;
    const resource = row.name.slice(0, row.name.lastIndexOf("."));
    const [own = "", parent = ""] = resource.split(".").map(words).reverse();
    const owner = parent.replace(/s$/, "");
    const columns: Readonly<Record<string, string>> = tableColumns;
    const fields = Object.keys(row.record).filter((name) => isShown(name, false));
    // The path of one record ends with its own id.
    const ids = list === undefined ? row.path.parameters.slice(0, -1) : row.path.parameters;
    sources.push({
      // Of two resources with one name, the second has its parent's last word in front.
      name: sources.some(({ name }) => name === own) ? `${owner.split("-").at(-1)}-${own}` : own,
      title: own.replaceAll("-", " ") + (owner === "" ? "" : ` of a ${owner.replaceAll("-", " ")}`),
      fields: row.record,
      columns: columnsOf(columns[resource] ?? fields.slice(0, 6).join(" ")),
      parents: ids.map((id) => words(id).replace(/-id$/, "")),
      ...{ list, get },
    });
  }
  return sources;
}

/** `payment-gateways` of `paymentGateways`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export const sources = sourcesOf(catalogue);
