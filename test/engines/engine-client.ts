import { DBOSClient } from "@dbos-inc/dbos-sdk";
import { Queue } from "bullmq";
import type { PaymentIntentRequest } from "cross-border-payments";
import pg from "pg";
import PgBoss from "pg-boss";
import * as bullmq from "../../examples/engines/bullmq.js";
import * as dbos from "../../examples/engines/dbos.js";
import * as pgBoss from "../../examples/engines/pg-boss.js";
import type { EngineName } from "./engine-worker.js";

/** How many jobs the engine has, by how far they are. */
interface EngineJobs {
  readonly open: number;
  readonly completed: number;
  /** Those that the engine has given up. */
  readonly failed: number;
}

/** The engine, as the process sees it that has payments to make. */
export interface EngineClient extends AsyncDisposable {
  enqueue(key: string, request: PaymentIntentRequest): Promise<void>;
  jobs(): Promise<EngineJobs>;
}

/** Its workers must be there already: they make the engine's tables and queues. */
export function openEngine(engine: EngineName, databaseUrl: string, redisUrl: string): Promise<EngineClient> {
  const open = { dbos: openDbos, "pg-boss": openPgBoss, bullmq: async () => openBullMq(redisUrl) };
  return open[engine](databaseUrl);
}

async function openDbos(systemDatabaseUrl: string): Promise<EngineClient> {
  const client = await DBOSClient.create({ systemDatabaseUrl, applicationName: "payments" });
  const counted = "SELECT status AS state, count(*) FROM dbos.workflow_status GROUP BY status";
  const counter = jobCounter(systemDatabaseUrl, counted, ["ENQUEUED", "PENDING", "DELAYED"], "SUCCESS");
  return {
    enqueue: (key, request) => dbos.enqueuePayment(client, key, request),
    jobs: counter.jobs,
    async [Symbol.asyncDispose]() {
      await counter.end();
      await client.destroy();
    },
  };
}

async function openPgBoss(connectionString: string): Promise<EngineClient> {
  const boss = new PgBoss({ connectionString, supervise: false, schedule: false });
  boss.on("error", ignore);
  await boss.start();
  const counted = "SELECT state, count(*) FROM pgboss.job WHERE name = 'payments' GROUP BY state";
  const counter = jobCounter(connectionString, counted, ["created", "retry", "active"], "completed");
  return {
    enqueue: (key, request) => pgBoss.enqueuePayment(boss, key, request),
    jobs: counter.jobs,
    async [Symbol.asyncDispose]() {
      await counter.end();
      await boss.stop({ graceful: false });
    },
  };
}

function openBullMq(url: string): EngineClient {
  const queue: Parameters<typeof bullmq.enqueuePayment>[0] = new Queue("payments", { connection: { url } });
  return {
    enqueue: (key, request) => bullmq.enqueuePayment(queue, key, request),
    async jobs() {
      const { completed = 0, failed = 0, ...others } = await queue.getJobCounts();
      return { open: Object.values(others).reduce((sum, count) => sum + count, 0), completed, failed };
    },
    async [Symbol.asyncDispose]() {
      await queue.obliterate({ force: true });
      await queue.close();
    },
  };
}

const ignore = (): void => {};

function jobCounter(connectionString: string, query: string, open: readonly string[], completed: string) {
  // `end` doesn't wait until the server has let go: dropping the database then ends the connection with an error.
  const database = new pg.Pool({ connectionString, max: 1 }).on("error", ignore);
  return {
    end: () => database.end(),
    async jobs(): Promise<EngineJobs> {
      const { rows } = await database.query<{ state: string; count: string }>(query);
      const jobs = { open: 0, completed: 0, failed: 0 };
      for (const { state, count } of rows) {
        jobs[open.includes(state) ? "open" : state === completed ? "completed" : "failed"] += Number(count);
      }
      return jobs;
    },
  };
}
