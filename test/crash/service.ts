import { setTimeout as pause } from "node:timers/promises";
import { CrossBorderClient, generateSigningKeyPair, type Payment } from "cross-border-payments";
import { type SandboxRequest, type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
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
  readonly slowResponseMs: number;
  /** Called for each slow commit. */
  readonly slowCommitMs: () => number;
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
    faults.begin();
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
  #hasBegun = false;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  begin(): void {
    this.#hasBegun = true;
  }

  async before(request: SandboxRequest): Promise<Response | undefined> {
    if (!this.#hasBegun || request.operation === "token") return undefined;
    const key = keyOf(request);
    const id = `${request.operation} ${key}`;
    const attempt = (this.#attempts.get(id) ?? 0) + 1;
    this.#attempts.set(id, attempt);
    const fault = this.#options.fault(request.operation, key, attempt);
    this.#pending.set(request, fault);
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
    return undefined;
  }

  async after(request: SandboxRequest): Promise<Response | undefined> {
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
}

function keyOf({ body }: SandboxRequest): string {
  if (body === "") return "";
  const { memo }: { memo?: string } = JSON.parse(body);
  return memo ?? "";
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error, message: `the service was told to say ${status}` }, { status, headers });
}
