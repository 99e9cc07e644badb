import { type CrossBorderClient, paymentFromIntent } from "cross-border-payments";
import { signingKeysOf } from "../support/key-pairs.js";
import { type Harness, intentRequest, prepareCorridor } from "./harness.js";

export const withdrawal = {
  paymentGatewayId: "beta-mobile",
  amount: "10.00",
  fee: "0.10",
  currency: "KES",
  status: "requested",
};

/**
 * Calls every operation at least once.
 *
 * @param transactionId by which the records of payments and deposits are known to belong to their requests.
 */
export async function callEverything(harness: Harness, transactionId = "TX-1"): Promise<void> {
  const { client, liquidityProviderId } = await prepareCorridor(harness);
  await callGateways(client, signingKeysOf("gateway").publicKeyBase64);
  await callProvider(client, liquidityProviderId, transactionId);
  const intent = await client.paymentIntents.create(intentRequest);
  await client.paymentIntents.get(intent.id, { query: { memo: "school fees" } });
  await client.payments.create(paymentFromIntent(intent, transactionId));
  await client.payments.list({ size: 10, sort: "createdAt.desc" });
}

async function callGateways(client: CrossBorderClient, rsaPublicKeyBase64: string): Promise<void> {
  const gateway = await client.paymentGateways.create({ institutionId: "gamma", currency: "TZS", rsaPublicKeyBase64 });
  const { id, ...fields } = await client.paymentGateways.get(gateway.id, { query: { countryCode: "TZ" } });
  await client.paymentGateways.update(id, { ...fields, name: "Gamma" });
  await client.paymentGateways.list({ filter: { institutionId: "gamma" } });
}

async function callProvider(
  client: CrossBorderClient,
  liquidityProviderId: string,
  transactionId: string,
): Promise<void> {
  const providers = client.liquidityProviders;
  const { id, ...fields } = await providers.get(liquidityProviderId);
  await providers.update(id, fields);
  await providers.list({ sort: ["lastName.asc", "firstName.desc"] });
  await callDeposits(client, id, transactionId);
  await callWithdrawals(client, id);

  const rates = providers.exchangeRates(id);
  const {
    id: rateId,
    buyPriceN: _n,
    buyPriceD: _d,
    sellPriceN: _sn,
    sellPriceD: _sd,
    ...rate
  } = await rates.create({
    baseGatewayId: "beta-mobile",
    counterGatewayId: "alpha-bank",
    baseCurrency: "KES",
    counterCurrency: "EUR",
    buyPrice: "0.0066",
    sellPrice: "0.0067",
  });
  await rates.get(rateId);
  await rates.update(rateId, rate);
  await rates.list();

  const transfers = providers.transfers(id);
  const transfer = {
    from: "wallet",
    to: "exchange-rate",
    exchangeRateId: rateId,
    gatewayId: "beta-mobile",
    currency: "KES",
  } as const;
  const made = await transfers.create({ ...transfer, amount: "5.00" });
  await transfers.get(made.id);
  await transfers.update(made.id, { ...transfer, amount: "6.00" });
  await transfers.list();
}

async function callDeposits(
  client: CrossBorderClient,
  liquidityProviderId: string,
  paymentGatewayTransactionId: string,
): Promise<void> {
  const deposits = client.liquidityProviders.deposits(liquidityProviderId);
  const fields = {
    paymentGatewayId: "beta-mobile",
    paymentGatewayTransactionId,
    amount: "100",
    currency: "KES",
  };
  const deposit = await deposits.create(fields);
  await deposits.get(deposit.id, { query: { currency: "KES" } });
  await deposits.update(deposit.id, { ...fields, amount: "101" });
  await deposits.list({ filter: { requestSignatureBase64: deposit.requestSignatureBase64 } });
}

async function callWithdrawals(client: CrossBorderClient, liquidityProviderId: string): Promise<void> {
  const withdrawals = client.liquidityProviders.withdrawals(liquidityProviderId);
  const made = await withdrawals.create(withdrawal);
  await withdrawals.get(made.id);
  await withdrawals.update(made.id, withdrawal);
  await withdrawals.list({ filter: { status: "requested" } });

  const gateway = (await client.paymentGateways.list({ filter: { institutionId: "beta-mobile" } })).items[0];
  const seen = client.paymentGateways.withdrawals(gateway?.id ?? "");
  const { items } = await seen.list();
  await seen.get(items[0]?.id ?? "");
  const { amount, fee, currency } = withdrawal;
  await seen.update(made.id, { amount, fee, currency, status: "processed", blockchainTransactionId: "b" });
}
