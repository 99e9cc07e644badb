import { once } from "node:events";
import { request } from "node:http";
import { CrossBorderClient } from "../../../src/index.js";
import { type SandboxServer, type SandboxServerOptions, startSandbox } from "../../../src/sandbox/index.js";
import { keysOf, login } from "../sandbox-fixture.js";

/** A sandbox with a console, the gateways alfa and bravo, and a client of alfa, whose signing key the console has. */
export interface ConsoleFixture extends AsyncDisposable {
  readonly server: SandboxServer;
  readonly client: CrossBorderClient;
  /** Of a login beside the client's. */
  readonly tokens: { readonly access_token: string; readonly refresh_token: string };
  /** The text of a page, without its tags. */
  read(path?: string): Promise<string>;
  /** Addresses of the pages about the requests, the newest first. */
  requestPages(): Promise<string[]>;
  /** Sends a form of a page, and returns the text of the page that follows. */
  press(path: string, fields?: Readonly<Record<string, string>>): Promise<string>;
}

export const bearerSecret = "a-bearer-token-for-verification";
export const [alfa, bravo] = [keysOf("gateway"), keysOf("stranger")];

export async function openConsole(options: SandboxServerOptions = {}): Promise<ConsoleFixture> {
  const signingKeys = [alfa.privateKey];
  const server = await startSandbox({ console: { signingKeys }, basePath: "/gateway/v1", ...options });
  const client = new CrossBorderClient({ ...server.clientOptions, signingKey: alfa.privateKey, maxRetries: 0 });
  for (const [institutionId, currency, { publicKeyBase64: rsaPublicKeyBase64 }] of [
    ["alfa", "EUR", alfa],
    ["bravo", "USD", bravo],
  ] as const) {
    const gateway = { institutionId, currency, rsaPublicKeyBase64 };
    await client.paymentGateways.create({ ...gateway, accountVerificationBearerToken: bearerSecret });
  }
  const { id } = await client.liquidityProviders.create({ firstName: "Lia", lastName: "Quid" });
  await client.liquidityProviders.exchangeRates(id).create({
    ...{ baseGatewayId: "alfa", counterGatewayId: "bravo", baseCurrency: "EUR", counterCurrency: "USD" },
    ...{ buyPrice: "1.10", sellPrice: "1.00" },
  });
  server.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada Sender" });
  const load = async (path = "") => (await fetch(`${server.consoleUrl}${path}`)).text();
  return {
    ...{ server, client, tokens: (await login(server.sandbox)).body },
    read: async (path) => textOf(await load(path)),
    requestPages: async () => (await load()).match(/(?<="\/console\/)requests\/\d+/g) ?? [],
    async press(path, fields = {}) {
      const form = { method: "POST", headers: { origin: server.url }, body: new URLSearchParams(fields) };
      return textOf(await (await fetch(`${server.consoleUrl}${path}`, form)).text());
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}

function textOf(page: string): string {
  const text = page.replace(/<[^>]*>/g, " ").replace(/\s+/g, " ");
  return text.replaceAll("&quot;", '"').replaceAll("&#39;", "'").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}

/** One request as no `fetch` would send it, and the response. */
export async function send(url: string, headers: Record<string, string> = {}, method = "GET", body = "") {
  const sent = request(url, { method, headers });
  sent.end(body);
  const [response] = await once(sent, "response");
  response.resume();
  return { status: response.statusCode as number, headers: response.headers };
}
