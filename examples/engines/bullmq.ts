import { type ConnectionOptions, type Queue, Worker } from "bullmq";
import type { PaymentIntentRequest } from "cross-border-payments";
import type { PaymentFlow } from "cross-border-payments/flow";

interface PaymentJob {
  readonly key: string;
  readonly request: PaymentIntentRequest;
}

export interface PaymentWorkerOptions {
  readonly flow: PaymentFlow;
  readonly connection: ConnectionOptions;
  readonly tellAnOperator: (key: string) => Promise<void>;
  readonly onError: (error: Error) => void;
  /** How long a job stays with a worker that gives no sign of life. */
  readonly lockDurationMs?: number;
}

export function startPaymentWorker(options: PaymentWorkerOptions): Worker<PaymentJob, string> {
  const { flow, connection, tellAnOperator, onError, lockDurationMs = 30_000 } = options;
  const worker = new Worker<PaymentJob, string>(
    "payments",
    async ({ data: { key, request } }) => {
      const { status } = await flow.run(key, request);
      if (status === "held") await tellAnOperator(key);
      return status;
    },
    {
      connection,
      concurrency: 8,
      lockDuration: lockDurationMs,
      stalledInterval: lockDurationMs,
      // The default of 1 fails a job for good whose worker died twice.
      maxStalledCount: 1_000,
    },
  );
  return worker.on("error", onError);
}

export async function enqueuePayment(
  queue: Queue<PaymentJob, string>,
  key: string,
  request: PaymentIntentRequest,
): Promise<void> {
  const backoff = { type: "fixed", delay: 5_000 };
  await queue.add(
    "pay",
    { key, request },
    { jobId: key, attempts: 10_000, backoff, removeOnComplete: { age: 604_800 } },
  );
}
