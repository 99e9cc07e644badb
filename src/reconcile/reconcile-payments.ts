import type { RequestOptions } from "../api/request-options.js";
import { describeValue } from "../errors/describe-value.js";
import { AbortedError, InvalidArgumentError } from "../errors/errors.js";
import { nonEmptyText } from "../paging/cursor-order.js";
import type { Payment } from "../resources/payments.js";
import { nextDelayMs } from "../timing/backoff.js";
import { clock } from "../timing/clock.js";
import { Deadline } from "../timing/deadline.js";
import { type Discrepancy, Group } from "./compare-group.js";
import { type OwnEntry, parseEntry } from "./own-entry.js";
import { summaryOf } from "./payment-summary.js";
import { type PaymentsClient, requireApiClient } from "./payments-client.js";
import { type PeriodReader, readPeriod } from "./read-period.js";
import { type ReconcileOptions, type ReconcileSettings, toReconcileSettings } from "./reconcile-options.js";
import { RecordStore } from "./record-store.js";
import { backoff, retryDelayMs } from "./retry-delay.js";

/**
 * Compares your own entries with the payments of a period, and gives whatever is not the same on both sides: see {@link Discrepancy}.
 *
 * Entry and payment belong together by `senderGatewayTransactionId`, in whatever order either side comes. All of `own` is read first, then
 * the payments, and only then the first result comes: what is given is the comparison of the whole period, or an error. The results are in
 * no particular order.
 *
 * Memory is bounded: above `maxInMemory`, entries and payments go into a temporary file, encrypted with a key that is only in memory.
 *
 * @param own your entries with `bookedAt` from `from - slackMs` up to `to + slackMs`. Those outside of the period only serve as partners.
 * @throws {InvalidArgumentError} at once on a wrong option; in the loop on a wrong entry, before anything is requested, and where payments
 *   of several sending gateways are listed and `senderGatewayId` does not say which is yours.
 * @throws {PagingError} (in the loop) when the payments can't be listed without losing some.
 * @throws {ApiError} (in the loop) when the service refuses to list. While it is away, each read is tried again for some minutes.
 * @throws {CrossBorderError} (in the loop) `temporary_file_failed`, such as when the disk is full.
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
      `reconcilePayments: own must be your entries: an array, or an iterable such as a database cursor; found ${describeValue(own)}`,
    );
  }
  return compareAll(settings, own, (deadline) => {
    const { size, headers } = settings;
    const requests: RequestOptions = { signal: deadline.signal, headers };
    return {
      client: api,
      size,
      options: requests,
      onFailure: (error, failures) => waitAfter(error, failures, deadline),
      pause: (failures) => sleep(nextDelayMs(failures, Math.random, backoff), deadline),
    };
  });
}

async function* compareAll(
  settings: ReconcileSettings,
  own: AsyncIterable<OwnEntry> | Iterable<OwnEntry>,
  readerOf: (deadline: Deadline) => PeriodReader,
): AsyncGenerator<Discrepancy, void, undefined> {
  const { period, widened, signal, maxInMemory, temporaryDirectory } = settings;
  const deadline = new Deadline({ signal });
  const store = new RecordStore(maxInMemory, temporaryDirectory);
  try {
    const isAnyPaid = await storeEntries(own, store, deadline);
    const isOwn = ownPayments(settings);
    await readPeriod(readerOf(deadline), widened, isAnyPaid, async (payments) => {
      for (const payment of payments.filter(isOwn)) {
        await store.add({ key: keyOf(payment), payment: summaryOf(payment) });
      }
    });
    for await (const records of store.parts()) {
      const groups = new Map<string, Group>();
      for (const record of records) {
        const group = groups.get(record.key) ?? new Group();
        groups.set(record.key, group);
        if ("entry" in record) group.addEntry(record.entry, period);
        else group.addPayment(record.payment, period);
      }
      for (const group of groups.values()) {
        const discrepancy = group.compare();
        if (discrepancy === undefined) continue;
        assertNotAborted(deadline);
        yield discrepancy;
      }
    }
  } finally {
    deadline.finish();
    await store.close();
  }
}

/** @returns whether any of them names its payment. */
async function storeEntries(
  own: AsyncIterable<OwnEntry> | Iterable<OwnEntry>,
  store: RecordStore,
  deadline: Deadline,
): Promise<boolean> {
  let isAnyPaid = false;
  let count = 0;
  for await (const given of own) {
    assertNotAborted(deadline);
    count += 1;
    const entry = parseEntry(given, count);
    isAnyPaid ||= entry.paymentId !== undefined;
    await store.add({ key: transactionKey(entry.senderGatewayTransactionId), entry });
  }
  return isAnyPaid;
}

function ownPayments({ senderGatewayIds }: ReconcileSettings): (payment: Payment) => boolean {
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

/** A payment without a transaction id has no partner, and is no duplicate of another one. */
function keyOf({ id, senderGatewayTransactionId }: Payment): string {
  const transactionId = nonEmptyText(senderGatewayTransactionId);
  return transactionId === undefined ? `payment ${id}` : transactionKey(transactionId);
}

function transactionKey(transactionId: string): string {
  return `transaction ${transactionId}`;
}

/** A service that is away for longer ends the comparison: the next one begins anew. */
const mostFailures = 10;

async function waitAfter(error: unknown, failures: number, deadline: Deadline): Promise<void> {
  const delayMs = retryDelayMs(error, failures, Math.random, clock.wallMs());
  if (delayMs === undefined || failures >= mostFailures) throw error;
  await sleep(delayMs, deadline);
}

async function sleep(delayMs: number, deadline: Deadline): Promise<void> {
  try {
    await deadline.sleep(delayMs);
  } catch {
    throw aborted();
  }
}

function assertNotAborted(deadline: Deadline): void {
  if (deadline.ended !== undefined) throw aborted();
}

function aborted(): AbortedError {
  return new AbortedError("reconcilePayments: the caller's signal ended the comparison, which is not complete");
}

function isIterable(value: unknown): boolean {
  const object = Object(value);
  if (typeof value === "string") return false;
  return typeof object[Symbol.asyncIterator] === "function" || typeof object[Symbol.iterator] === "function";
}
