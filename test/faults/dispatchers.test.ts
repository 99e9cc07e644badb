import { once } from "node:events";
import { Worker } from "node:worker_threads";
import {
  type ClientOptions,
  CrossBorderClient,
  type CrossBorderError,
  OutcomeUnknownError,
  type RequestOptions,
  TimeoutError,
} from "cross-border-payments";
import { Agent, buildConnector, type Dispatcher } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { keyPairOf } from "../support/key-pairs.js";
import { stretched } from "../support/patience.js";
import { isThorough } from "../support/thorough.js";
import { intent, payment } from "./calls.js";
import { startWireFaultServer, type WireFaultServer, type WireFaultServerOptions } from "./wire-fault-server.js";

const signingKey = keyPairOf("gateway").privateKey;
const credentials = { username: "the-username", password: "the-password", clientSecret: "the-client-secret" };

async function start(options: Partial<WireFaultServerOptions> = {}): Promise<WireFaultServer> {
  const server = await startWireFaultServer({ response: rightResponse, ...options });
  onTestFinished(() => server.close());
  return server;
}

function rightResponse({ target }: { readonly target: string }): string {
  if (target.endsWith("/token")) {
    return JSON.stringify({ access_token: "the-access-token", token_type: "Bearer", expires_in: 300 });
  }
  return JSON.stringify({ ...payment, id: "1" });
}

function clientOf(
  service: WireFaultServer,
  tokens: WireFaultServer,
  options: Partial<ClientOptions>,
): CrossBorderClient {
  const client = new CrossBorderClient({
    baseUrl: service.origin,
    auth: { authUrl: tokens.origin, realm: "r", clientId: "c", ...credentials },
    signingKey,
    timeoutMs: 20_000,
    maxRetries: 0,
    ...options,
  });
  onTestFinished(() => client.close().catch(() => {}));
  return client;
}

function composed(...composers: Dispatcher.DispatcherComposeInterceptor[]): Dispatcher {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return agent.compose(...composers);
}

const errorOf = (call: PromiseLike<unknown>): Promise<CrossBorderError> =>
  Promise.resolve(call).then(
    () => expect.fail("the call succeeded"),
    (error: CrossBorderError) => error,
  );

const settle = () => new Promise((resolve) => setTimeout(resolve, 100));

describe("a payment over a dispatcher of the caller's", () => {
  it("says that the dispatcher began to repeat it", async () => {
    const service = await start({ play: { atRequest: ({ socket }) => socket.destroy() } });
    const repeating: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
      const onResponseError = handler.onResponseError?.bind(handler);
      handler.onResponseError = () => {
        handler.onResponseError = onResponseError as NonNullable<typeof onResponseError>;
        dispatch(options, handler);
      };
      return dispatch(options, handler);
    };
    const tokens = await start();
    const client = clientOf(service, tokens, { dispatcher: composed(repeating) });
    const error = await errorOf(client.payments.create(payment));
    await settle();
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect([error.effect, error.message]).toEqual(["possible", expect.stringContaining("REPEATED_BY_DISPATCHER")]);
    expect(service.truth.requests).toHaveLength(1);
  });
});

describe("the deadline of a create", () => {
  it("holds although the event loop was blocked when it passed", async () => {
    const service = await startServerInThread();
    const client = new CrossBorderClient({
      baseUrl: service.origin,
      auth: { accessToken: () => "the-access-token" },
      signingKey,
    });
    onTestFinished(() => client.close().catch(() => {}));
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
    const service = await start();
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
    const client = clientOf(service, service, {
      dispatcher: slow,
      auth: { accessToken: () => "the-access-token" },
      timeoutMs,
    });
    // This dispatcher has not shown yet that it tells when a request starts.
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
