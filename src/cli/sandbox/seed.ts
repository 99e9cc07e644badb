import { CrossBorderClient } from "../../client.js";
import type { PaymentStatus } from "../../resources/payments.js";
import type { SandboxServer } from "../../sandbox/index.js";
import { generateSigningKeyPair, type SigningKeyPair } from "../../signing/keys.js";

const alphaBank = {
  record: { institutionId: "alpha-bank", name: "Alpha Bank", countryCode: "DE", currency: "EUR", type: "bank" },
  account: { account: "DE-1001", name: "Jörg Müßig" },
};
const betaMobile: typeof alphaBank = {
  record: { institutionId: "beta-mobile", name: "Beta Mobile", countryCode: "KE", currency: "KES", type: "mobile" },
  account: { account: "KE-7001", name: "Baraka Otieno" },
};

export type Gateway = typeof alphaBank & { readonly keys: SigningKeyPair };
export type Gateways = readonly [alpha: Gateway, beta: Gateway];

const provider = { firstName: "Lena", lastName: "Quist", email: "lena@lake-liquidity.example" };

const paymentCount = 24;
/** The newest payments are pending. */
const pendingCount = 3;
/** Other statuses than `processed`, of every eight. */
const statuses: Readonly<Record<number, PaymentStatus>> = { 3: "error", 6: "reverted" };
const hourMs = 3_600_000;

/** The two gateways, each with a key of its own. They are not registered yet. */
export async function makeGateways(): Promise<Gateways> {
  const [alphaKeys, betaKeys] = await Promise.all([generateSigningKeyPair(), generateSigningKeyPair()]);
  return [
    { ...alphaBank, keys: alphaKeys },
    { ...betaMobile, keys: betaKeys },
  ];
}

/**
 * Registers the gateways, and makes a liquidity provider with a rate, and payments of the last two days. All of it is
 * made by requests, as a gateway makes it, so every signature and every record is genuine.
 *
 * @param clock how far the sandbox's clock is behind, in milliseconds. `seed` sets it to make payments of earlier days.
 */
export async function seed(
  { clientOptions, sandbox }: SandboxServer,
  [alphaGateway, betaGateway]: Gateways,
  clock: { agoMs: number },
) {
  await using alphaClient = new CrossBorderClient({ ...clientOptions, signingKey: alphaGateway.keys.privateKey });
  await using betaClient = new CrossBorderClient({ ...clientOptions, signingKey: betaGateway.keys.privateKey });
  const alpha = { ...alphaGateway, client: alphaClient };
  const beta = { ...betaGateway, client: betaClient };
  for (const { client, record, account, keys } of [alpha, beta]) {
    await client.paymentGateways.create({ ...record, rsaPublicKeyBase64: keys.publicKeyBase64 });
    sandbox.accounts.add({ gatewayId: record.institutionId, ...account });
  }
  const { id } = await alphaClient.liquidityProviders.create(provider);
  await alphaClient.liquidityProviders.exchangeRates(id).create({
    ...{ baseGatewayId: "alpha-bank", counterGatewayId: "beta-mobile", baseCurrency: "EUR", counterCurrency: "KES" },
    ...{ buyPrice: "151.90", sellPrice: "148.10" },
  });
  for (let index = 0; index < paymentCount; index += 1) {
    clock.agoMs = (paymentCount - index) * 2 * hourMs;
    const [sender, receiver] = index % 3 === 2 ? [beta, alpha] : [alpha, beta];
    const request = {
      ...{ senderGatewayId: sender.record.institutionId, senderCurrency: sender.record.currency },
      ...{ receiverGatewayId: receiver.record.institutionId, receiverCurrency: receiver.record.currency },
      ...{ senderAccount: sender.account.account, receiverAccount: receiver.account.account },
      ...{ receiverAmount: receiver === beta ? `${1500 + 730 * index}.00` : `${20 + index}.50`, memo: "school fees" },
    };
    const funds = { senderGatewayTransactionId: `${request.senderGatewayId}-TX-${index + 1}` };
    const outcome = await sender.client.pay(request, () => funds);
    if (outcome.status !== "paid" || index >= paymentCount - pendingCount) continue;
    clock.agoMs -= hourMs;
    sandbox.setReceiverStatus(outcome.payment.id, statuses[index % 8] ?? "processed");
  }
  clock.agoMs = 0;
  return { liquidityProviderIds: [id], payments: paymentCount };
}
