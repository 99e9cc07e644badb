import type { ApiClient } from "../api/api-client.js";
import { type RequestOptions, requestOptions } from "../api/request-options.js";
import { AbortedError, InvalidArgumentError } from "../errors/errors.js";
import { isPositiveInteger, type OptionTable, parseOptions, withDefaults } from "../options/option-table.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import type { Payment } from "../resources/payments.js";
import { nextDelayMs } from "../timing/backoff.js";
import { Deadline } from "../timing/deadline.js";
import type { Period } from "./compare-group.js";
import { handOut } from "./hand-out.js";
import { parseTime, timeOption } from "./own-entry.js";
import { type PaymentsClient, requireApiClient } from "./payments-client.js";
import { readPeriod } from "./read-period.js";
import { backoff } from "./retry-delay.js";

/** Which payments `listPayments` gives. */
export interface ListPaymentsOptions {
  /** The first instant of the period: a `Date`, or ISO 8601 with a time zone. */
  readonly from: string | Date;
  /** The first instant after it. Default: none, so that the period has no end yet. */
  readonly to?: string | Date | undefined;
  /** How many payments are asked for at a time. Fewer than 20 show no order: then the whole list is read. Default: 100. */
  readonly size?: number | undefined;
  /** Ends the list with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with every request. */
  readonly headers?: RequestOptions["headers"];
}

interface ListSettings extends Pick<ListPaymentsOptions, "signal" | "headers"> {
  readonly period: Period;
  readonly size: number;
}

type OptionalOptions = Omit<ListPaymentsOptions, "from" | "to">;

/** Every option, with its default and its line in docs/statement.md. */
export const listPaymentsOptions = {
  from: {
    ...timeOption,
    isRequired: true,
    documentation: "the first instant of the period: a `Date`, or ISO 8601 with a time zone",
  },
  to: {
    ...timeOption,
    documentedDefault: "none: the period has no end yet",
    documentation: "the first instant after it",
  },
  size: {
    accepts: isPositiveInteger,
    wanted: "a whole number above 0",
    default: 100,
    documentation: "how many payments are asked for at a time; fewer than 20 show no order, and the whole list is read",
  },
  signal: {
    ...requestOptions.signal,
    documentedDefault: "none",
    documentation: "ends the list with an `AbortedError`",
  },
  headers: { ...requestOptions.headers, documentedDefault: "none", documentation: "sent with every request" },
} satisfies OptionTable<ListPaymentsOptions>;

/**
 * Gives every payment that was created in a period, each once, the newest first as far as the service lists them so. A payment whose
 * `createdAt` is none that can be read is of every period.
 *
 * The service has no filter for times, so the list is read from its newest payment back, and no further than the period where the service
 * has proved that nothing was passed over. Where it has not, the whole list is read.
 *
 * `break` ends it. It holds the ids of the payments that it gave, and a page of payments.
 *
 * @example
 * for await (const payment of listPayments(client, { from: "2026-11-22T00:00:00Z", to: "2026-11-23T00:00:00Z" })) { … }
 * @throws {InvalidArgumentError} at once, on a wrong option.
 * @throws {PagingError} (in the loop) when the payments can't be listed without losing some: what came before it is not all.
 * @throws {ApiError} (in the loop) when the service refuses to list.
 */
export function listPayments(
  client: PaymentsClient,
  options: ListPaymentsOptions,
): AsyncGenerator<Payment, void, undefined> {
  const api = requireApiClient("listPayments", client);
  return eachOf(pagesOfPeriod(api, toListSettings(options)));
}

async function* eachOf(pages: AsyncIterable<readonly Payment[]>): AsyncGenerator<Payment, void, undefined> {
  for await (const page of pages) yield* page;
}

/** The same, in pages. */
export async function* pagesOfPeriod(
  client: ApiClient,
  { period, size, headers, signal }: ListSettings,
): AsyncGenerator<readonly Payment[], void, undefined> {
  const deadline = new Deadline({ signal });
  const reader = {
    client,
    size,
    options: { signal: deadline.signal, headers },
    pause: (failures: number) => pause(failures, deadline),
  };
  const given = new Set<string>();
  const isNew = ({ id, pagingToken }: Payment) => {
    // One that has neither ends the list with an error.
    const name = nonEmptyText(id) ?? pagingToken;
    return !given.has(name) && given.add(name);
  };
  try {
    yield* handOut<readonly Payment[]>((give) => readPeriod(reader, period, false, (page) => give(page.filter(isNew))));
  } finally {
    deadline.finish();
  }
}

async function pause(failures: number, deadline: Deadline): Promise<void> {
  const delayMs = nextDelayMs(failures, Math.random, backoff);
  try {
    await deadline.sleep(delayMs);
  } catch {
    throw new AbortedError("listPayments: the caller's signal ended the list, which is not complete");
  }
}

/** @throws {InvalidArgumentError} that names the option, what was found and what is wanted. */
function toListSettings(given: ListPaymentsOptions): ListSettings {
  const refuse = (message: string) => new InvalidArgumentError(`listPayments: ${message}`);
  const parsed = parseOptions(listPaymentsOptions, given, "the options", refuse);
  const { size, signal, headers } = withDefaults<OptionalOptions, typeof listPaymentsOptions>(
    listPaymentsOptions,
    parsed,
  );
  const { from, to } = parsed;
  const fromMs = parseTime("from", from, refuse);
  const toMs = to === undefined ? Number.POSITIVE_INFINITY : parseTime("to", to, refuse);
  if (fromMs >= toMs) throw refuse("from must lie before to");
  return { period: { fromMs, toMs }, size, signal, headers: { ...headers } };
}
