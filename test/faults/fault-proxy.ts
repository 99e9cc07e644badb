import { connect, createServer, type Socket } from "node:net";
import { type Sandbox, type SandboxOptions, type SandboxServer, startSandbox } from "cross-border-payments/sandbox";
import { openRefusals } from "../http/statuses.js";
import { originOf } from "../support/origin-of.js";
import { derivedSeed, seededRandom, weighted } from "./seeded-random.js";

/** What the sandbox did for one request, identified by a key in its body. */
export interface Deed {
  /** Whole requests that arrived. */
  arrivals: number;
  /** Those that were certainly refused before anything was done: a client may send them again. */
  refusals: number;
  /** Records that were stored. */
  commits: number;
}

export interface FaultProxyOptions {
  readonly seed: number;
  /** The key of a request, from its body; `undefined` for requests that create nothing. */
  readonly keyOf: (body: Readonly<Record<string, unknown>>) => string | undefined;
  readonly sandbox?: SandboxOptions;
}

/**
 * A sandbox behind a proxy that breaks each connection as the seed says: it cuts, resets, delays or drops at any byte, in either
 * direction. It records what the sandbox really did.
 */
export interface FaultProxy {
  readonly sandbox: Sandbox;
  /** Leads through the faults. */
  readonly origin: string;
  /** Leads around them. */
  readonly directOrigin: string;
  /** From now on the sandbox itself fails now and then. To be called once the records that it needs exist. */
  begin(): void;
  deedOf(key: string): Readonly<Deed>;
  /** Connections so far, by what was done to them. */
  readonly played: ReadonlyMap<string, number>;
  /** Settles when the sandbox has no request in progress, even if a client still waits. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** How one end of a connection is closed. */
type Ending = "reset" | "finish" | "leave open";

/** What happens after a number of bytes in one direction. */
interface Plan {
  readonly name: string;
  readonly direction: "to service" | "to client" | "none";
  readonly afterBytes: number;
  readonly delayMs: number;
  readonly client: Ending;
  readonly service: Ending;
}

export async function startFaultProxy({ seed, keyOf, sandbox: options }: FaultProxyOptions): Promise<FaultProxy> {
  const deeds = new Map<string, Deed>();
  const played = new Map<string, number>();
  const sockets = new Set<Socket>();
  const server = await startTruthfulSandbox(seed, keyOf, deeds, options);
  const port = Number(new URL(server.url).port);
  let connections = 0;
  const proxy = createServer({ noDelay: true }, (client) => {
    const plan = planOf(seededRandom(derivedSeed(seed, connections++)));
    played.set(plan.name, (played.get(plan.name) ?? 0) + 1);
    const service = connect({ port, host: "127.0.0.1", noDelay: true });
    for (const socket of [client, service]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
    }
    join(client, service, plan);
  });
  return {
    sandbox: server.sandbox,
    origin: await originOf(proxy),
    directOrigin: server.url,
    begin: server.begin,
    deedOf: (key) => deeds.get(key) ?? { arrivals: 0, refusals: 0, commits: 0 },
    played,
    quiet: server.quiet,
    async close() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await server.close();
    },
  };
}

/** A sandbox that counts what it does, and fails now and then, before or after it has done what was requested. */
async function startTruthfulSandbox(
  seed: number,
  keyOf: FaultProxyOptions["keyOf"],
  deeds: Map<string, Deed>,
  options: SandboxOptions | undefined,
): Promise<SandboxServer & Pick<FaultProxy, "begin" | "quiet">> {
  const random = seededRandom(derivedSeed(seed, -1));
  let strangers = strayPayment("transaction-0");
  let working = 0;
  let begun = false;
  const deedOf = (body: string): Deed | undefined => {
    const key = body.startsWith("{") ? keyOf(JSON.parse(body)) : undefined;
    if (key === undefined) return undefined;
    const deed = deeds.get(key) ?? { arrivals: 0, refusals: 0, commits: 0 };
    deeds.set(key, deed);
    return deed;
  };
  const server = await startSandbox({
    ...options,
    onRequest: ({ body, operation }) => {
      const deed = deedOf(body);
      if (deed !== undefined) deed.arrivals += 1;
      if (!begun || operation === "token") return undefined;
      const status = weighted(random, [
        [92, 0],
        [2, 429],
        [2, 401],
        [1, 400],
        [1, 503],
        [2, -1],
      ] as const);
      if (status === 0) return undefined;
      // Nothing was done, and nobody can know it.
      if (status === -1) return standIn(random, operation, strangers);
      if (deed !== undefined && status !== 503) deed.refusals += 1;
      return Response.json({ error: "not_now", message: "not now" }, { status });
    },
    onResponse: async ({ body, operation }, response) => {
      const deed = deedOf(body);
      if (deed !== undefined && response.ok) deed.commits += 1;
      // A token that has expired by the time it arrives.
      else if (deed !== undefined) deed.refusals += 1;
      if (!begun || operation === "token") return undefined;
      const then = weighted(random, [
        [86, "response"],
        [4, "slow response"],
        [2, "failure"],
        [2, "no response"],
        [4, "stand-in"],
        [2, "half a response"],
      ] as const);
      const text = await response.clone().text();
      const stray = strangers;
      if (operation === "payments.create" && response.ok) strangers = text;
      if (then === "stand-in") return standIn(random, operation, stray);
      if (then === "half a response") {
        return new Response(text.slice(0, random() * text.length), { status: response.status });
      }
      if (then === "failure") return Response.json({ error: "failed", message: "it failed" }, { status: 500 });
      if (then === "no response") return Response.error();
      if (then === "slow response") {
        working += 1;
        await new Promise((resolve) => setTimeout(resolve, random() * 80));
        working -= 1;
      }
      return undefined;
    },
  });
  const quiet = async (): Promise<void> => {
    do await new Promise((resolve) => setTimeout(resolve, 100));
    while (working > 0);
  };
  const begin = (): void => {
    begun = true;
  };
  return Object.assign(server, { begin, quiet });
}

