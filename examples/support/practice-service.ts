import {
  type ClientOptions,
  CrossBorderClient,
  generateSigningKeyPair,
  type SigningKeyPair,
} from "cross-border-payments";
import { type SandboxServer, type SandboxServerOptions, startSandbox } from "cross-border-payments/sandbox";

/** A service to practise on: a sandbox on loopback with two gateways and an exchange rate. */
export interface PracticeService extends AsyncDisposable {
  readonly server: SandboxServer;
  /** Options for the sending gateway's client, including its signing key. */
  readonly options: ClientOptions;
  readonly keys: SigningKeyPair;
  readonly liquidityProviderId: string;
}

export async function startPracticeService(sandbox: SandboxServerOptions = {}): Promise<PracticeService> {
  const server = await startSandbox({ basePath: "/gateway/v1", fee: "25.50", ...sandbox });
  const keys = await generateSigningKeyPair();
  const options = { ...server.clientOptions, signingKey: keys.privateKey };
  await using client = new CrossBorderClient(options);
  for (const [institutionId, currency] of [
    ["alpha-bank", "EUR"],
    ["beta-mobile", "KES"],
  ] as const) {
    await client.paymentGateways.create({ institutionId, currency, rsaPublicKeyBase64: keys.publicKeyBase64 });
  }
  const provider = await client.liquidityProviders.create({
    firstName: "Lina",
    lastName: "Quid",
    email: "lina@example.com",
  });
  await client.liquidityProviders.exchangeRates(provider.id).create({
    baseGatewayId: "alpha-bank",
    counterGatewayId: "beta-mobile",
    baseCurrency: "EUR",
    counterCurrency: "KES",
    buyPrice: "151.20",
    sellPrice: "149.85",
  });
  server.sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0001", name: "Ada Sender" });
  server.sandbox.accounts.add({ gatewayId: "beta-mobile", account: "KE-7002", name: "Baraka Receiver" });
  return {
    server,
    options,
    keys,
    liquidityProviderId: provider.id,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
