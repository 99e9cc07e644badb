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
