import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import {
  createSandbox,
  mswHandlers,
  type Sandbox,
  type SandboxOptions,
  startSandbox,
} from "cross-border-payments/sandbox";
import { http } from "msw";
import { setupServer } from "msw/node";
import { openCorridor } from "./corridor.js";
import { signingKeysOf } from "./key-pairs.js";

/** One way in which a client reaches the described service. */
export type Harness = ReturnType<typeof harness>;

/** Both transports: real sockets to the sandbox's server, and MSW's mocks of the whole described API. */
export const harnesses = [
  { name: "undici over sockets", open: overSockets },
  { name: "fetch with MSW", open: withMsw },
];

async function overSockets(options: SandboxOptions = {}) {
  const server = await startSandbox(options);
  return harness(server.sandbox, server.clientOptions, () => server.close());
}

async function withMsw(options: SandboxOptions = {}) {
  const sandbox = createSandbox(options);
  const origins = { baseUrl: "https://service.test", authUrl: "https://login.test" };
  const clientOptions = sandbox.clientOptions(origins);
  const { baseUrl, auth } = clientOptions;
  const msw = setupServer(...mswHandlers(sandbox, { http, baseUrl, authUrl: auth.authUrl }));
  msw.listen({ onUnhandledRequest: "error" });
  const fetchNow: ClientOptions["fetch"] = (url, init) => fetch(url, init);
  return harness(sandbox, { ...clientOptions, fetch: fetchNow }, () => Promise.resolve(msw.close()));
}

function harness(sandbox: Sandbox, options: ClientOptions, close: () => Promise<void>) {
  const clients: CrossBorderClient[] = [];
  return {
    sandbox,
    options,
    /** A client of this service that is closed together with it. */
    client(more?: Partial<ClientOptions>) {
      // No call ends because the machine is busy.
      const client = new CrossBorderClient({ timeoutMs: 100_000, ...options, ...more });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      await close();
    },
  };
}

/** What a payment needs: the corridor, and an account at either end. */
export async function prepareCorridor(harness: Harness) {
  const keys = signingKeysOf("gateway");
  const client = harness.client({ signingKey: keys.privateKey });
  const liquidityProviderId = await openCorridor(client, keys.publicKeyBase64);
  harness.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0001", name: "Ada Sender" });
  harness.sandbox.accounts.add({ gatewayId: "beta-mobile", account: "KE-7002", name: "Baraka Receiver" });
  return { client, keys, liquidityProviderId };
}
