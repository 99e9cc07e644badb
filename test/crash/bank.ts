import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Happening } from "../../src/simulation/marks.js";

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
  /**
   * Whether a key that comes with another intent is the same transaction, as it has to be where the journal may lose entries. Otherwise the
   * money is taken again, as a bank would that is asked for another amount: a flow whose entry is there must never do that. Default: no.
   */
  readonly ignoresIntents?: boolean;
  /** Called before each response, which waits for what it returns. */
  readonly onCall?: (kind: BankEntry["kind"], key: string) => Promise<void> | void;
  /** Called with what a process's call came to, whatever becomes of the response. */
  readonly onAnswer?: (answer: BankAnswer) => void;
  /** Called with what happens to a call of a flow, in the words of the simulator. */
  readonly onEvent?: (key: string, what: Happening) => void;
}

/** `given back` where it was a release. */
export interface BankAnswer {
  readonly key: string;
  readonly process: string;
  readonly answer: "first" | "replayed" | "null" | "given back";
}

const faults = {
  take: { unavailable: "takeFunds fails", lost: "takeFunds takes, and its response is lost" },
  release: { unavailable: "releaseFunds fails", lost: "releaseFunds releases, and its response is lost" },
} as const;

/** What the bank says when it has taken money: see `takeFunds`. */
export interface BankReceipt {
  readonly senderGatewayTransactionId: string;
  readonly replayed: boolean;
}

/** The sender's bank: idempotent by key, as `takeFunds` and `releaseFunds` have to be, and its first response is final. */
export class Bank implements AsyncDisposable {
  readonly entries: BankEntry[] = [];
  /** Every call, repetitions included. */
  readonly calls: Pick<BankEntry, "kind" | "key">[] = [];
  /** Calls that no flow may make. */
  readonly violations: string[] = [];
  readonly #options: BankOptions;
  readonly #takes = new Map<string, BankEntry>();
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
    this.calls.push({ kind, key: body.key });
    await this.#options.onCall?.(kind, body.key);
    const attempt = (this.#attempts.get(kind + body.key) ?? 0) + 1;
    this.#attempts.set(kind + body.key, attempt);
    const fault = this.#options.fault(body.key, attempt);
    if (fault !== "none") this.#options.onEvent?.(body.key, faults[kind][fault]);
    if (fault === "unavailable") {
      response.writeHead(503).end();
      return;
    }
    const receipt = kind === "take" ? this.#take(body) : this.#release(body);
    const taken = receipt === null ? "null" : receipt.replayed ? "replayed" : "first";
    this.#options.onAnswer?.({ ...body, answer: kind === "take" ? taken : "given back" });
    const text = JSON.stringify(receipt);
    if (fault === "lost") response.destroy();
    else response.writeHead(200, { "content-length": Buffer.byteLength(text) }).end(text);
  }

  #take({ key, intentId, amount }: Omit<BankEntry, "kind" | "transactionId">): BankReceipt | null {
    if (this.#options.declines(key)) {
      this.#options.onEvent?.(key, "takeFunds declines");
      return null;
    }
    const transaction = this.#options.ignoresIntents === true ? key : `${key} ${intentId}`;
    const known = this.#takes.get(transaction);
    if (known !== undefined) {
      this.#options.onEvent?.(key, "takeFunds had taken before");
      const { transactionId } = known;
      if (this.#released.has(transactionId)) return null;
      return { senderGatewayTransactionId: transactionId, replayed: true };
    }
    const entry = { kind: "take", key, intentId, amount, transactionId: `T-${this.entries.length}` } as const;
    this.entries.push(entry);
    this.#takes.set(transaction, entry);
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
