import type { ApiClient } from "../../src/api/api-client.js";
import { KnownPayments } from "../../src/flows/looking/known-payments.js";
import { type LookContext, sharedReadings } from "../../src/flows/looking/look-for-payment.js";
import { MemoryJournal } from "../../src/flows/memory-journal.js";

/** What a look needs, over a client. */
export function lookContext(client: ApiClient, more: Partial<LookContext> = {}): LookContext {
  return {
    client,
    journal: new MemoryJournal(),
    scope: { service: "https://service.test", gateway: undefined },
    service: {},
    bankSkewMs: 3_600_000,
    knownPayments: new KnownPayments(10_000, 60_000),
    readings: sharedReadings(client, more.service ?? {}),
    ...more,
  };
}
