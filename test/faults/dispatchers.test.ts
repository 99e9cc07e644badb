import { once } from "node:events";
import { Worker } from "node:worker_threads";
import {
  type ClientOptions,
  CrossBorderClient,
  type CrossBorderError,
  type RequestOptions,
  TimeoutError,
} from "cross-border-payments";
import { Agent, buildConnector } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { stretched } from "../support/patience.js";
import { isThorough } from "../support/thorough.js";
import { intent, payment } from "./calls.js";
import { startWireFaultServer } from "./wire-fault-server.js";

const signingKey = keyPairOf("gateway").privateKey;

function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}): CrossBorderClient {
  const auth = { accessToken: () => "the-access-token" };
  const client = new CrossBorderClient({ baseUrl, auth, signingKey, maxRetries: 0, ...options });
  onTestFinished(() => client.close().catch(() => {}));
  return client;
}

const errorOf = (call: PromiseLike<unknown>): Promise<CrossBorderError> =>
  Promise.resolve(call).then(
    () => expect.fail("the call succeeded"),
    (error: CrossBorderError) => error,
  );

const settle = () => new Promise((resolve) => setTimeout(resolve, 100));

describe("the deadline of a create", () => {
  it("holds although the event loop was blocked when it passed", async () => {
    const service = await startServerInThread();
    const client = clientOf(service.origin);
    // Everything is loaded, and no socket is left.
    await client.paymentIntents.get("1").catch(() => {});
    const calls: readonly ((options: RequestOptions) => PromiseLike<unknown>)[] = [
      (options) => client.payments.create(payment, options),
      (options) => client.paymentIntents.create(intent, options),
    ];
    for (const call of calls) {
      for (const waitMs of isThorough ? [undefined, 0, 2] : [0]) {
        const deadlineMs = Date.now() + 200;
        const failure = errorOf(call({ timeoutMs: 200, maxRetries: 0 }));
        if (waitMs !== undefined) await new Promise((resolve) => setTimeout(resolve, waitMs));
        block(1500);
        const error = await failure;
        expect(error).toBeInstanceOf(Error);
        const posts = await service.postsMs();
        expect(posts.filter((atMs) => atMs > deadlineMs + 1000)).toEqual([]);
        if (posts.filter((atMs) => atMs >= deadlineMs - 200).length === 0) {
          expect(error).toMatchObject({ effect: "none" });
          expect(error).toBeInstanceOf(TimeoutError);
        }
      }
    }
  });

  it("holds where the connection comes after it", async () => {
    const service = await startWireFaultServer({ response: () => "{}" });
    onTestFinished(() => service.close());
    // Enough for the request to be with the dispatcher by then.
    const timeoutMs = stretched(250);
    const connect = buildConnector({});
    const connected: Promise<void>[] = [];
    const slow = new Agent({
      connect: (options, callback) => {
        const later = new Promise((resolve) => setTimeout(resolve, 4 * timeoutMs));
        connected.push(later.then(() => connect(options, callback)));
      },
    });
    onTestFinished(() => slow.destroy());
    const client = clientOf(service.origin, { dispatcher: slow, timeoutMs });
    // With a dispatcher of the caller's, every failure counts as sent.
    expect(await errorOf(client.payments.create(payment))).toMatchObject({ effect: "possible" });
    await Promise.all(connected);
    while (service.truth.connections === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await settle();
    expect(service.truth.bytesReceived).toBe(0);
  });
});

function block(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

/** In a thread of its own, since this one's event loop is going to be blocked. It responds to everything and closes. */
async function startServerInThread() {
  const worker = new Worker(
    `const { parentPort } = require("node:worker_threads");
     const posts = [];
     const server = require("node:net").createServer((socket) => {
       socket.on("error", () => {});
       socket.on("data", (bytes) => {
         if (String(bytes).startsWith("POST")) posts.push(Date.now());
         socket.end("HTTP/1.1 500 Said\\r\\nconnection: close\\r\\ncontent-length: 2\\r\\n\\r\\n{}");
       });
     }).listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
     parentPort.on("message", () => parentPort.postMessage(posts));`,
    { eval: true },
  );
  onTestFinished(async () => void (await worker.terminate()));
  const [port] = (await once(worker, "message")) as [number];
  return {
    origin: `http://127.0.0.1:${port}`,
    async postsMs(): Promise<readonly number[]> {
      await settle();
      worker.postMessage("posts");
      const [posts] = (await once(worker, "message")) as [number[]];
      return posts;
    },
  };
}
