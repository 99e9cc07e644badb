import type { PaymentFlow } from "cross-border-payments/flow";
import { CrashPoints } from "../crash/crash-points.js";
import { crashingJournal } from "../crash/crashing-journal.js";
import { openFlow, openJournal, report, textOf, toReported } from "../crash/worker-flow.js";
import type { Command, WorkerSettings } from "../crash/worker-messages.js";

export type EngineName = "dbos" | "pg-boss" | "bullmq";

export interface EngineWorkerSettings extends WorkerSettings {
  readonly engine: EngineName;
  /** The database of the journal, and of the engines that use PostgreSQL. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The same for the process that takes a killed one's place. */
  readonly executorId: string;
}

/** A process in which an engine runs the recipe's step, until it is killed. */
async function main(settings: EngineWorkerSettings): Promise<void> {
  const points = new CrashPoints(() => false);
  const flow = openFlow(settings, crashingJournal(await openJournal(settings.journal), points), points);
  process.on("message", (command: Command) => {
    if (command.type === "expect") points.expect(command.trouble);
  });
  process.on("disconnect", () => process.exit());
  await startEngine(settings, reporting(flow));
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

/** The flow, which reports how each run ends. */
function reporting(flow: PaymentFlow): PaymentFlow {
  const run = flow.run.bind(flow);
  flow.run = async (key, ...rest) => {
    try {
      const outcome = await run(key, ...rest);
      await report({ type: "settled", outcome: toReported(outcome) });
      return outcome;
    } catch (error) {
      await report({ type: "stumbled", key, error: textOf(error) });
      throw error;
    }
  };
  return flow;
}

process.once("message", (settings: EngineWorkerSettings) => {
  main(settings).catch((error: unknown) => {
    process.stderr.write(`${textOf(error)}\n`, () => process.exit(1));
  });
});
