import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type ClientOptions, CrossBorderClient, OutcomeUnknownError } from "cross-border-payments";
import { Agent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { payment } from "../http/scripted-transport.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { type SeenRequest, startWireFaultServer, type WireFaultServer, wireResponse } from "./wire-fault-server.js";

/** Pays, waits for so long, and pays again. Returns how often the client knew of both, and how many payments were made. */
async function payTwice(idleMs: number, pause: () => unknown, options: Partial<ClientOptions> = {}) {
  const server = await startIdleServer(idleMs);
  onTestFinished(() => server.close());
  const auth = { accessToken: () => "token" };
  const signingKey = signingKeysOf("gateway").privateKey;
  const client = new CrossBorderClient({ baseUrl: server.origin, auth, signingKey, ...options });
  onTestFinished(() => client.close());
  await client.payments.create(payment);
  // undici notices in a later turn of the event loop that the connection is idle.
  await sleep(5);
  await pause();
  const [second] = await Promise.allSettled([client.payments.create(payment)]);
  return { second, made: server.truth.commits.length };
}

function agentOf(options: Agent.Options): Agent {
  const agent = new Agent(options);
  onTestFinished(() => agent.close());
  return agent;
}

const waits = (ms: number) => () => sleep(ms);
const blocks = (ms: number) => () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
/** As docs/production.md has them. */
const documented = { keepAliveTimeout: 400, keepAliveMaxTimeout: 400 };

it.each([
  ["waits", waits],
  ["is blocked", blocks],
])("makes every payment, although the process %s for half a second and more between them", async (_, pause) => {
  for (const moreMs of [20, 300, 1000]) {
    const { second, made } = await payTwice(500, pause(500 + moreMs));
    // On a busy machine a response can come so late that the server's half a second is none of the client's.
    const again = made === 2 ? { second, made } : await payTwice(3000, pause(3000 + moreMs));
    expect([again.second?.status, again.made]).toEqual(["fulfilled", 2]);
  }
});

it("leaves a dispatcher of the caller's as it is, which does not know of what was made", async () => {
  const { second, made } = await payTwice(500, waits(520), { dispatcher: agentOf({ allowH2: false }) });
  expect(second).toMatchObject({ reason: expect.any(OutcomeUnknownError) });
  expect(made).toBe(1);
});

it("makes every payment over an agent of the caller's with the documented options", async () => {
  const { second, made } = await payTwice(500, waits(900), { dispatcher: agentOf(documented) });
  expect([second?.status, made]).toEqual(["fulfilled", 2]);
});

/**
 * A server that closes connections that have been idle for so long, at the moment in which the next request comes. It doesn't do that one. It
 * promises to keep connections for a minute, as a server does that knows nothing of the proxy before it.
 */
function startIdleServer(idleMs: number): Promise<WireFaultServer> {
  const usedAtMs = new Map<Socket, number>();
  const lost = new Set<SeenRequest>();
  return startWireFaultServer({
    response: responseTo,
    play: {
      commits: (request) => !lost.has(request),
      atRequest({ socket, request, rightBody }) {
        const idleForMs = request.atMs - (usedAtMs.get(socket) ?? request.atMs);
        if (idleForMs >= idleMs) {
          lost.add(request);
          return socket.resetAndDestroy();
        }
        usedAtMs.set(socket, request.atMs);
        return socket.write(wireResponse(201, rightBody, "keep-alive: timeout=60\r\n"));
      },
    },
  });
}

function responseTo({ body }: SeenRequest): string {
  return JSON.stringify({ ...JSON.parse(body === "" ? "{}" : body), id: "made" });
}
