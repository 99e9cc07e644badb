import { setTimeout as delay } from "node:timers/promises";
import type { FastifyInstance } from "fastify";
import type { Bank } from "./bank.js";

/**
 * `/healthz`: the process responds; where it does not, it is to be started anew. `/readyz`: it can serve its pages, for which it needs the
 * journal and the ledger. The service is not asked: without it customers still see what became of their payments, and no process is better.
 */
export function probeRoutes(app: FastifyInstance, { flow, pool }: Bank, stopping: AbortSignal): void {
  const quiet = { logLevel: "warn" } as const;

  app.get("/healthz", quiet, async () => ({ live: true }));

  app.get("/readyz", quiet, async (_, reply) => {
    if (stopping.aborted) return reply.code(503).send({ ready: false, why: "stopping" });
    const [journal, ledger] = await Promise.all([
      isDone(flow.status("readyz")),
      isDone(pool.query("select from accounts limit 1")),
    ]);
    return reply.code(journal && ledger ? 200 : 503).send({ ready: journal && ledger, journal, ledger });
  });
}

/** Whether it is done within the time that a probe has. */
async function isDone(work: Promise<unknown>): Promise<boolean> {
  const given = new AbortController();
  const done = work.then(
    () => true,
    () => false,
  );
  const isInTime = await Promise.race([done, delay(longestMs, false, { signal: given.signal, ref: false })]);
  given.abort();
  return isInTime;
}

const longestMs = 2000;
