import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { Agent, ProxyAgent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { originInTest } from "../support/origin-of.js";
import { payment } from "./calls.js";
import type { Pause, PayerPlan } from "./idle-payer.js";
import { startIdleServer } from "./idle-server.js";
import { runPayer } from "./run-payer.js";

const hows: readonly Pause["how"][] = ["wait", "block", "stop"];

/** Closes each connection that was idle for half a second, or for so long, just as a request comes. */
async function startServer(idleMs = 500) {
  const server = await startIdleServer({ idleMs, closes: "at the next request" });
  onTestFinished(() => server.close());
  return server;
}

/** Four payments, by a process of their own: what the callers were told, and what the service did. */
async function payWithPauses(how: Pause["how"], agent: PayerPlan["agent"], idleMs?: number) {
  const server = await startServer(idleMs);
  const pauses = [20, 300, 1000].map((longer): Pause => ({ how, ms: (idleMs ?? 500) + longer }));
  const told = await runPayer({ origin: server.origin, agent, lanes: [pauses] });
  return { told, done: server.truth.commits.length };
}

it("makes every payment, whether the process waited, was blocked or was stopped between them", async () => {
  const seenAt = (idleMs?: number) => Promise.all(hows.map((how) => payWithPauses(how, "own", idleMs)));
  const allMade = { told: { made: 4, none: 0, possible: 0, done: 0 }, done: 4 };
  const expected = hows.map(() => allMade);
  // On a busy machine a response can come so late that the server's half a second is none of the client's.
  const seen = await seenAt();
  expect(isDeepStrictEqual(seen, expected) ? seen : await seenAt(3000)).toEqual(expected);
});

it("leaves a dispatcher of the caller's as it is, which does not know of what was made", async () => {
  const { told, done } = await payWithPauses("wait", "undici's");
  expect(told).toEqual({ made: 2, none: 0, possible: 2, done: 0 });
  expect(done).toBe(2);
});

/** As docs/production.md has them. */
const brief = { keepAliveTimeout: 400, keepAliveMaxTimeout: 400 };

it("makes every payment over an agent of the caller's with the documented options", async () => {
  const server = await startServer();
  const dispatcher = new Agent(brief);
  onTestFinished(() => dispatcher.close());
  await payTwice(server.origin, { dispatcher });
  expect(server.truth.commits).toHaveLength(2);
});

it("makes every payment over a ProxyAgent with the documented options", async () => {
  const [server, proxy] = [await startServer(), await startTunnelProxy()];
  const dispatcher = new ProxyAgent({ uri: proxy.origin, proxyTunnel: true, ...brief });
  onTestFinished(() => dispatcher.close());
  await payTwice(server.origin, { dispatcher });
  expect(server.truth.commits).toHaveLength(2);
  expect(proxy.tunnels()).toBe(2);
});

async function payTwice(baseUrl: string, options: Partial<ClientOptions>): Promise<void> {
  const { privateKey } = signingKeysOf("gateway");
  const auth = { accessToken: () => "token" };
  const client = new CrossBorderClient({ baseUrl, auth, signingKey: privateKey, ...options });
  onTestFinished(() => client.close());
  await client.payments.create(payment);
  await sleep(900);
  await client.payments.create(payment);
}

async function startTunnelProxy() {
  const sockets = new Set<Socket>();
  let tunnels = 0;
  const proxy = createServer();
  proxy.on("connect", ({ url = "" }, client: Socket) => {
    tunnels += 1;
    const { hostname, port } = new URL(`http://${url}`);
    const server = connect(Number(port), hostname, () => client.write("HTTP/1.1 200 OK\r\n\r\n"));
    for (const socket of [client, server]) sockets.add(socket.on("error", () => {}));
    client.pipe(server).pipe(client);
  });
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { origin: await originInTest(proxy), tunnels: () => tunnels };
}
