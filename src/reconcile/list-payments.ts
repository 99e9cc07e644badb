import type { ApiClient } from "../api/api-client.js";
import { Deadline } from "../core/deadline.js";
import { createdMsOf, keyOf } from "../paging/newest-first.js";
import type { Payment } from "../resources/payments.js";
import { type ListPaymentsOptions, type ListSettings, toListSettings } from "./options.js";
import { isWithin, type PaymentsClient, readPayments, requireApiClient } from "./read-payments.js";

/**
 * Lists every payment that was created in a period, each once and newest first, as far as the service lists them so.
 *
 * The service has no filter for times, so the list is read backward from its newest payment (docs/statement.md). A payment with
 * an unreadable `createdAt` belongs to every period. Memory holds the ids.
 *
 * @example
 * for await (const payment of listPayments(client, { from: "2026-11-22T00:00:00Z", to: "2026-11-23T00:00:00Z" })) { … }
 * @throws {InvalidArgumentError} at once, if an option is wrong.
 * @throws {PagingError} (in the loop) if the payments can't be read completely: those before it aren't all.
 * @throws {ApiError} (in the loop) if the service refuses to list.
 */
export function listPayments(
  client: PaymentsClient,
  options: ListPaymentsOptions,
): AsyncGenerator<Payment, void, undefined> {
  return paymentsOfPeriod(requireApiClient("listPayments", client), toListSettings(options));
}

/** How often a reading starts again before a failure ends it. */
export const maxRetries = 10;

async function* paymentsOfPeriod(
  client: ApiClient,
  { period, signal, ...settings }: ListSettings,
): AsyncGenerator<Payment, void, undefined> {
  const deadline = new Deadline({ signal });
  const given = new Set<string>();
  try {
    for await (const page of readPayments(client, { ...settings, since: period.fromMs, maxRetries }, deadline)) {
      for (const payment of page) {
        const key = keyOf(payment);
        if (!isWithin(createdMsOf(payment), period) || (key !== undefined && given.has(key))) continue;
        if (key !== undefined) given.add(key);
        yield payment;
      }
    }
  } finally {
    deadline.finish();
  }
}
