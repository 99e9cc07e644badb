import { once } from "node:events";
import { request } from "node:http";
import { CrossBorderClient } from "../../../src/index.js";
import { type SandboxServer, type SandboxServerOptions, startSandbox } from "../../../src/sandbox/index.js";
import { type Keys, keysOf } from "../sandbox-fixture.js";

/** A sandbox with a console, two gateways with a key each, and a client of the first one. */
export interface ConsoleFixture extends AsyncDisposable {
  readonly server: SandboxServer;
  readonly alfa: Keys;
  readonly bravo: Keys;
  readonly client: CrossBorderClient;
  /** Every access and refresh token that the client was given. */
  readonly givenTokens: readonly string[];
  /** The text of a page, without its tags. */
  read(path?: string): Promise<string>;
  /** The text of the page about the newest request. */
  readNewest(): Promise<string>;
  /** Sends a form of a page, and returns the page that follows. */
  press(
    path: string,
    fields?: Readonly<Record<string, string>>,
  ): Promise<{ status: number; url: string; text: string }>;
}

export const bearerSecret = "a-bearer-token-for-verification";

const [alfa, bravo] = [keysOf("gateway"), keysOf("stranger")];

/** The console has alfa's signing key, and not bravo's. */
export async function openConsole(options: SandboxServerOptions = {}): Promise<ConsoleFixture> {
  const server = await startSandbox({
    console: { signingKeys: [alfa.privateKey] },
    basePath: "/gateway/v1",
    ...options,
  });
  const givenTokens: string[] = [];
  const client = new CrossBorderClient({
    ...server.clientOptions,
    signingKey: alfa.privateKey,
    maxRetries: 0,
    fetch: async (...args: Parameters<typeof fetch>) => {
      const response = await fetch(...args);
      if (!response.url.endsWith("/token")) return response;
      const { access_token, refresh_token } = Object(await response.clone().json());
      givenTokens.push(...[access_token, refresh_token].filter((token) => typeof token === "string"));
      return response;
    },
  });
  const gateway = (institutionId: string, currency: string, { publicKeyBase64: rsaPublicKeyBase64 }: Keys) =>
    client.paymentGateways.create({
      ...{ institutionId, currency, rsaPublicKeyBase64, accountVerificationBearerToken: bearerSecret },
    });
  await gateway("alfa", "EUR", alfa);
  await gateway("bravo", "USD", bravo);
  const { id } = await client.liquidityProviders.create({ firstName: "Lia", lastName: "Quid" });
  await client.liquidityProviders.exchangeRates(id).create({
    ...{ baseGatewayId: "alfa", counterGatewayId: "bravo", baseCurrency: "EUR", counterCurrency: "USD" },
    ...{ buyPrice: "1.10", sellPrice: "1.00" },
  });
  server.sandbox.accounts.add({ gatewayId: "alfa", account: "A-1", name: "Ada Sender" });
  const read = async (path = "") => textOf(await (await fetch(`${server.consoleUrl}${path}`)).text());
  return {
    ...{ server, alfa, bravo, client, givenTokens, read },
    async readNewest() {
      const list = await (await fetch(server.consoleUrl ?? "")).text();
      return read(/"\/console\/(requests\/\d+)"/.exec(list)?.[1]);
    },
    async press(path, fields = {}) {
      const headers = { origin: server.url };
      const response = await fetch(`${server.consoleUrl}${path}`, {
        method: "POST",
        headers,
        body: new URLSearchParams(fields),
      });
      return { status: response.status, url: response.url, text: textOf(await response.text()) };
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
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  return { status: response.statusCode as number, headers: response.headers, text };
}
