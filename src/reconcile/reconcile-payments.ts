import type { ApiClient } from "../api/api-client.js";
import { Deadline } from "../core/deadline.js";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { createdMsOf } from "../paging/newest-first.js";
import type { Payment } from "../resources/payments.js";
import { Comparison, type Discrepancy } from "./compare.js";
import { maxRetries } from "./list-payments.js";
import { type ReconcileOptions, type ReconcileSettings, toReconcileSettings } from "./options.js";
import { type OwnEntry, parseEntry } from "./own-entry.js";
import { isWithin, type PaymentsClient, readPayments, requireApiClient, throwAborted } from "./read-payments.js";

/**
 * Compares your own entries with the payments of a period, a day by default, and returns each difference.
 *
 * `senderGatewayTransactionId` links an entry to its payment. Your entries are read first, then the payments, and only then the
 * first result is returned, so you get the whole comparison or an error. Memory holds both sides (docs/statement.md).
 *
 * @param own your entries with `bookedAt` from `from - slackMs` up to `to + slackMs`. Those outside of the period are only matched.
 * @throws {InvalidArgumentError} at once if an option is wrong, or in the loop if an entry is wrong or payments of several sending
 *   gateways are listed and `senderGatewayId` doesn't name yours.
 * @throws {PagingError} (in the loop) if the payments can't be read completely.
 * @throws {ApiError} (in the loop) if the service refuses to list. While it is away, the reading is retried for some minutes.
 */
export function reconcilePayments(
  client: PaymentsClient,
  own: AsyncIterable<OwnEntry> | Iterable<OwnEntry>,
  options: ReconcileOptions,
): AsyncGenerator<Discrepancy, void, undefined> {
  const api = requireApiClient("reconcilePayments", client);
  const settings = toReconcileSettings(options);
  if (!isIterable(own)) {
    throw new InvalidArgumentError(
      `reconcilePayments: own must be your entries: an array, or an iterable such as a database cursor; got ${describeValue(own)}`,
    );
  }
  return compareAll(api, own, settings);
}

async function* compareAll(
  api: ApiClient,
  own: AsyncIterable<OwnEntry> | Iterable<OwnEntry>,
  { period, widened, senderGatewayIds, signal, ...settings }: ReconcileSettings,
): AsyncGenerator<Discrepancy, void, undefined> {
  const deadline = new Deadline({ signal });
  const comparison = new Comparison();
  const isOwn = ownPayments(senderGatewayIds);
  try {
    let count = 0;
    for await (const given of own) {
      deadline.assertNotEnded();
      count += 1;
      comparison.addEntry(parseEntry(given, count));
    }
    for await (const page of readPayments(api, { ...settings, since: widened.fromMs, maxRetries }, deadline)) {
      for (const payment of page) {
        if (isWithin(createdMsOf(payment), widened) && isOwn(payment)) comparison.addPayment(payment);
      }
    }
    for (const discrepancy of comparison.discrepancies(period)) {
      deadline.assertNotEnded();
      yield discrepancy;
    }
  } catch (error) {
    throwAborted(error);
  } finally {
    deadline.finish();
  }
}

function ownPayments(senderGatewayIds: ReadonlySet<string> | undefined): (payment: Payment) => boolean {
  let only: string | undefined;
  return ({ senderGatewayId }) => {
    if (senderGatewayIds !== undefined) return senderGatewayIds.has(senderGatewayId);
    only ??= senderGatewayId;
    if (senderGatewayId === only) return true;
    throw new InvalidArgumentError(
      "reconcilePayments: payments of several sending gateways are listed: pass senderGatewayId, with every name that payments have for yours",
    );
  };
}

function isIterable(value: unknown): boolean {
  const object = Object(value);
  if (typeof value === "string") return false;
  return typeof object[Symbol.asyncIterator] === "function" || typeof object[Symbol.iterator] === "function";
}
