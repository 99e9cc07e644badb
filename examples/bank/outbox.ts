import { setTimeout as delay } from "node:timers/promises";
import { payConfirmed } from "../ledger-sql/orders.js";
import type { Bank } from "./bank.js";

/** Round after round, until `stop` aborts: orders whose process died before they were paid, and those that an operator has decided about. */
export async function workOutbox({ flow, logger, pool, settings }: Bank, stop: AbortSignal): Promise<void> {
  const confirm: typeof flow.confirm = (key, confirmed) => flow.confirm(key, confirmed, { signal: stop });
  while (!stop.aborted) {
    try {
      await payConfirmed(pool, { confirm });
    } catch (error) {
      const failures: unknown[] = error instanceof AggregateError ? error.errors : [error];
      if (!stop.aborted) for (const failure of failures) logger.error({ err: failure }, "the outbox");
    }
    await delay(settings.roundMs, undefined, { signal: stop }).catch(() => {});
  }
}
