import type { PaymentIntentRequest } from "cross-border-payments";
import type { PaymentFlow } from "cross-border-payments/flow";
import PgBoss from "pg-boss";

interface PaymentJob {
  readonly key: string;
  readonly request: PaymentIntentRequest;
}

export interface PaymentWorkerOptions {
  readonly flow: PaymentFlow;
  readonly databaseUrl: string;
  readonly tellAnOperator: (key: string) => Promise<void>;
  readonly onError: (error: Error) => void;
  /** How long a job may run, and how long one is lost whose worker died. */
  readonly expireInSeconds?: number;
  readonly retryDelaySeconds?: number;
  readonly maintenanceIntervalSeconds?: number;
}

export async function startPaymentWorker(options: PaymentWorkerOptions): Promise<void> {
  const { flow, databaseUrl, tellAnOperator, onError } = options;
  const { expireInSeconds = 300, retryDelaySeconds: retryDelay = 5, maintenanceIntervalSeconds = 30 } = options;
  const boss = new PgBoss({ connectionString: databaseUrl, maintenanceIntervalSeconds });
  boss.on("error", onError);
  await boss.start();
  // A worker that dies uses up a retry, and so does every FlowPausedError.
  const retries = { retryLimit: 10_000, retryDelay, expireInSeconds };
  await boss.createQueue("payments", { name: "payments", policy: "short", ...retries });
  // Jobs that are fetched in one batch fail together: eight loops with a job each instead.
  for (let loop = 0; loop < 8; loop += 1) {
    await boss.work<PaymentJob>("payments", { batchSize: 1, pollingIntervalSeconds: 0.5 }, async (jobs) => {
      for (const { data } of jobs) {
        const { status } = await flow.run(data.key, data.request);
        if (status === "held") await tellAnOperator(data.key);
      }
    });
  }
}

export async function enqueuePayment(boss: PgBoss, key: string, request: PaymentIntentRequest): Promise<void> {
  const job: PaymentJob = { key, request };
  await boss.send("payments", job, { singletonKey: key });
}
