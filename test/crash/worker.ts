import { setTimeout as pause } from "node:timers/promises";
import { CrossBorderError } from "cross-border-payments";
import {
  type FlowOutcome,
  FlowPausedError,
  type FlowPhase,
  finalPhases,
  type PaymentFlow,
} from "cross-border-payments/flow";
import { seededRandom } from "../faults/seeded-random.js";
import { CrashPoints } from "./crash-points.js";
import { crashingJournal } from "./crashing-journal.js";
import { openFlow, openJournal, report, textOf, toReported } from "./worker-flow.js";
import {
  type Command,
  type Outcome,
  type Report,
  requestOf,
  type Task,
  type WorkerSettings,
} from "./worker-messages.js";

/** A process that runs flows until it is killed. */
async function main(settings: WorkerSettings): Promise<void> {
  const points = new CrashPoints(failingDisk(settings));
  const journal = await patiently(() => openJournal(settings.journal));
  const flow: PaymentFlow = openFlow(settings, crashingJournal(journal, points), points, {
    error: (error) => stumble("", error),
    flow({ key, from, to }) {
      if (from !== to && outcomes.has(to)) void reportOutcome(flow, key);
    },
  });
  process.on("message", (command: Command) => void obey({ flow, points, settings }, command));
  process.on("disconnect", () => process.exit());
  void report({ type: "ready" });
}

interface Worker {
  readonly flow: PaymentFlow;
  readonly points: CrashPoints;
  readonly settings: WorkerSettings;
}

async function obey(worker: Worker, command: Command): Promise<void> {
  switch (command.type) {
    case "do":
      for (const task of command.tasks) void doTask(worker, task);
      return;
    case "work":
      void worker.flow.work({ concurrency: 2, everyMs: command.everyMs });
      return;
    case "expect":
      worker.points.expect(command.trouble);
      return;
    case "audit":
      void report({ type: "audited", outcomes: await patiently(() => audit(worker, command)) });
  }
}

async function doTask(worker: Worker, task: Task): Promise<void> {
  for (;;) {
    const againMs = await tryTask(worker, task);
    if (againMs === undefined) return;
    await pause(againMs);
  }
}

/** After how long the task is to be tried again, if at all. A flow that waits for the service says until when. */
async function tryTask(worker: Worker, task: Task): Promise<number | undefined> {
  try {
    void report(await ways[task.way](worker, task));
    return undefined;
  } catch (error) {
    const code = codeOf(error);
    if (refusals.has(code)) {
      void report({ type: "refused", task, code });
      return undefined;
    }
    stumble(task.key, error);
    const retryAtMs = error instanceof FlowPausedError ? error.retryAtMs : undefined;
    return Math.max(25, (retryAtMs ?? 0) - Date.now());
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
};

function settled(outcome: FlowOutcome): Report {
  return { type: "settled", outcome: toReported(outcome) };
}

function codeOf(error: unknown): string {
  return error instanceof CrossBorderError ? error.code : "";
}

const outcomes = new Set<FlowPhase>([...finalPhases, "held"]);

/** Of a flow that this process settled, also one that it took over. */
async function reportOutcome(flow: PaymentFlow, key: string): Promise<void> {
  const status = await flow.status(key).catch(() => undefined);
  if (status?.outcome !== undefined) void report(settled(status.outcome));
}

async function audit(
  { settings, points }: Worker,
  { journal, keys }: Extract<Command, { readonly type: "audit" }>,
): Promise<readonly (Outcome | undefined)[]> {
  // Many flows are read together, which takes as long as it takes.
  const { kind, place, schema } = journal;
  const opened = await openJournal({ kind, place, ...(schema && { schema }) });
  try {
    const flow = openFlow(settings, opened, points);
    const found = await Promise.all(keys.map((key) => flow.status(key)));
    return found.map((status) => status?.outcome && toReported(status.outcome));
  } finally {
    await opened.close();
  }
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

function stumble(key: string, error: unknown): void {
  void report({ type: "stumbled", key, error: textOf(error) });
}

process.once("message", (settings: WorkerSettings) => void main(settings));
