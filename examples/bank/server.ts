/** One process of the bank: settings, tables, pages, workers, and an end in the right order. */

import { setMaxListeners } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import * as opentelemetry from "@opentelemetry/api";
import { observeGauges } from "cross-border-payments/opentelemetry";
import { openBank } from "./bank.js";
import { bankApp } from "./bank-app.js";
import { bankLogger } from "./logger.js";
import { workOutbox } from "./outbox.js";
import { readBankSettings } from "./settings.js";
import { sdk } from "./tracing.js";

async function start(): Promise<void> {
  const settings = readBankSettings(process.env);
  const { host, port, drainMs, closeMs, roundMs } = settings;
  const logger = bankLogger(settings.logLevel);
  const bank = await openBank(settings, logger);
  // The alarms of ../observability rest on them.
  const gauges = observeGauges(opentelemetry, bank.flow);
  const stopping = new AbortController();
  // Every customer who waits listens to it.
  setMaxListeners(0, stopping.signal);
  const app = bankApp(bank, stopping.signal);
  await app.listen({ host, port });
  const working = [bank.flow.work({ signal: stopping.signal, everyMs: roundMs }), workOutbox(bank, stopping.signal)];

  async function shutDown(): Promise<void> {
    // A database that hangs must not keep the process: what is stored is safe.
    setTimeout(() => process.exit(1), drainMs + closeMs + 10_000).unref();
    // No longer ready, and customers who wait get their page.
    stopping.abort();
    // Until the last balancer knows, requests still come.
    await delay(drainMs);
    await app.close();
    // A payment in flight gets its response, or is looked for by another process, which need not wait for the end of a lease.
    gauges.stop();
    await bank.flow.close({ timeoutMs: closeMs });
    await Promise.all(working);
    await bank.client.close();
    await bank.journal.close();
    await bank.pool.end();
    await sdk?.shutdown();
  }
  let isStopping = false;
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    process.on(signal, () => {
      if (isStopping) return;
      isStopping = true;
      shutDown().then(
        () => logger.info("stopped"),
        (error: unknown) => {
          logger.error({ err: error }, "the end was not orderly");
          process.exit(1);
        },
      );
    });
  }
}

start().catch((error: unknown) => {
  console.error(`the bank did not start: ${error instanceof Error ? error.message : "unknown"}`);
  process.exit(1);
});
