import { setTimeout as pause } from "node:timers/promises";
import { CrossBorderClient, CrossBorderError } from "cross-border-payments";
import { type FlowOutcome, type Journal, PaymentFlow } from "cross-border-payments/flow";
import { Agent } from "undici";
import { seededRandom } from "../faults/seeded-random.js";
import type { BankReceipt } from "./bank.js";
import { CrashPoints } from "./crash-points.js";
import { crashingDispatcher } from "./crashing-dispatcher.js";
import { type CrashingJournal, crashingJournal } from "./crashing-journal.js";
import { type NoteEvent, noteTo, recordedJournal } from "./flow-records.js";
import { machineNowMs } from "./machine-time.js";
import { recordedDispatcher } from "./recorded-dispatcher.js";
import { keepStates, storedStates } from "./stored-states.js";
import {
  type Command,
  type JournalPlace,
  type Outcome,
  type Report,
  requestOf,
  type Task,
  type WorkerSettings,
} from "./worker-messages.js";

/** A process that runs flows until it is killed. */
async function main(settings: WorkerSettings): Promise<void> {
  const points = new CrashPoints(failingDisk(settings), {
    onContinued: (trouble) => report({ type: "continued", trouble }),
    onWaiting: (trouble) => report({ type: "waiting", trouble }),
    onDiskFault: (point, key) =>
      report({ type: "disk-failed", key, isStored: point.endsWith(":after"), atMs: machineNowMs() }),
  });
  for (const trouble of settings.troubles ?? []) points.expect(trouble);
  const crashing = crashingJournal(await patiently(() => openJournal(settings.journal)), points);
  const note = settings.record && noteTo(settings.record);
  if (note !== undefined) await patiently(() => keepStates(settings.journal));
  const flow = openFlow(settings, note ? recordedJournal(crashing.journal, note) : crashing.journal, points, note);
  process.on("message", (command: Command) => void obey({ flow, crashing, points, settings }, command));
  process.on("disconnect", () => process.exit());
  report({ type: "ready" });
}

interface Worker {
  readonly flow: PaymentFlow;
  readonly crashing: CrashingJournal;
  readonly points: CrashPoints;
  readonly settings: WorkerSettings;
}

async function obey(worker: Worker, command: Command): Promise<void> {
  const { flow, crashing, points } = worker;
  switch (command.type) {
    case "do":
      for (const task of command.tasks) void (command.once === true ? tryTask : doTask)(worker, task);
      return;
    case "keep-recovering":
      await keepRecovering(flow, command.everyMs);
      return;
    case "recover":
      await recoverOnce(flow);
      report({ type: "recovered" });
      return;
    case "work":
      await flow.work({ everyMs: command.everyMs });
      return;
    case "expect":
      points.expect(command.trouble);
      return;
    case "go-on":
      points.goOn(command.trouble);
      return;
    case "audit":
      report({ type: "audited", outcomes: await patiently(() => audit(worker, command)) });
      return;
    case "list-states":
      report({ type: "states-listed", states: await patiently(() => storedStates(command.journal)) });
      return;
    case "list-held":
      report({ type: "held-listed", keys: await patiently(() => listHeld(worker, command.journal)) });
      return;
    case "claim-times":
      report({ type: "claim-times", milliseconds: crashing.claimTimesMs });
      return;
    case "close":
      await flow.close();
      await crashing.journal.close();
      process.disconnect();
  }
}

async function doTask(worker: Worker, task: Task): Promise<void> {
  while (!(await tryTask(worker, task))) await pause(25);
}

/** False when the task is to be tried again. */
async function tryTask(worker: Worker, task: Task): Promise<boolean> {
  try {
    report(await ways[task.way](worker, task));
    return true;
  } catch (error) {
    const code = codeOf(error);
    if (refusals.has(code)) report({ type: "refused", task, code });
    else stumble(task.key, error);
    return refusals.has(code);
  }
}

/** Of a task that can't be done, and of an intent that the service refuses for good. */
const refusals = new Set(["quote_expired", "quote_changed", "flow_confirmed", "flow_unknown", "http_400"]);

const ways: Readonly<Record<Task["way"], (worker: Worker, task: Task) => Promise<Report>>> = {
  run: async ({ flow }, { key }) => settled(await flow.run(key, requestOf(key))),
  async quote({ flow }, { key }) {
    const { intent } = await flow.quote(key, requestOf(key));
    return { type: "quoted", key, intentId: intent.id };
  },
  confirm: async ({ flow }, { key, intentId = "" }) => settled(await flow.confirm(key, { intentId })),
  cancel: async ({ flow }, { key }) => settled(await flow.cancel(key, "the sender went away")),
  async "quote-confirm"({ flow }, { key }) {
    return settled(await flow.confirm(key, { intentId: await intentIdOf(flow, key) }));
  },
  async "quote-cancel"({ flow }, { key }) {
    await intentIdOf(flow, key);
    return settled(await flow.cancel(key));
  },
  async resend({ flow }, { key }) {
    const grounds = { by: "an operator", why: "the service says that it has no such payment", withoutProof: true };
    return settled(await flow.resolve(key, "resend", grounds));
  },
  async "quote-twice"({ flow, settings }, { key }) {
    await intentIdOf(flow, key);
    await pause((settings.quoteTtlMs ?? 0) + 20);
    await intentIdOf(flow, key);
    return settled(await flow.run(key, requestOf(key)));
  },
};

/** Of the quote that was shown, by this process or an earlier one. */
async function intentIdOf(flow: PaymentFlow, key: string): Promise<string> {
  try {
    return (await flow.quote(key, requestOf(key))).intent.id;
  } catch (error) {
    const id = codeOf(error) === "flow_confirmed" ? (await flow.status(key))?.intent?.id : undefined;
    if (id === undefined) throw error;
    return id;
  }
}

