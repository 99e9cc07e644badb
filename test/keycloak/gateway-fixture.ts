import { createServer } from "node:http";
import { type ClientOptions, CrossBorderClient, type PasswordAuth } from "cross-border-payments";
import { originOf } from "../support/origin-of.js";
import { startProxy } from "./identity-proxy.js";
import { createRealm, isActive, type RealmOptions } from "./keycloak.js";

export type GatewayFixture = Awaited<ReturnType<typeof openGateway>>;

/** A realm, a proxy before Keycloak, a service that takes the realm's tokens, and clients of both. */
export async function openGateway(options: RealmOptions = {}) {
  const realm = await createRealm(options);
  const proxy = await startProxy();
  const service = {
    /** Calls that were served. */
    served: 0,
    /** Whether a token is good. Default: Keycloak is asked. */
    accepts: (token: string): boolean | Promise<boolean> => isActive(realm, token),
  };
  const server = createServer(async (request, response) => {
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    const isGood = await Promise.resolve(service.accepts(token)).catch(() => false);
    if (isGood) service.served += 1;
    const body = isGood ? { id: request.url?.split("/").at(-1) } : { message: "no", error: "unauthorized" };
    response.writeHead(isGood ? 200 : 401, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  const auth: PasswordAuth = { authUrl: proxy.origin, realm: realm.name, ...realm.credentials };
  const baseUrl = await originOf(server);
  const clients: CrossBorderClient[] = [];
  return {
    realm,
    proxy,
    auth,
    baseUrl,
    service,
    /** A client that is closed together with the fixture. */
    client(more?: Partial<ClientOptions>) {
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

/** Begins a call every `everyMs` until `until` resolves, and waits for all of them. */
export async function callSteadily(client: CrossBorderClient, everyMs: number, until: Promise<unknown>) {
  const failures: unknown[] = [];
  const calls: Promise<unknown>[] = [];
  const begin = () => calls.push(callOnce(client).catch((error: unknown) => failures.push(error)));
  const timer = setInterval(begin, everyMs);
  await until.finally(() => clearInterval(timer));
  await Promise.all(calls);
  return { calls: calls.length, failures };
}
