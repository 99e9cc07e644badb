import { createServer } from "node:http";
import { type ClientOptions, CrossBorderClient, type PasswordAuth } from "cross-border-payments";
import { originOf } from "../support/origin-of.js";
import { type IdentityProxy, startProxy } from "./identity-proxy.js";
import { createRealm, isActive, type Realm, type RealmOptions } from "./keycloak.js";

/** A realm, a proxy before Keycloak, a service that takes the realm's tokens, and clients of both. */
export interface GatewayFixture extends AsyncDisposable {
  readonly realm: Realm;
  readonly proxy: IdentityProxy;
  readonly auth: PasswordAuth;
  /** Of the service. */
  readonly baseUrl: string;
  readonly service: Service;
  /** A client that is closed together with the fixture. */
  client(options?: Partial<ClientOptions>): CrossBorderClient;
}

export interface Service {
  /** Calls that were served. */
  served: number;
  /** Calls that got a 401. */
  refused: number;
  /** Whether a token is good. Default: Keycloak is asked. */
  accepts: (token: string) => boolean | Promise<boolean>;
}

export async function openGateway(options: RealmOptions = {}): Promise<GatewayFixture> {
  const realm = await createRealm(options);
  const proxy = await startProxy();
  const service: Service = { served: 0, refused: 0, accepts: (token) => isActive(realm, token) };
  const server = createServer(async (request, response) => {
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const isGood = await Promise.resolve(service.accepts(token)).catch(() => false);
    if (isGood) service.served += 1;
    else service.refused += 1;
    const body = isGood ? { id: request.url?.split("/").at(-1) } : { message: "no", error: "unauthorized" };
    response.writeHead(isGood ? 200 : 401, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const auth = { authUrl: proxy.origin, realm: realm.name, ...realm.credentials };
  const baseUrl = await originOf(server);
  const clients: CrossBorderClient[] = [];
  return {
    realm,
    proxy,
    auth,
    baseUrl,
    service,
    client(more) {
      const client = new CrossBorderClient({ baseUrl, auth, ...more });
      clients.push(client);
      return client;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(clients.map((client) => client.close()));
      server.closeAllConnections();
      server.close();
      await proxy[Symbol.asyncDispose]();
      await realm[Symbol.asyncDispose]();
    },
  };
}

/** Looks at nothing but the time, so that it needs no identity server. */
export function livesByItsClaims(token: string): boolean {
  const [, claims = ""] = token.split(".");
  const { exp } = JSON.parse(Buffer.from(claims, "base64url").toString()) as { readonly exp: number };
  return Date.now() < exp * 1000;
}

/** One call that needs a token. */
export function callOnce(client: CrossBorderClient): Promise<unknown> {
  return client.paymentIntents.get("intent-1");
}

/** The outcome of calls at a steady pace. */
export interface Pace {
  readonly calls: number;
  readonly failures: readonly unknown[];
}

/** Begins a call every `everyMs` until `until` resolves, and waits for all of them. */
export async function callSteadily(client: CrossBorderClient, everyMs: number, until: Promise<unknown>): Promise<Pace> {
  const failures: unknown[] = [];
  const calls: Promise<unknown>[] = [];
  const begin = () => calls.push(callOnce(client).catch((error: unknown) => failures.push(error)));
  const timer = setInterval(begin, everyMs);
  await until.finally(() => clearInterval(timer));
  await Promise.all(calls);
  return { calls: calls.length, failures };
}
