import { CrossBorderClient } from "../../src/index.js";
import type { SandboxServer } from "../../src/sandbox/index.js";
import { signingKeysOf } from "../support/key-pairs.js";

/** A client that signs for two gateways, which it has registered with what `more` adds. */
export async function registeredClient(
  server: SandboxServer,
  more: (institutionId: string) => object = () => ({}),
): Promise<CrossBorderClient> {
  const { privateKey: signingKey, publicKeyBase64: rsaPublicKeyBase64 } = signingKeysOf("gateway");
  const client = new CrossBorderClient({ ...server.clientOptions, signingKey });
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await client.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64, ...more(institutionId) });
  }
  return client;
}

/** A payment of the one gateway to the other. */
export const requestOf = (receiverAmount: string, memo = "") => ({
  ...{ senderGatewayId: "alpha-bank", senderAccount: "DE-1", senderCurrency: "EUR" },
  ...{ receiverGatewayId: "beta-mobile", receiverAccount: "KE-1", receiverCurrency: "EUR" },
  ...{ receiverAmount, memo },
});

/** The environment of a command that uses the sandbox. */
export function environmentOf({ clientOptions: { baseUrl, auth } }: SandboxServer): Record<string, string> {
  return {
    ...{ CROSS_BORDER_BASE_URL: baseUrl, CROSS_BORDER_AUTH_URL: auth.authUrl, CROSS_BORDER_REALM: auth.realm },
    ...{ CROSS_BORDER_CLIENT_ID: auth.clientId, CROSS_BORDER_USERNAME: auth.username },
    CROSS_BORDER_PASSWORD: String(auth.password),
  };
}
