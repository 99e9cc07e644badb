import { type Command, Option } from "commander";
import { apiClientKey } from "../../api/api-client.js";
import type { ListQuery } from "../../api/list-query.js";
import type { Operation } from "../../api/operation.js";
import { didYouMean } from "../../core/describe.js";
import { equalAmounts } from "../../money.js";
import { listRecords } from "../../paging/listing.js";
import type { Page } from "../../paging/page.js";
import { listPayments } from "../../reconcile/index.js";
import { catalogue } from "../../resources/catalogue.js";
import { type Payment, payments } from "../../resources/payments.js";
import { collect, parseCount, parseDuration, parseInstant } from "../options.js";
import { type ConnectionOptions, openClient, readSettings } from "../settings.js";
import { beforeInterruption, interruption, printable, type Terminal, UsageError } from "../terminal.js";
import { follow } from "./follow.js";
import { columnsOf, type FormatName, formatNames, formatOf, inPages, type ListedRecord, ListOutput } from "./output.js";

/** The columns of tables. Those that tell records apart are first, and fit 80 characters. */
const tableColumns: Readonly<Record<string, string>> = {
  paymentGateways: "institutionId id name countryCode currency type",
  payments:
    "id receiver=receiverGatewayId received=receiverAmount+receiverCurrency status=receiverGatewayStatus created=createdAt sender=senderGatewayId sent=senderAmount+senderCurrency",
  liquidityProviders: "id firstName lastName email",
  "liquidityProviders.deposits": "id amount=amount+currency paymentGatewayId paymentGatewayTransactionId",
  "liquidityProviders.withdrawals": "id amount=amount+currency status paymentGatewayId fee",
  "liquidityProviders.exchangeRates":
    "id pair=baseCurrency+counterCurrency buyPrice sellPrice baseGatewayId counterGatewayId",
  "liquidityProviders.transfers": "id from to amount=amount+currency gatewayId exchangeRateId",
  "paymentGateways.withdrawals": "id amount=amount+currency status liquidityProviderId gatewayTransactionId fee",
};

/** The resources of the catalogue, as their commands need them. */
export const sources = catalogue.map(({ list, get }: { readonly list?: Operation; readonly get?: Operation }) => {
  const { name: operation = "", record = {} } = list ?? get ?? {};
  const resource = operation.replace(/\.\w+$/, "");
  const [own = "", parent] = resource.split(".").map(words).reverse();
  // Providers have withdrawals, too.
  const name = resource === "paymentGateways.withdrawals" ? "gateway-withdrawals" : own;
  const title =
    own.replaceAll("-", " ") + (parent === undefined ? "" : ` of a ${parent.replace("-", " ").slice(0, -1)}`);
  // Options that name the owners of a record. Its path ends with its own id. Only payments have none, and no owners.
  const parents = (get?.path.parameters ?? []).slice(0, -1).map((id) => words(id).replace(/-id$/, ""));
  return { name, title, fields: record, columns: columnsOf(tableColumns[resource] ?? "id"), parents, list, get };
});

export type RecordSource = (typeof sources)[number];

