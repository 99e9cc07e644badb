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
export async function startBank(options: BankOptions) {
  const entries: BankEntry[] = [];
  /** Calls that no flow may make. */
  const violations: string[] = [];
  const takes = new Map<string, BankEntry & { readonly atMs: number }>();
  const released = new Set<string>();
  const attempts = new Map<string, number>();

  async function exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await textOf(request));
    const kind = request.url === "/take" ? "take" : "release";
    const attempt = (attempts.get(kind + body.key) ?? 0) + 1;
    attempts.set(kind + body.key, attempt);
    const fault = options.fault(body.key, attempt);
    if (fault === "unavailable") {
      response.writeHead(503).end();
      return;
    }
    const receipt = kind === "take" ? take(body) : release(body);
    const text = JSON.stringify(receipt);
    if (fault === "lost") response.destroy();
    else response.writeHead(200, { "content-length": Buffer.byteLength(text) }).end(text);
  }

  /** A key that comes with another intent is another debit: a flow whose entry is kept must never do that. */
  function take({ key, intentId, amount }: Omit<BankEntry, "kind" | "transactionId">): FlowFunds | null {
    if (options.declines(key)) return null;
    const known = takes.get(`${key} ${intentId}`);
    if (known !== undefined) {
      if (released.has(known.transactionId)) return null;
      return { senderGatewayTransactionId: known.transactionId, replayed: true, takenAtMs: known.atMs };
    }
    const entry = { kind: "take", key, intentId, amount, transactionId: `T-${entries.length}` } as const;
    entries.push(entry);
    takes.set(`${key} ${intentId}`, { ...entry, atMs: Date.now() });
    return { senderGatewayTransactionId: entry.transactionId, replayed: false };
  }

  function release({ key, transactionId }: Pick<BankEntry, "key" | "transactionId">): null {
    const taken = entries.find((entry) => entry.key === key && entry.transactionId === transactionId);
    if (taken === undefined) violations.push(`${key}: released what was not taken`);
    else if (!released.has(transactionId)) {
      released.add(transactionId);
      entries.push({ ...taken, kind: "release" });
    }
    return null;
  }

  const server = createServer((request, response) => void exchange(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    entries,
    violations,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose](): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return text;
}
