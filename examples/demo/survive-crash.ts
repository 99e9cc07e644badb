import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CrossBorderClient, type PaymentIntent, type PaymentIntentRequest } from "cross-border-payments";
import { type FlowFunds, FlowPausedError, type Journal, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import type { SandboxRequest, SandboxServer } from "cross-border-payments/sandbox";
import type { Narrator } from "./narrator.js";
import type { PayingProcessInput } from "./paying-process.js";

const leaseMs = 1000;

/** The connection between gateway and service, which can lose the response to a payment. */
export class DemoWire {
  /** Called when a response is lost; the payment has been made by then. */
  onLoss: (() => void) | undefined;

  readonly onResponse = ({ operation }: SandboxRequest): Response | undefined => {
    if (operation !== "payments.create" || this.onLoss === undefined) return undefined;
    this.onLoss();
    this.onLoss = undefined;
    return Response.error();
  };
}

export interface CrashAct {
  readonly narrator: Narrator;
  readonly server: SandboxServer;
  readonly wire: DemoWire;
  readonly order: PaymentIntentRequest;
  readonly signingKey: string;
}

/** A quote is confirmed, the payment's response is lost, its process is killed at that moment, and another one takes over. */
export async function surviveCrash(act: CrashAct): Promise<void> {
  const { narrator, server } = act;
  const hasSqlite = process.getBuiltinModule?.("node:sqlite") !== undefined;
  const recovered = hasSqlite ? await withThreeProcesses(act) : await withoutSqlite(act);
  narrator.check(recovered === "order-42: paid", `the new process finds the payment by its signature: "${recovered}"`);
  const made = server.sandbox.payments.filter((payment) => payment.senderGatewayTransactionId === "order-42-TX");
  narrator.check(made.length === 1, `the service has it ${made.length === 1 ? "once" : `${made.length} times`}`);
}

async function withThreeProcesses({ narrator, server, wire, order, signingKey }: CrashAct): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-demo-"));
  try {
    const options = { ...server.clientOptions, signingKey };
    const input: PayingProcessInput = { options, journal: join(folder, "payments.db"), order, leaseMs };
    const intent: PaymentIntent = JSON.parse(await text(start(["quote"], input).stdout));
    narrator.say("One process asks for the price, and stores it in a SQLite journal. No money is taken yet.");
    sayQuote(narrator, intent);
    narrator.say("The sender agrees. Another process confirms that quote: it takes the money, and pays.");
    const second = start(["confirm"], { ...input, intentId: intent.id });
    wire.onLoss = () => second.kill("SIGKILL");
    const signal = await new Promise((resolve) => second.once("exit", (_, by) => resolve(by)));
    narrator.check(signal === "SIGKILL", "the payment was made, its response lost, and the process killed (SIGKILL)");
    await sleep(leaseMs + 100);
    narrator.say("A third process opens the same journal, and recovers.");
    return (await text(start(["recover"], input).stdout)).trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function sayQuote(
  narrator: Narrator,
  { senderAmount, senderCurrency, receiverAmount, receiverCurrency }: PaymentIntent,
) {
  narrator.table({
    "to be paid": `${senderAmount} ${senderCurrency}`,
    "to arrive": `${receiverAmount} ${receiverCurrency}`,
  });
}

function start(args: string[], input: PayingProcessInput) {
  const file = fileURLToPath(new URL("paying-process.ts", import.meta.url));
  const child = spawn(process.execPath, ["--no-warnings", "--import", "tsx", file, ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  child.stdin.end(JSON.stringify(input));
  return child;
}

/** No process dies here: its journal stops working instead. */
async function withoutSqlite({ narrator, server, wire, order, signingKey }: CrashAct): Promise<string> {
  narrator.say(
    `(Node ${process.version} has no SQLite of its own: this part runs in one process, with a journal in memory.)`,
  );
  const options = { ...server.clientOptions, signingKey };
  const journal = new MemoryJournal();
  const dying = new DyingJournal(journal);
  wire.onLoss = () => dying.die();
  await using first = new CrossBorderClient(options);
  const bank = new DemoBank();
  const flow = flowOf(first, dying.journal, bank);
  const { intent } = await flow.quote("order-42", order);
  narrator.say("The price is asked for, and stored in the journal. No money is taken yet.");
  sayQuote(narrator, intent);
  narrator.say("The sender agrees, and the quote is confirmed: the money is taken, and paid.");
  const cut = await flow.confirm("order-42", { intentId: intent.id }).then(
    () => false,
    (error) => error instanceof FlowPausedError,
  );
  narrator.check(cut, "the payment was made, its response lost, and its owner cut off from the journal");
  await sleep(leaseMs + 100);
  narrator.say("A new owner recovers.");
  await using second = new CrossBorderClient(options);
  const outcomes: string[] = [];
  for await (const { key, status } of flowOf(second, journal, bank).recover()) outcomes.push(`${key}: ${status}`);
  return outcomes.join();
}

function flowOf(client: CrossBorderClient, journal: Journal, bank: DemoBank): PaymentFlow {
  return new PaymentFlow({
    client,
    journal,
    leaseMs,
    readBackDelayMs: 200,
    takeFunds: ({ key }) => bank.bookOnce(key),
    releaseFunds: () => {},
  });
}

/** A ledger with at most one entry of each key. */
class DemoBank {
  readonly #takenAtMs = new Map<string, number>();

  bookOnce(key: string): FlowFunds {
    const senderGatewayTransactionId = `${key}-TX`;
    const takenAtMs = this.#takenAtMs.get(key);
    if (takenAtMs !== undefined) return { senderGatewayTransactionId, replayed: true, takenAtMs };
    this.#takenAtMs.set(key, Date.now());
    return { senderGatewayTransactionId, replayed: false };
  }
}

/** A journal that can be cut off from one of its owners. */
class DyingJournal {
  readonly journal: Journal;
  #dead = false;

  constructor(journal: Journal) {
    this.journal = new Proxy(journal, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== "function") return method;
        return async (...args: unknown[]) => {
          if (this.#dead) throw new Error("the owner is dead");
          return method.apply(target, args);
        };
      },
    });
  }

  die(): void {
    this.#dead = true;
  }
}
