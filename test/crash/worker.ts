import { CrossBorderClient } from "cross-border-payments";
import { type FlowOutcome, type Journal, PaymentFlow } from "cross-border-payments/flow";
import { Agent } from "undici";
import { seededRandom } from "../faults/seeded-random.js";
import type { BankTake } from "./bank.js";
import { CrashPoints } from "./crash-points.js";
import { crashingDispatcher } from "./crashing-dispatcher.js";
import { CrashingJournal } from "./crashing-journal.js";
import {
  type Command,
  type JournalPlace,
  type Outcome,
  type Report,
  requestOf,
  type WorkerSettings,
} from "./worker-messages.js";

/** A process that runs flows until it is killed. */
async function main(settings: WorkerSettings): Promise<void> {
  const points = new CrashPoints(settings.troubles ?? [], failingDisk(settings));
  const journal = new CrashingJournal(await openJournal(settings.journal), points);
  const flow = openFlow(settings, journal, points);
  process.on("message", (command: Command) => void obey(flow, journal, command));
  process.on("disconnect", () => process.exit());
  report({ type: "ready" });
}

async function obey(flow: PaymentFlow, journal: CrashingJournal, command: Command): Promise<void> {
  switch (command.type) {
    case "run":
      for (const key of command.keys) void runUntilSettled(flow, key);
      return;
    case "run-once":
      await runOnce(flow, command.key);
      return;
    case "keep-recovering":
      await keepRecovering(flow, command.everyMs);
      return;
    case "audit":
      report({ type: "audited", outcomes: await audit(flow, command.keys) });
      return;
    case "claim-times":
      report({ type: "claim-times", milliseconds: journal.claimTimesMs });
  }
}

async function runUntilSettled(flow: PaymentFlow, key: string): Promise<void> {
  while (!(await runOnce(flow, key))) await pause(25);
}

async function runOnce(flow: PaymentFlow, key: string): Promise<boolean> {
  try {
    report({ type: "settled", outcome: toReported(await flow.run(key, requestOf(key))), by: "run" });
    return true;
  } catch (error) {
    stumble(key, error);
    return false;
  }
}

async function keepRecovering(flow: PaymentFlow, everyMs: number): Promise<void> {
  for (;;) {
    try {
      for await (const outcome of flow.recover({ concurrency: 16 })) {
        report({ type: "settled", outcome: toReported(outcome), by: "recover" });
      }
    } catch (error) {
      const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
      for (const one of errors) stumble("", one);
    }
    await pause(everyMs);
  }
}

async function audit(flow: PaymentFlow, keys: readonly string[]): Promise<readonly (Outcome | undefined)[]> {
  const outcomes: (Outcome | undefined)[] = [];
  for (const key of keys) {
    const outcome = await flow.outcome(key);
    outcomes.push(outcome && toReported(outcome));
  }
  return outcomes;
}

function openFlow(settings: WorkerSettings, journal: Journal, points: CrashPoints): PaymentFlow {
  const agent = new Agent({ allowH2: false, pipelining: 1, connections: 64, headersTimeout: 0, bodyTimeout: 0 });
  const client = new CrossBorderClient({
    baseUrl: settings.baseUrl,
    auth: { accessToken: () => settings.accessToken },
    signingKey: settings.signingKey,
    timeoutMs: 5_000,
    dispatcher: crashingDispatcher(agent, points),
  });
  const askBank = async (path: string, body: object): Promise<unknown> => {
    const origin = settings.bankUrl;
    const response = await agent.request({ origin, path, method: "POST", body: JSON.stringify(body) });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`the bank says ${response.statusCode}`);
    return JSON.parse(text);
  };
  return new PaymentFlow({
    client,
    journal,
    leaseMs: settings.leaseMs,
    readBackDelayMs: settings.readBackDelayMs,
    async takeFunds({ key, intent }) {
      points.pass("take:before", key);
      const body = { key, intentId: intent.id, amount: intent.senderAmount };
      const take = (await askBank("/take", body)) as BankTake | null;
      points.pass("take:after", key);
      return take === null ? null : { senderGatewayTransactionId: take.transactionId, replayed: take.replayed };
    },
    async releaseFunds({ key, senderGatewayTransactionId: transactionId }) {
      points.pass("give-back:before", key);
      await askBank("/release", { key, transactionId });
      points.pass("give-back:after", key);
    },
  });
}

async function openJournal({ kind, place, schema = "public" }: JournalPlace): Promise<Journal> {
  if (kind === "sqlite") return (await import("cross-border-payments/journal/sqlite")).SqliteJournal.open(place);
  return (await import("cross-border-payments/journal/postgres")).PostgresJournal.open(place, { schema });
}

function failingDisk({ diskFaults }: WorkerSettings): () => boolean {
  if (diskFaults === undefined) return () => false;
  const random = seededRandom(diskFaults.seed);
  return () => random() < diskFaults.rate;
}

function toReported(outcome: FlowOutcome): Outcome {
  const { key, status } = outcome;
  if (outcome.status === "paid") {
    const { id: paymentId, senderGatewayTransactionId: transactionId } = outcome.payment;
    return { key, status, paymentId, transactionId };
  }
  const transactionId = "senderGatewayTransactionId" in outcome ? outcome.senderGatewayTransactionId : undefined;
  const reason =
    outcome.status === "held" ? `${outcome.reason} (epoch ${outcome.claim?.epoch ?? "of a lost claim"})` : undefined;
  return {
    key,
    status,
    ...(transactionId === undefined ? undefined : { transactionId }),
    ...(reason === undefined ? undefined : { reason }),
  };
}

function stumble(key: string, error: unknown): void {
  const { message = String(error), cause }: { message?: string; cause?: unknown } = Object(error);
  report({ type: "stumbled", key, error: cause instanceof Error ? `${message}: ${cause.message}` : message });
}

function report(message: Report): void {
  // The test may have ended already.
  process.send?.(message, undefined, {}, () => {});
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

process.once("message", (settings: WorkerSettings) => void main(settings));
