import { DBOS, type DBOSClient } from "@dbos-inc/dbos-sdk";
import type { PaymentIntentRequest } from "cross-border-payments";
import type { PaymentFlow } from "cross-border-payments/flow";

export interface PaymentWorkerOptions {
  readonly flow: PaymentFlow;
  readonly databaseUrl: string;
  /** One for each process, and the same after its restart: DBOS recovers what a process of this name left behind. */
  readonly executorId: string;
  readonly tellAnOperator: (key: string) => Promise<void>;
}

export async function startPaymentWorker(options: PaymentWorkerOptions): Promise<void> {
  const { flow, databaseUrl, executorId, tellAnOperator } = options;
  const retries = { retriesAllowed: true, maxAttempts: 20, backoffRate: 1.5 };
  async function pay(key: string, request: PaymentIntentRequest): Promise<string> {
    // Only the status: DBOS stores what a step returns.
    const status = await DBOS.runStep(async () => (await flow.run(key, request)).status, { name: "run", ...retries });
    if (status === "held") await DBOS.runStep(() => tellAnOperator(key), { name: "tell", ...retries });
    return status;
  }
  DBOS.registerWorkflow(pay, { name: "pay", maxRecoveryAttempts: 1_000 });
  // Change the version when the steps of `pay` change: DBOS recovers only the workflows of this version.
  DBOS.setConfig({
    name: "payments",
    systemDatabaseUrl: databaseUrl,
    executorID: executorId,
    applicationVersion: "1",
  });
  await DBOS.launch();
  await DBOS.registerQueue("payments", { workerConcurrency: 8 });
}

export async function enqueuePayment(client: DBOSClient, key: string, request: PaymentIntentRequest): Promise<void> {
  await client.enqueue({ queueName: "payments", workflowName: "pay", workflowID: key }, key, request);
}
