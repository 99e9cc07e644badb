import { CrossBorderClient } from "cross-border-payments";
import { type FlowOutcome, PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { Agent, type Dispatcher } from "undici";
import { type EngineReport, type EngineWorkerSettings, toReported } from "./engine-messages.js";
import { Ledger } from "./ledger.js";

/** A process in which an engine runs the recipe's step, until it is killed. */
async function main(settings: EngineWorkerSettings): Promise<void> {
  process.on("disconnect", () => process.exit());
  const flow = await openFlow(settings);
  await startEngine(settings, flow);
  await report({ type: "ready" });
}

async function startEngine(settings: EngineWorkerSettings, flow: PaymentFlow): Promise<void> {
  const { engine, databaseUrl, executorId, redisUrl } = settings;
  const tellAnOperator = (key: string) => report({ type: "told", key });
  const onError = (error: Error) => void report({ type: "stumbled", key: "", error: error.message });
  const common = { flow, databaseUrl, tellAnOperator, onError };
  if (engine === "dbos") {
    const { startPaymentWorker } = await import("../../examples/engines/dbos.js");
    await startPaymentWorker({ ...common, executorId });
  } else if (engine === "pg-boss") {
    const { startPaymentWorker } = await import("../../examples/engines/pg-boss.js");
    const times = { expireInSeconds: 5, retryDelaySeconds: 1, maintenanceIntervalSeconds: 1 };
    await startPaymentWorker({ ...common, ...times });
  } else {
    const { startPaymentWorker } = await import("../../examples/engines/bullmq.js");
    await startPaymentWorker({ ...common, connection: { url: redisUrl }, lockDurationMs: 1_500 }).waitUntilReady();
  }
}

/** Reports what it starts and how that ends. */
class ReportingFlow extends PaymentFlow {
  override async run(...[key, ...rest]: Parameters<PaymentFlow["run"]>): Promise<FlowOutcome> {
    await report({ type: "entered", key });
    try {
      const outcome = await super.run(key, ...rest);
      await report({ type: "settled", outcome: toReported(outcome) });
      return outcome;
    } catch (error) {
      await report({ type: "stumbled", key, error: textOf(error) });
      throw error;
    }
  }
}

async function openFlow(settings: EngineWorkerSettings): Promise<PaymentFlow> {
  const { baseUrl, accessToken, signingKey, leaseMs, readBackDelayMs, slowTakeMs, journal } = settings;
  const ledger = new Ledger(settings.databaseUrl);
  return new ReportingFlow({
    client: new CrossBorderClient({
      baseUrl,
      auth: { accessToken: () => accessToken },
      signingKey,
      timeoutMs: 5_000,
      dispatcher: reporting(new Agent({ allowH2: false, pipelining: 1, connections: 64 })),
    }),
    journal: await PostgresJournal.open(journal.place),
    leaseMs,
    readBackDelayMs,
    // Some of the lost responses come one after the other.
    circuitBreaker: { pauseMs: 1_000 },
    async takeFunds({ key, intent }) {
      await report({ type: "at", point: "take" });
      const tookMs = slowTakeMs * Math.random();
      return ledger.take({ key, intentId: intent.id, amount: intent.senderAmount, tookMs });
    },
    releaseFunds: ({ key, senderGatewayTransactionId }) => ledger.release(key, senderGatewayTransactionId),
  });
}

/** Reports requests that pay, and those that look a payment up. */
function reporting(dispatcher: Dispatcher): Pick<Dispatcher, "dispatch"> & { readonly showsStart: true } {
  return {
    showsStart: true,
    dispatch(options, handler) {
      const [path = ""] = options.path.split("?");
      if (path.endsWith("/payments")) {
        if (options.method === "POST") void report({ type: "at", point: "send" });
        else void report({ type: "at", point: "look" });
      }
      return dispatcher.dispatch(options, handler);
    },
  };
}

function textOf(error: unknown): string {
  const { message = String(error), cause }: { message?: string; cause?: unknown } = Object(error);
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** Resolves when the test will read it, even if this process is killed. */
function report(message: EngineReport): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}

process.once("message", (settings: EngineWorkerSettings) => {
  main(settings).catch((error: unknown) => {
    process.stderr.write(`${textOf(error)}\n`, () => process.exit(1));
  });
});
