import { describe, expect, it } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { callEverything, describedOperations, withdrawal } from "./described-operations.js";
import { harnesses, prepareCorridor } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it("reaches every operation of the description, and no other", async () => {
    await using harness = await open();
    await callEverything(harness);
    const requests = harness.sandbox.requests.filter(({ operation }) => operation !== "token");
    const reached = new Set(requests.map(({ method, path }) => `${method} ${templateOf(path)}`));
    expect([...reached].sort()).toEqual(
      Object.values(describedOperations)
        .map(({ text }) => text)
        .sort(),
    );
  });

  it("gets a 200 from every one of them", async () => {
    await using harness = await open();
    await callEverything(harness);
    expect(harness.sandbox.requests.filter(({ status }) => status !== 200)).toEqual([]);
  });

  it("signs what the description says is signed, and nothing else by default", async () => {
    await using harness = await open();
    await callEverything(harness);
    const signed = harness.sandbox.requests.filter((request) => request.signed).map(({ operation }) => operation);
    const described = Object.entries(describedOperations).filter(([, { isSigned }]) => isSigned);
    expect([...new Set(signed)].sort()).toEqual(described.map(([name]) => name).sort());
  });

  it("signs further operations that it is told to sign", async () => {
    await using harness = await open({
      signedOperations: ["liquidityProviders.deposits.create", "liquidityProviders.withdrawals.create"],
    });
    const { keys, liquidityProviderId } = await prepareCorridor(harness);
    const client = harness.client({
      signingKey: keys.privateKey,
      signedOperations: ["liquidityProviders.withdrawals.create"],
    });
    await client.liquidityProviders.withdrawals(liquidityProviderId).create(withdrawal);
    expect(harness.sandbox.requests.at(-1)).toMatchObject({
      operation: "liquidityProviders.withdrawals.create",
      signed: true,
      status: 200,
    });
  });

  it("sees an update in the next read", async () => {
    await using harness = await open();
    const { client } = await prepareCorridor(harness);
    const provider = await client.liquidityProviders.create({ firstName: "A", lastName: "B", email: "c@example.com" });
    const nothing: undefined = (await client.liquidityProviders.update(provider.id, {
      firstName: "New",
      lastName: "B",
      email: "c@example.com",
    })) as undefined;
    expect(nothing).toBeUndefined();
    expect(await client.liquidityProviders.get(provider.id)).toMatchObject({ firstName: "New", lastName: "B" });
  });

  it("keeps amounts to the last digit and timestamps below the millisecond", async () => {
    await using harness = await open();
    const { client, liquidityProviderId } = await prepareCorridor(harness);
    const amount = "123456789012345678901234567890.123456789012345678901234567890";
    const withdrawals = client.liquidityProviders.withdrawals(liquidityProviderId);
    const created = await withdrawals.create({ ...withdrawal, amount });
    expect((await withdrawals.get(created.id)).amount).toBe(amount);
    const outcome = await client.pay(intentRequest, () => ({ senderGatewayTransactionId: "TX-1" }));
    const { items } = await client.payments.list();
    expect(items[0]?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4,}Z$/);
    expect(outcome).toMatchObject({ payment: { createdAt: items[0]?.createdAt } });
  });

  it("shows one withdrawal from both sides", async () => {
    await using harness = await open();
    const { client, liquidityProviderId } = await prepareCorridor(harness);
    const gateway = (await client.paymentGateways.list({ filter: { institutionId: "beta-mobile" } })).items[0];
    const created = await client.liquidityProviders
      .withdrawals(liquidityProviderId)
      .create({ ...withdrawal, paymentGatewayId: "beta-mobile" });
    const seen = await client.paymentGateways.withdrawals(gateway?.id ?? "").get(created.id);
    expect(seen).toMatchObject({ id: created.id, liquidityProviderId, amount: created.amount });
  });

  it("filters by integer fields as integers", async () => {
    await using harness = await open();
    const { client, liquidityProviderId } = await prepareCorridor(harness);
    const rates = client.liquidityProviders.exchangeRates(liquidityProviderId);
    const [rate] = (await rates.list()).items;
    const { items } = await rates.list({ filter: { buyPriceN: rate?.buyPriceN ?? -1 } });
    expect(items.map(({ id }) => id)).toEqual([rate?.id]);
    expect((await rates.list({ filter: { buyPriceN: (rate?.buyPriceN ?? 0) + 1 } })).items).toEqual([]);
  });
});

function templateOf(path: string): string {
  return path
    .split("/")
    .map((segment, index) => (index > 0 && index % 2 === 0 ? "{}" : segment))
    .join("/");
}