/** `payment-gateways` of `paymentGateways`. */
function words(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

export interface ListOptions extends ConnectionOptions {
  readonly filter?: readonly string[];
  readonly sort?: readonly string[];
  readonly size?: number;
  readonly after?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly limit?: number;
  readonly follow?: true;
  readonly every: number;
  readonly format?: FormatName;
  readonly fields?: string;
  readonly json?: true;
  readonly out?: string;
  readonly withCredentials?: true;
}

export function addListOptions(command: Command, { name }: RecordSource): void {
  const times = "2026-01-31, yesterday, today, or 2026-01-31T00:00:00+03:00";
  if (name === "payments") {
    command
      .addOption(
        new Option("--from <time>", `only payments created then or later: ${times}`)
          .argParser(parseInstant)
          .conflicts(["sort", "after", "follow"]),
      )
      .option("--to <time>", "only payments created before; requires --from", parseInstant);
  }
  command
    .option("--filter <field=value>", "only records with this value; can be repeated", collect)
    .option("--sort <field.asc|desc>", "order; can be repeated", collect)
    .option("--size <count>", "page size", parseCount)
    .option("--limit <count>", "stop after so many records", parseCount)
    .option("--after <token>", "only records after this paging token")
    .addOption(new Option("--follow", "keep running and print new records (Ctrl-C to stop)").conflicts(["sort", "out"]))
    .addOption(
      new Option("--every <time>", "how often --follow reads the list").argParser(parseDuration).default(10_000, "10s"),
    )
    .addOption(
      new Option("--format <format>", "by default a table at a terminal, and one JSON text per line elsewhere").choices(
        formatNames,
      ),
    )
    .option("--fields <a,b>", "only these fields, in this order")
    .option("--json", "the same as --format ndjson")
    .option("--out <file>", "write to this file, which is there when the list is complete")
    .option("--with-credentials", "show credentials, too");
}

type Filter = Readonly<Record<string, string>>;

export async function list(
  source: RecordSource,
  operation: Operation,
  parents: readonly string[],
  options: ListOptions,
  terminal: Terminal,
): Promise<void> {
  const { out, limit, size, after, from, to, withCredentials = false } = options;
  const filter = readFilter(source, options);
  const chosen = options.fields?.split(",").map((name) => knownField("--fields", source, name.trim()));
  const format = options.format ?? (options.json || terminal.width === undefined || out ? "ndjson" : "table");
  if (to !== undefined && (from === undefined || from >= to)) throw new UsageError("--to requires an earlier --from");
  if (options.follow && format === "json") throw new UsageError("--follow has no end, which --format json needs");
  await using client = await openClient(await readSettings(options, terminal), terminal);
  const width = out === undefined ? terminal.width : undefined;
  const output = new ListOutput(formatOf(format, { ...source, chosen, width, withCredentials }), terminal, {
    out,
    limit,
  });
  const open = (query: ListQuery<ListedRecord, object>, signal?: AbortSignal) =>
    listRecords<readonly string[], ListedRecord>(
      client[apiClientKey],
      operation,
      parents,
      { filter, size, ...query },
      { signal },
    );
  try {
    if (options.follow) {
      using stop = interruption();
      const { signal } = stop;
      const onOutage = (error: Error | undefined): void => {
        const text = error === undefined ? "the service is back" : `${printable(error.message)} Trying again.`;
        terminal.stderr.write(`cross-border: ${text}\n`);
      };
      for await (const news of follow(open, { name: source.title, everyMs: options.every, signal, after, onOutage })) {
        if (!(await output.write(news.records, news.after))) return;
      }
      return output.abandon();
    }
    using _ = beforeInterruption(() => output.abandon());
    if (from !== undefined) {
      // The service doesn't filter by time. The proof that nothing was left out needs every payment, so filters are compared here.
      const found = listPayments(client, { from, to, size });
      for await (const records of inPages(found, Math.min(size ?? 100, limit ?? 100))) {
        const fitting = records.map((record): ListedRecord => ({ ...record })).filter((one) => fits(one, filter));
        if (!(await output.write(fitting))) break;
      }
    } else {
      for await (const page of open({ sort: options.sort?.join(",") as never, after }).pages()) {
        if (!(await output.write(page.items, tokenAfter(page)))) break;
      }
    }
  } catch (error) {
    output.abandon();
    throw error;
  }
  await output.finish();
}

/** Compares amounts by value, and everything else by text. */
export function fits(record: ListedRecord, filter: Filter = {}): boolean {
  return Object.entries(filter).every(([name, expected]) =>
    payments.list.record[name as keyof Payment] === "decimal"
      ? equalAmounts(record[name], expected)
      : String(record[name]) === expected,
  );
}

/** The token with which `--after` continues, if one does. In a descending list, none does. */
function tokenAfter(page: Page<ListedRecord>): string | undefined {
  try {
    const next = page.nextQuery;
    return next !== undefined && "after" in next ? next.after : undefined;
  } catch {
    return undefined;
  }
}

function readFilter(source: RecordSource, { filter, from }: ListOptions): Filter | undefined {
  if (filter === undefined) return undefined;
  const found: Record<string, string> = {};
  for (const pair of filter) {
    const [, name = "", value = ""] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (name === "") throw new UsageError(`--filter ${pair} is not FIELD=VALUE`);
    if (name in found)
      throw new UsageError(`--filter: the service knows one value per field, and ${name} is there twice`);
    // A service may know other filters than the description, but those of a period are compared here.
    found[knownField("--filter", source, name, from === undefined)] = value;
  }
  return found;
}

/** The description shows a paging token on payments alone, but other lists may have one. */
function knownField(option: string, { name: list, fields }: RecordSource, name: string, mayBeOther = false): string {
  const names = Object.keys(fields);
  const hint = didYouMean(name, names);
  if (["pagingToken", ...names].includes(name) || (mayBeOther && hint === "")) return name;
  throw new UsageError(`${option}: ${list} have no field ${name}${hint || `; they have ${names.join(", ")}`}`);
}
