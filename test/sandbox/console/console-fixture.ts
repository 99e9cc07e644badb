import { CrossBorderClient } from "../../../src/index.js";
import type { ConsoleState } from "../../../src/sandbox/console/console-state.js";
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
  state(): Promise<ConsoleState>;
  /** Presses a button. */
  act(name: string, fields: object): Promise<{ readonly status: number; readonly told: Record<string, unknown> }>;
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
  return {
    ...{ server, alfa, bravo, client, givenTokens },
    state: async () => (await fetch(`${server.consoleUrl}state`)).json() as Promise<ConsoleState>,
    async act(name, fields) {
      const headers = { "content-type": "application/json", "x-sandbox-console": "1" };
      const body = JSON.stringify(fields);
      const response = await fetch(server.consoleUrl + name, { method: "POST", headers, body });
      return { status: response.status, told: (await response.json()) as Record<string, unknown> };
    },
    async [Symbol.asyncDispose]() {
      await client.close();
      await server.close();
    },
  };
}
