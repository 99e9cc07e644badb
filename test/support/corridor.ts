import type { CrossBorderClient } from "cross-border-payments";

/** What a payment through the corridor asks for. */
export const intentRequest = {
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAccount: "DE-0001",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "school fees",
};

/** Two gateways, a provider, whose id it returns, and an exchange rate of 1 EUR to 150 KES. */
export async function openCorridor(client: CrossBorderClient, rsaPublicKeyBase64: string): Promise<string> {
  for (const [institutionId, currency] of [
    ["alpha-bank", "EUR"],
    ["beta-mobile", "KES"],
  ] as const) {
    await client.paymentGateways.create({ institutionId, currency, rsaPublicKeyBase64 });
  }
  const person = { firstName: "Lina", lastName: "Quid", email: "l@example.com" };
  const { id } = await client.liquidityProviders.create(person);
  await client.liquidityProviders.exchangeRates(id).create({
    baseGatewayId: "alpha-bank",
    counterGatewayId: "beta-mobile",
    baseCurrency: "EUR",
    counterCurrency: "KES",
    buyPrice: "150",
    sellPrice: "150",
  });
  return id;
}