/** What comes in place of the service's response, by somebody who knows nothing of it. */
function standIn(random: () => number, operation: string | undefined, stray: string): Response {
  const page = "<!doctype html><title>Sorry</title>";
  const error = { error: "conflict", message: "not now" };
  return weighted<() => Response>(random, [
    [2, () => new Response(page, { status: 403, headers: { "content-type": "text/html" } })],
    [1, () => new Response(page, { status: 404 })],
    [1, () => new Response("", { status: 400 })],
    [1, () => Response.json({ message: "no such route" }, { status: 404 })],
    [1, () => Response.json([error], { status: 422 })],
    [2, () => new Response(page, { status: 429, headers: { "retry-after": "0" } })],
    ...openRefusals.flatMap((status): [number, () => Response][] => [
      [1, () => Response.json(error, { status })],
      [1, () => new Response(page, { status })],
    ]),
    [1, () => new Response(null, { status: 303, headers: { location: "/login" } })],
    [1, () => new Response(null, { status: 302, headers: { location: "/login" } })],
    [1, () => new Response(null, { status: 204 })],
    [2, () => new Response(page)],
    [2, () => Response.json({})],
    [2, () => Response.json({ status: "maintenance" })],
    [1, () => Response.json([])],
    [1, () => Response.json(null)],
    [1, () => Response.json({ data: { id: "1" } })],
    [1, () => Response.json({ ...error, id: null })],
    // A socket that is out of step brings the response to an earlier payment.
    [6, () => (operation === "payments.create" ? new Response(stray, { status: 201 }) : Response.json([{ id: "1" }]))],
  ])();
}

function strayPayment(senderGatewayTransactionId: string): string {
  return JSON.stringify({ id: "payment-0", senderGatewayTransactionId });
}

/** Long enough for several exchanges on one connection. */
const longestBytes = 6000;

function planOf(random: () => number): Plan {
  const afterBytes = Math.floor(random() ** 2 * longestBytes);
  const direction = random() < 0.5 ? "to service" : "to client";
  const delayMs = Math.floor(random() * 60);
  const ending = (): Ending => (random() < 0.5 ? "reset" : "finish");
  const plan = { direction, afterBytes, delayMs: 0, client: ending(), service: ending() } as const;
  return weighted<Plan>(random, [
    [8, { ...plan, name: "well", direction: "none" }],
    [12, { ...plan, name: "slow", delayMs, client: "leave open", service: "leave open" }],
    [26, { ...plan, name: "both ends cut" }],
    [20, { ...plan, name: "client cut, service left with what it has", service: "leave open" }],
    [15, { ...plan, name: "service cut, client told late", delayMs }],
    [10, { ...plan, name: "cut before the first byte", afterBytes: 0 }],
    [2, { ...plan, name: "silence", delayMs: -1, client: "leave open", service: "leave open" }],
  ]);
}

/** Passes bytes on until the fault happens. */
function join(client: Socket, service: Socket, plan: Plan): void {
  let over = false;
  const strike = (): void => {
    over = true;
    end(service, plan.service);
    if (plan.delayMs > 0) setTimeout(() => end(client, plan.client), plan.delayMs);
    else end(client, plan.client);
  };
  const pass = (from: Socket, to: Socket, direction: Plan["direction"]): void => {
    let left = plan.direction === direction ? plan.afterBytes : Number.POSITIVE_INFINITY;
    // Once the other end is cut off, everything is lost; a slow connection continues afterwards.
    const isSlow = plan.client === "leave open" && plan.service === "leave open" && plan.delayMs >= 0;
    if (left === 0 && direction === "to service" && !isSlow && plan.delayMs === 0) strike();
    from.on("data", (chunk: Buffer) => {
      if (over) return;
      if (chunk.length < left) {
        left -= chunk.length;
        to.write(chunk);
        return;
      }
      to.write(chunk.subarray(0, left));
      if (!isSlow) return strike();
      const rest = chunk.subarray(left);
      left = Number.POSITIVE_INFINITY;
      from.pause();
      setTimeout(() => {
        to.write(rest);
        from.resume();
      }, plan.delayMs);
    });
    from.on("end", () => {
      if (!over) to.end();
    });
    from.on("close", () => {
      if (!over && plan.direction !== "none") to.destroy();
    });
  };
  pass(client, service, "to service");
  pass(service, client, "to client");
}

function end(socket: Socket, how: Ending): void {
  if (how === "reset") socket.resetAndDestroy();
  if (how === "finish") socket.end();
}
