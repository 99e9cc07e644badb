import { setTimeout as pause } from "node:timers/promises";
import { CrossBorderClient, generateSigningKeyPair } from "cross-border-payments";
import { type SandboxRequest, startSandbox } from "cross-border-payments/sandbox";
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

export type FaultyService = Awaited<ReturnType<typeof startService>>;

/** The sandbox over HTTP, with two gateways, an exchange rate, and faults. */
export async function startService(options: ServiceOptions) {
  const { slowResponseMs, slowCommitMs } = options;
  const attempts = new Map<string, number>();
  const pending = new WeakMap<SandboxRequest, ServiceFault>();
  let hasBegun = false;

  function faultOf(request: SandboxRequest): ServiceFault {
    if (!hasBegun || request.operation === "token") return "none";
    const key = keyOf(request);
    const id = `${request.operation} ${key}`;
    const attempt = (attempts.get(id) ?? 0) + 1;
    attempts.set(id, attempt);
    return options.fault(request.operation, key, attempt);
  }

  async function before(request: SandboxRequest): Promise<Response | undefined> {
    const fault = faultOf(request);
    pending.set(request, fault);
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
        await pause(slowCommitMs());
    }
    return undefined;
  }

  async function after(request: SandboxRequest): Promise<Response | undefined> {
    switch (pending.get(request)) {
      case "lost":
        return Response.error();
      case "unavailable-after":
        return refusal(503, "unavailable");
      case "slow-response":
        await pause(slowResponseMs);
    }
    return undefined;
  }

  // Searches take few requests.
  const large = { tokenLifetimeSeconds: 24 * 3600, maxSize: 1000 };
  const server = await startSandbox({ ...large, onRequest: before, onResponse: after });
  const { privateKey: signingKey, publicKeyBase64 } = await generateSigningKeyPair();
  await using client = new CrossBorderClient({ ...server.clientOptions, signingKey });
  await openCorridor(client, publicKeyBase64);
  hasBegun = true;
  const { baseUrl, sandbox } = server;
  const accessToken = await sandboxToken(sandbox);
  return {
    baseUrl,
    signingKey,
    accessToken,
    get payments() {
      return sandbox.payments;
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

function keyOf({ body }: SandboxRequest): string {
  if (body === "") return "";
  const { memo }: { memo?: string } = JSON.parse(body);
  return memo ?? "";
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error, message: `the service was told to say ${status}` }, { status, headers });
}
