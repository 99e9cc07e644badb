import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { FlowFunds } from "cross-border-payments/flow";

/** A movement of money. Entries are added, and never changed. */
export interface BankEntry {
  readonly kind: "take" | "release";
  readonly key: string;
  readonly intentId: string;
  readonly amount: string;
  readonly transactionId: string;
}

export type BankFault = "none" | "lost" | "unavailable";

export interface BankOptions {
  /** Whether the sender declines. */
  readonly declines: (key: string) => boolean;
  readonly fault: (key: string, attempt: number) => BankFault;
}

/** The sender's bank: idempotent by key, as `takeFunds` and `releaseFunds` have to be, and its first response is final. */
export class Bank implements AsyncDisposable {
  readonly entries: BankEntry[] = [];
  /** Calls of `takeFunds`, repetitions included. */
  takeCalls = 0;
  /** Calls that no flow may make. */
  readonly violations: string[] = [];
  readonly #options: BankOptions;
  readonly #takes = new Map<string, BankEntry & { readonly atMs: number }>();
  readonly #released = new Set<string>();
  readonly #attempts = new Map<string, number>();
  readonly #server = createServer((request, response) => void this.#exchange(request, response));

  private constructor(options: BankOptions) {
    this.#options = options;
  }

  static async start(options: BankOptions): Promise<Bank> {
    const bank = new Bank(options);
    await new Promise<void>((resolve) => bank.#server.listen(0, "127.0.0.1", resolve));
    return bank;
  }

  get url(): string {
    // It listens on a port, not on a pipe, so that the address is an object.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request));
    const kind = request.url === "/take" ? "take" : "release";
    if (kind === "take") this.takeCalls += 1;
    const attempt = (this.#attempts.get(kind + body.key) ?? 0) + 1;
    this.#attempts.set(kind + body.key, attempt);
    const fault = this.#options.fault(body.key, attempt);
    if (fault === "unavailable") {
      response.writeHead(503).end();
      return;
    }
    const receipt = kind === "take" ? this.#take(body) : this.#release(body);
    const text = JSON.stringify(receipt);
    if (fault === "lost") response.destroy();
    else response.writeHead(200, { "content-length": Buffer.byteLength(text) }).end(text);
  }

  /** A key that comes with another intent is another debit: a flow whose entry is kept must never do that. */
  #take({ key, intentId, amount }: Omit<BankEntry, "kind" | "transactionId">): FlowFunds | null {
    if (this.#options.declines(key)) return null;
    const known = this.#takes.get(`${key} ${intentId}`);
    if (known !== undefined) {
      if (this.#released.has(known.transactionId)) return null;
      return { senderGatewayTransactionId: known.transactionId, replayed: true, takenAtMs: known.atMs };
    }
    const entry = { kind: "take", key, intentId, amount, transactionId: `T-${this.entries.length}` } as const;
    this.entries.push(entry);
    this.#takes.set(`${key} ${intentId}`, { ...entry, atMs: Date.now() });
    return { senderGatewayTransactionId: entry.transactionId, replayed: false };
  }

  #release({ key, transactionId }: Pick<BankEntry, "key" | "transactionId">): null {
    const taken = this.entries.find((entry) => entry.key === key && entry.transactionId === transactionId);
    if (taken === undefined) this.violations.push(`${key}: released what was not taken`);
    else if (!this.#released.has(transactionId)) {
      this.#released.add(transactionId);
      this.entries.push({ ...taken, kind: "release" });
    }
    return null;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
