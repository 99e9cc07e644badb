import { afterAll, beforeAll, expect, it, vi } from "vitest";
import type { Operation } from "../../src/api/operation.js";
import { resource } from "../../src/api/resource.js";
import { intentRequest, keysOf, openFixture, paymentOf, registerGateways } from "./sandbox-fixture.js";

interface Dispute {
  id: string;
  reason: string;
  amount: string;
}

/** A resource that no description has, kept under records of another one. */
function further<const Name extends string, const Path extends `/${string}`>(name: Name, path: Path) {
  return resource<Dispute, Partial<Omit<Dispute, "id">>>()(name, path, {
    fields: { id: "text", reason: "text", amount: "decimal" },
    create: { body: ["reason", "amount"] },
    list: true,
    get: true,
    update: { body: ["reason", "amount"] },
  });
}

const disputes = further("payments.disputes", "/payments/{paymentId}/disputes");
const remarks = further("payments.disputes.remarks", "/payments/{paymentId}/disputes/{disputeId}/remarks");
const contracts = further("paymentGateways.contracts", "/payment-gateways/{paymentGatewayId}/contracts");
const signedOperations = ["payments.create", disputes, remarks, contracts].flatMap((rows) =>
  typeof rows === "string" ? [rows] : Object.values<Operation>(rows).map(({ name }) => name),
);

const alfaKeys = keysOf("gateway");
const bravoKeys = keysOf("stranger");

beforeAll(() => {
  vi.resetModules();
  vi.doMock("../../src/resources/catalogue.js", async (original) => {
    const real = await original<typeof import("../../src/resources/catalogue.js")>();
    const catalogue = [...real.catalogue, disputes, remarks, contracts];
    const rows = catalogue.flatMap((each) => Object.values<Operation>(each));
    const operations = new Map(rows.map((row) => [row.name, row]));
    return { ...real, catalogue, operations, isOperationName: (name: string) => operations.has(name) };
  });
});

afterAll(() => {
  vi.doUnmock("../../src/resources/catalogue.js");
  vi.resetModules();
});

async function openMarket() {
  const { createSandbox } = await import("../../src/sandbox/index.js");
  const fixture = await openFixture({ signedOperations: signedOperations as never }, createSandbox);
  const { alfa, bravo } = await registerGateways(fixture, alfaKeys);
  await fixture.send("PUT", `/payment-gateways/${bravo.id}`, { rsaPublicKeyBase64: bravoKeys.publicKeyBase64 });
  const intent = await fixture.create("/payment-intents", { ...intentRequest, receiverCurrency: "EUR" });
  const payment = await fixture.create("/payments", paymentOf(intent), { keys: alfaKeys });
  return { fixture, alfa, bravo, payment };
}

it("keeps records under those of any other resource", async () => {
  const { fixture, payment } = await openMarket();
  const path = `/payments/${payment.id}/disputes`;
  const keys = alfaKeys;
  const dispute = await fixture.create(path, { reason: "twice" }, { keys });
  expect(dispute).toEqual({ id: expect.any(String), reason: "twice", amount: "0" });
  await fixture.send("PUT", `${path}/${dispute.id}`, { amount: "5" }, { keys });
  const read = { ...dispute, amount: "5" };
  expect((await fixture.send("GET", `${path}/${dispute.id}`, undefined, { keys })).body).toEqual(read);
  expect((await fixture.send("GET", path, undefined, { keys })).body).toEqual([read]);
  const remark = await fixture.create(`${path}/${dispute.id}/remarks`, { reason: "seen" }, { keys });
  const remarksPath = `${path}/${dispute.id}/remarks`;
  expect((await fixture.send("GET", remarksPath, undefined, { keys })).body).toEqual([remark]);
});

it("has no records under one that is not there", async () => {
  const { fixture, alfa } = await openMarket();
  const under = await fixture.send("POST", "/payments/none/disputes", { reason: "twice" }, { keys: alfaKeys });
  expect(under).toMatchObject({ status: 400, body: { error: "not_found", message: "there is no such payment" } });
  const contract = await fixture.create(`/payment-gateways/${alfa.id}/contracts`, {}, { keys: alfaKeys });
  const elsewhere = await fixture.send("GET", `/payments/${contract.id}/disputes`, undefined, { keys: alfaKeys });
  expect(elsewhere.body).toMatchObject({ error: "not_found" });
});

it("takes the signature of the gateway that the records above are of, and no other's", async () => {
  const { fixture, bravo, payment } = await openMarket();
  const path = `/payments/${payment.id}/disputes`;
  const { id } = await fixture.create(path, {}, { keys: alfaKeys });
  for (const [target, right, wrong] of [
    [path, alfaKeys, bravoKeys],
    [`${path}/${id}/remarks`, alfaKeys, bravoKeys],
    [`/payment-gateways/${bravo.id}/contracts`, bravoKeys, alfaKeys],
  ] as const) {
    const refused = await fixture.send("POST", target, {}, { keys: wrong });
    expect(refused, target).toMatchObject({ status: 400, body: { error: "invalid_signature" } });
    expect(await fixture.send("POST", target, {}, { keys: right }), target).toMatchObject({ status: 200 });
  }
});
