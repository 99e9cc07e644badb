import { setTimeout as pause } from "node:timers/promises";
import { CrossBorderClient, generateSigningKeyPair, type Payment } from "cross-border-payments";
import { type Sandbox, type SandboxRequest, type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
import { payments as operations } from "../../src/resources/payments.js";
import { pageOf } from "../../src/sandbox/list-page.js";
import { openCorridor } from "../support/corridor.js";
import { sandboxToken } from "../support/sandbox-token.js";

export type ServiceFault =
  | "none"
  | "refuse" // 400, and nothing done
  | "throttle" // 429, and nothing done
  | "unavailable" // 503, and nothing done
  | "reset" // the connection broken off, and nothing done
  | "slow-response" // done, and responded late
  | "slow-commit" // done only after the client has given up
  | "lost" // done, and the connection broken off
  | "unavailable-after"; // done, and 503

export interface ServiceOptions {
  /** What happens to the `attempt`th request of an operation for a key; lists have no key. */
  readonly fault: (operation: SandboxRequest["operation"], key: string, attempt: number) => ServiceFault;
  /** Called with each fault before it happens. */
  readonly onFault?: (operation: SandboxRequest["operation"], key: string, fault: ServiceFault) => void;
  /** Called before and after each request is done. */
  readonly onExchange?: (request: SandboxRequest, payments: readonly Payment[]) => void;
  readonly slowResponseMs: number;
  /** Called for each slow commit. */
  readonly slowCommitMs: () => number;
  /** How long a key's payment is not listed yet after it was made. Default: not at all. */
  readonly listedAfterMs?: (key: string) => number;
}

/** The sandbox over HTTP, with two gateways, an exchange rate, and faults. */
export class FaultyService implements AsyncDisposable {
  readonly signingKey: string;
  readonly accessToken: string;
  readonly #server: SandboxServer;

  private constructor(server: SandboxServer, signingKey: string, accessToken: string) {
    this.#server = server;
    this.signingKey = signingKey;
    this.accessToken = accessToken;
  }

  static async start(options: ServiceOptions): Promise<FaultyService> {
    const faults = new Faults(options);
    const server = await startSandbox({
      tokenLifetimeSeconds: 24 * 3600,
      onRequest: (request) => faults.before(request),
      onResponse: (request) => faults.after(request),
    });
    const keys = await generateSigningKeyPair();
    await using client = new CrossBorderClient({ ...server.clientOptions, signingKey: keys.privateKey });
    await openCorridor(client, keys.publicKeyBase64);
    faults.begin(server.sandbox);
    return new FaultyService(server, keys.privateKey, await sandboxToken(server.sandbox));
  }

  get baseUrl(): string {
    return this.#server.baseUrl;
  }

  get payments(): readonly Payment[] {
    return this.#server.sandbox.payments;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server.close();
  }
}

class Faults {
  readonly #options: ServiceOptions;
  readonly #attempts = new Map<string, number>();
  readonly #pending = new WeakMap<SandboxRequest, ServiceFault>();
  #sandbox: Sandbox | undefined;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  begin(sandbox: Sandbox): void {
    this.#sandbox = sandbox;
  }

  async before(request: SandboxRequest): Promise<Response | undefined> {
    if (this.#sandbox === undefined || request.operation === "token") return undefined;
    const key = keyOf(request);
    const id = `${request.operation} ${key}`;
    const attempt = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.set(id, attempt);
    const fault = this.#options.fault(request.operation, key, attempt);
    this.#pending.set(request, fault);
    this.#options.onFault?.(request.operation, key, fault);
    switch (fault) {
      case "refuse":
        return refusal(400, "refused");
      case "throttle":
        return refusal(429, "too_many_requests", { "retry-after": "0" });
      case "unavailable":
        return refusal(503, "unavailable");
      case "reset":
        return Response.error();
      case "slow-commit":
        await pause(this.#options.slowCommitMs());
    }
    this.#options.onExchange?.(request, this.#sandbox.payments);
    const { listedAfterMs } = this.#options;
    if (listedAfterMs === undefined || request.operation !== "payments.list") return undefined;
    return listedOf(this.#sandbox.payments, this.#isListed(listedAfterMs), request);
  }

  async after(request: SandboxRequest): Promise<Response | undefined> {
    if (this.#sandbox !== undefined) this.#options.onExchange?.(request, this.#sandbox.payments);
    switch (this.#pending.get(request)) {
      case "lost":
        return Response.error();
      case "unavailable-after":
        return refusal(503, "unavailable");
      case "slow-response":
        await pause(this.#options.slowResponseMs);
    }
    return undefined;
  }

  /** Whether a payment is listed by now. */
  #isListed(listedAfterMs: (key: string) => number): (payment: Payment) => boolean {
    return ({ createdAt, memo }) => Date.parse(createdAt) + listedAfterMs(memo) <= Date.now();
  }
}

/** What a replica of the service's database responds that does not have the newest payments yet. */
function listedOf(payments: readonly Payment[], isListed: (payment: Payment) => boolean, { query }: SandboxRequest) {
  const rows = payments.filter(isListed).map((record) => ({ token: Number(record.pagingToken), record }));
  const page = pageOf(rows, operations.list, new URLSearchParams(query), { maxSize: 100, defaultSize: 20 });
  return Response.json(page.map(({ record }) => record));
}

function keyOf({ body }: SandboxRequest): string {
  if (body === "") return "";
  const { memo }: { memo?: string } = JSON.parse(body);
  return memo ?? "";
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error, message: `the service was told to say ${status}` }, { status, headers });
}
