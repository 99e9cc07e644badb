import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { startSandbox } from "cross-border-payments/sandbox";
import { setupServer } from "msw/node";
import { expect, onTestFinished } from "vitest";
import { openCorridor } from "../support/corridor.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { Inspector, type SeenRequest } from "./described-api.js";
import { describedService } from "./described-service.js";

/** A service whose traffic is compared with the description. It ends with its test, and fails it if anything was not as described. */
export interface Harness {
  readonly options: ClientOptions & { readonly auth: { readonly password: string; readonly authUrl: string } };
  /** Every request that the service received, those for tokens included. */
  readonly requests: readonly SeenRequest[];
  /** What was not as described. A test that expects problems takes them out. */
  readonly problems: string[];
  /** A client that is closed together with the service. */
  client(more?: Partial<ClientOptions>): CrossBorderClient;
  /** A client that signs. */
  payer(more?: Partial<ClientOptions>): CrossBorderClient;
  /** Ends access tokens and refresh tokens. */
  revokeTokens(): void;
}

export interface HarnessOptions {
  readonly basePath?: string;
  /** How many records a page has without `_size`. With `_size`, it has twice as many at most. */
  readonly pageSize?: number;
  readonly tokenLifetimeSeconds?: number;
  /** Responds in place of the service. */
  readonly onRequest?: (request: SeenRequest) => Response | Promise<Response | undefined> | undefined;
  /** Replaces the response of the service. */
  readonly onResponse?: (request: SeenRequest) => Response | undefined;
}

/** It closes the harness at the end of the test, unless something else has to. */
type Open = (options?: HarnessOptions, atEnd?: AtEnd) => Promise<Harness>;
type AtEnd = (close: () => Promise<void>) => void;

export const harnesses: readonly { readonly name: string; readonly open: Open }[] = [
  { name: "the described API over fetch", open: overFetch },
  { name: "the sandbox over sockets", open: overSockets },
];

const credentials = {
  ...{ realm: "all gateways", clientId: "a client", clientSecret: "" },
  ...{ username: "gateway", password: "p&ss=w%rd" },
};

let opened = 0;

async function overFetch(options: HarnessOptions = {}, atEnd?: AtEnd): Promise<Harness> {
  const { basePath = "", pageSize = 20, tokenLifetimeSeconds = 300 } = options;
  opened += 1;
  const baseUrl = `https://service-${opened}.test${basePath}`;
  const auth = { ...credentials, authUrl: `https://login-${opened}.test` };
  const inspector = new Inspector({ basePath, realm: credentials.realm });
  const { handlers, revokeTokens } = describedService({
    ...{ inspector, baseUrl, authUrl: auth.authUrl, basePath, credentials: auth, pageSize, tokenLifetimeSeconds },
    onRequest: (request) => options.onRequest?.(request),
    onResponse: (request) => options.onResponse?.(request),
  });
  const server = setupServer(...handlers);
  server.listen();
  const fetchNow: ClientOptions["fetch"] = (url, init) => fetch(url, init);
  const clientOptions = { baseUrl, auth, fetch: fetchNow };
  return harness(inspector, clientOptions, revokeTokens, async () => server.close(), atEnd);
}

async function overSockets(options: HarnessOptions = {}, atEnd?: AtEnd): Promise<Harness> {
  const { basePath, pageSize = 20, tokenLifetimeSeconds = 300, onRequest, onResponse } = options;
  const inspector = new Inspector({ basePath, realm: credentials.realm });
  const seen = new Map<object, SeenRequest>();
  const server = await startSandbox({
    ...{ credentials, tokenLifetimeSeconds },
    ...{ basePath: basePath ?? "", defaultSize: pageSize, maxSize: 2 * pageSize },
    onRequest(request) {
      const received = inspector.request(request);
      seen.set(request, received);
      return onRequest?.(received);
    },
    async onResponse(request, response) {
      const received = seen.get(request);
      if (received === undefined) return undefined;
      inspector.response(received, response.status, await response.clone().text());
      return onResponse?.(received);
    },
  });
  const revokeTokens = () => void server.sandbox.revokeTokens("all");
  return harness(inspector, server.clientOptions, revokeTokens, () => server.close(), atEnd);
}

function harness(
  { requests, problems }: Inspector,
  options: Harness["options"],
  revokeTokens: () => void,
  close: () => Promise<void>,
  atEnd: AtEnd = onTestFinished,
): Harness {
  const clients: CrossBorderClient[] = [];
  atEnd(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await close();
    expect(problems, "traffic that is not as described").toEqual([]);
  });
  function client(more?: Partial<ClientOptions>): CrossBorderClient {
    // No call ends because the machine is busy.
    const made = new CrossBorderClient({ timeoutMs: 100_000, validation: "strict", ...options, ...more });
    clients.push(made);
    return made;
  }
  const signingKey = signingKeysOf("gateway").privateKey;
  const payer: Harness["payer"] = (more) => client({ signingKey, ...more });
  return { ...{ options, requests, problems, revokeTokens }, client, payer };
}

/** A client that can pay, with gateways, a provider, and a rate. */
export async function openPayer(harness: Harness) {
  const keys = signingKeysOf("gateway");
  const client = harness.payer();
  return { client, keys, liquidityProviderId: await openCorridor(client, keys.publicKeyBase64) };
}

export const grantsIn = ({ requests }: Harness) =>
  requests
    .filter(({ name }) => name === "token")
    .map(({ body }) => Object.fromEntries(new URLSearchParams(body)).grant_type);