function settled(outcome: FlowOutcome): Report {
  return { type: "settled", outcome: toReported(outcome), by: "run" };
}

function codeOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.code : "";
}

async function keepRecovering(flow: PaymentFlow, everyMs: number): Promise<void> {
  for (;;) {
    await recoverOnce(flow);
    await pause(everyMs);
  }
}

async function recoverOnce(flow: PaymentFlow): Promise<void> {
  try {
    for await (const outcome of flow.recover({ concurrency: 16 })) {
      report({ type: "settled", outcome: toReported(outcome), by: "recover" });
    }
  } catch (error) {
    const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error];
    for (const one of errors) stumble("", one);
  }
}

async function audit(
  { settings, points }: Worker,
  { journal, keys }: Extract<Command, { readonly type: "audit" }>,
): Promise<readonly (Outcome | undefined)[]> {
  const opened = await openToRead(journal);
  try {
    const flow = openFlow(settings, opened, points);
    const outcomes = await Promise.all(keys.map((key) => flow.outcome(key)));
    return outcomes.map((outcome) => outcome && toReported(outcome));
  } finally {
    await opened.close();
  }
}

async function listHeld({ settings, points }: Worker, journal: JournalPlace): Promise<readonly string[]> {
  const opened = await openToRead(journal);
  try {
    const keys: string[] = [];
    for await (const found of openFlow(settings, opened, points).held()) {
      if (found.status !== "elsewhere") keys.push(found.key);
    }
    return keys;
  } finally {
    await opened.close();
  }
}

function openFlow(
  settings: WorkerSettings,
  journal: Journal,
  points: CrashPoints,
  note: NoteEvent = () => {},
): PaymentFlow {
  const { process: owner = "" } = settings.record ?? {};
  const agent = new Agent({ allowH2: false, pipelining: 1, connections: 64, headersTimeout: 0, bodyTimeout: 0 });
  const client = new CrossBorderClient({
    baseUrl: settings.baseUrl,
    auth: { accessToken: () => settings.accessToken },
    signingKey: settings.signingKey,
    timeoutMs: 5_000,
    dispatcher: crashingDispatcher(settings.record ? recordedDispatcher(agent, owner, note) : agent, points),
  });
  const askBank = async (path: string, body: object): Promise<unknown> => {
    const origin = settings.bankUrl;
    const response = await agent.request({
      origin,
      path,
      method: "POST",
      body: JSON.stringify({ ...body, process: owner }),
    });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`the bank says ${response.statusCode}`);
    return JSON.parse(text);
  };
  return new PaymentFlow({
    client,
    journal,
    leaseMs: settings.leaseMs,
    readBackDelayMs: settings.readBackDelayMs,
    ...(owner === "" ? undefined : { owner }),
    ...(settings.quoteTtlMs === undefined ? undefined : { quoteTtlMs: settings.quoteTtlMs }),
    ...(settings.listedWithinMs === undefined ? undefined : { service: { listedWithinMs: settings.listedWithinMs } }),
    // Among faults as frequent as these it would be open most of the time.
    circuitBreaker: false,
    on: {
      flow({ key, from, to, code, effect }) {
        const step = { key, from, to, ...(code && { code }), ...(effect && { effect }) };
        report({ type: "step", step, atMs: machineNowMs() });
      },
    },
    async takeFunds({ key, intent }) {
      points.pass("take:before", key);
      const receipt = await askBank("/take", { key, intentId: intent.id, amount: intent.senderAmount });
      points.pass("take:after", key);
      return receipt as BankReceipt | null;
    },
    async releaseFunds({ key, senderGatewayTransactionId: transactionId }) {
      note({ type: "ordered", key, process: owner });
      points.pass("give-back:before", key);
      await askBank("/release", { key, transactionId });
      points.pass("give-back:after", key);
    },
  });
}

/** For a look at many flows together, which takes as long as it takes. */
const openToRead = ({ kind, place, schema }: JournalPlace) => openJournal({ kind, place, ...(schema && { schema }) });

async function openJournal({ kind, place, schema = "public", timeoutMs }: JournalPlace): Promise<Journal> {
  if (kind === "sqlite") return (await import("cross-border-payments/journal/sqlite")).SqliteJournal.open(place);
  const { PostgresJournal } = await import("cross-border-payments/journal/postgres");
  return PostgresJournal.open(place, { schema, ...(timeoutMs === undefined ? undefined : { timeoutMs }) });
}

/** A server that was killed is back in a moment, and one that is busy responds at last. */
async function patiently<T>(read: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + 20_000;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (codeOf(error) !== "journal_failed" || performance.now() > giveUpAt) throw error;
    }
    await pause(100);
  }
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
  const reason = outcome.status === "held" ? `${outcome.reason} (epoch ${outcome.claim?.epoch})` : undefined;
  return {
    key,
    status,
    ...(transactionId === undefined ? undefined : { transactionId }),
    ...(reason === undefined ? undefined : { reason }),
  };
}

function stumble(key: string, error: unknown): void {
  const { message = String(error), cause }: { message?: string; cause?: unknown } = Object(error);
  const effect = error instanceof CrossBorderError ? { effect: error.effect } : undefined;
  report({
    type: "stumbled",
    key,
    error: cause instanceof Error ? `${message}: ${cause.message}` : message,
    ...effect,
  });
}

function report(message: Report): void {
  // The test may have ended already.
  process.send?.(message, undefined, {}, () => {});
}

process.once("message", (settings: WorkerSettings) => void main(settings));
