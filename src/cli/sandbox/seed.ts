import { CrossBorderClient } from "../../client.js";
import type { PaymentStatus } from "../../resources/payments.js";
import type { SandboxServer } from "../../sandbox/index.js";
import { generateSigningKeyPair, type SigningKeyPair } from "../../signing/keys.js";

export interface SeededGateway {
  readonly institutionId: string;
  readonly name: string;
  readonly countryCode: string;
  readonly currency: string;
  readonly type: string;
  readonly keys: SigningKeyPair;
}

export interface Seeded {
  readonly liquidityProviderIds: readonly string[];
  readonly payments: number;
}

/** A sandbox to seed, with the clock that it goes by. */
export interface SeededSandbox {
  readonly server: SandboxServer;
  /** How far it is behind the time, in milliseconds: set while payments of earlier days are made. */
  readonly clock: { agoMs: number };
  readonly gateways: Gateways;
}

export type Gateways = readonly [alpha: SeededGateway, beta: SeededGateway];

const [alphaBank, betaMobile] = [
  { institutionId: "alpha-bank", name: "Alpha Bank", countryCode: "DE", currency: "EUR", type: "bank" },
  { institutionId: "beta-mobile", name: "Beta Mobile Money", countryCode: "KE", currency: "KES", type: "mobile" },
] as const;

const accounts = [
  { gatewayId: "alpha-bank", account: "DE-1001", name: "Ada Albers" },
  { gatewayId: "alpha-bank", account: "DE-1002", name: "Jörg Müßig" },
  { gatewayId: "beta-mobile", account: "KE-7001", name: "Baraka Otieno" },
  { gatewayId: "beta-mobile", account: "KE-7002", name: "Zawadi Njeri" },
];

const providers = [
  {
    firstName: "Lena",
    lastName: "Quist",
    email: "lena@lake-liquidity.example",
    buyPrice: "151.90",
    sellPrice: "148.10",
  },
  { firstName: "Omar", lastName: "Said", email: "omar@coast-funds.example", buyPrice: "152.40", sellPrice: "147.25" },
];

const memos = ["school fees", "rent", "invoice 2041", "", "harvest advance", "thank you"];

/** Statuses that payments get in turn: most are honored. */
const statuses = [
  ...["processed", "processed", "processed", "error"],
  ...["processed", "processed", "reverted", "processed"],
] as readonly PaymentStatus[];

const paymentCount = 24;
/** So many of the newest payments are pending. */
const pendingCount = 3;
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The two gateways, each with a key of its own. They are not registered yet. */
export async function makeGateways(): Promise<Gateways> {
  const [alphaKeys, betaKeys] = await Promise.all([generateSigningKeyPair(), generateSigningKeyPair()]);
  return [
    { ...alphaBank, keys: alphaKeys },
    { ...betaMobile, keys: betaKeys },
  ];
}

/**
 * Registers the gateways, and makes two liquidity providers with deposits and rates, and payments of the last two days, the newest of which are pending. All of
 * it is made by requests, as a gateway makes it, so that every signature and every record is genuine.
 */
export async function seed({ server, clock, gateways: [alphaGateway, betaGateway] }: SeededSandbox): Promise<Seeded> {
  await using alpha = new CrossBorderClient({ ...server.clientOptions, signingKey: alphaGateway.keys.privateKey });
  await using beta = new CrossBorderClient({ ...server.clientOptions, signingKey: betaGateway.keys.privateKey });
  for (const { keys, ...gateway } of [alphaGateway, betaGateway]) {
    await alpha.paymentGateways.create({ ...gateway, rsaPublicKeyBase64: keys.publicKeyBase64 });
  }
  for (const account of accounts) server.sandbox.accounts.add(account);
  const liquidityProviderIds = await provideLiquidity(alpha, beta);
  for (let index = 0; index < paymentCount; index += 1) {
    const agoMs = (paymentCount - index) * 2 * hourMs;
    clock.agoMs = agoMs;
    const isForth = index % 3 !== 2;
    const id = await pay(isForth ? alpha : beta, isForth, index);
    const status = index < paymentCount - pendingCount ? statuses[index % statuses.length] : undefined;
    if (id === undefined || status === undefined) continue;
    clock.agoMs = agoMs - minuteMs;
    server.sandbox.setReceiverStatus(id, status);
  }
  clock.agoMs = 0;
  return { liquidityProviderIds, payments: paymentCount };
}

async function provideLiquidity(alpha: CrossBorderClient, beta: CrossBorderClient): Promise<string[]> {
  const ids: string[] = [];
  for (const { buyPrice, sellPrice, ...provider } of providers) {
    const { id } = await alpha.liquidityProviders.create(provider);
    await alpha.liquidityProviders.deposits(id).create({
      ...{ paymentGatewayId: "alpha-bank", paymentGatewayTransactionId: `ALPHA-D-${ids.length + 1}` },
      ...{ amount: "50000.00", currency: "EUR" },
    });
    await beta.liquidityProviders.deposits(id).create({
      ...{ paymentGatewayId: "beta-mobile", paymentGatewayTransactionId: `BETA-D-${ids.length + 1}` },
      ...{ amount: "7500000.00", currency: "KES" },
    });
    await alpha.liquidityProviders.exchangeRates(id).create({
      ...{ baseGatewayId: "alpha-bank", counterGatewayId: "beta-mobile", baseCurrency: "EUR", counterCurrency: "KES" },
      ...{ buyPrice, sellPrice },
    });
    ids.push(id);
  }
  return ids;
}

async function pay(client: CrossBorderClient, isForth: boolean, index: number): Promise<string | undefined> {
  const alpha = { gatewayId: "alpha-bank", account: `DE-100${1 + (index % 2)}`, currency: "EUR" };
  const beta = { gatewayId: "beta-mobile", account: `KE-700${1 + (index % 2)}`, currency: "KES" };
  const [sender, receiver] = isForth ? [alpha, beta] : [beta, alpha];
  const outcome = await client.pay(
    {
      ...{ senderGatewayId: sender.gatewayId, senderAccount: sender.account, senderCurrency: sender.currency },
      ...{ receiverGatewayId: receiver.gatewayId, receiverAccount: receiver.account },
      ...{
        receiverCurrency: receiver.currency,
        receiverAmount: isForth ? `${1500 + 730 * index}.00` : `${20 + index}.50`,
      },
      memo: memos[index % memos.length] ?? "",
    },
    () => ({ senderGatewayTransactionId: `${isForth ? "ALPHA" : "BETA"}-TX-${index + 1}` }),
  );
  return outcome.status === "paid" ? outcome.payment.id : undefined;
}
