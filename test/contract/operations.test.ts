import { type CrossBorderClient, operationNames, verifySignature } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { signingKeysOf } from "../support/key-pairs.js";
import { bodies, callEverything, prepareCalls, resourceOf } from "./calls.js";
import { describedOperations } from "./described-api.js";
import { harnesses, openPayer } from "./harness.js";

const namesOf = (verb: string) => operationNames.filter((name) => name.endsWith(`.${verb}`));
const valuesOf = (name: string) =>
  (describedOperations[name]?.filters ?? []).map((field) => [
    field,
    /Price[ND]$/.test(field) ? 7 : field === "rsaPublicKeyBase64" ? bodies.paymentGateways.rsaPublicKeyBase64 : "1",
  ]);
/** Keys that a filter would be refused for holding anything else. */
const keyFields = ["paymentGatewayPublicKeyBase64"];
const filterOf = (name: string) =>
  Object.fromEntries(
    valuesOf(name).map(([field, value]) => [
      field,
      keyFields.includes(String(field)) ? bodies.paymentGateways.rsaPublicKeyBase64 : value,
    ]),
  );

it("has the operations of the description, and no others", () => {
  expect([...operationNames].sort()).toEqual(Object.keys(describedOperations).sort());
});

describe.each(harnesses)("$name", ({ open }) => {
  it("gets a 200 for each operation, and for each field of its body", async () => {
    const harness = await open();
    await callEverything(harness.client({ signingKey: signingKeysOf("gateway").privateKey }));
    const sent = harness.requests.filter(({ name }) => name !== "token");
    expect(new Set(sent.map(({ name }) => name))).toEqual(new Set(operationNames));
    for (const { name = "", body } of sent.filter(({ body }) => body !== "")) {
      const { sends = [] } = describedOperations[name] ?? {};
      const full = Object.entries(bodies).find(([resource]) => resource === resourceOf(name));
      if (full !== undefined) expect(Object.keys(full[1]).sort(), name).toEqual(sends.toSorted());
      expect(sends, name).toEqual(expect.arrayContaining(Object.keys(JSON.parse(body))));
    }
  });

  it("signs what the description says is signed, and nothing else by default", async () => {
    const harness = await open();
    await callEverything(harness.client({ signingKey: signingKeysOf("gateway").privateKey }));
    const signed = new Set(harness.requests.filter(({ isSigned }) => isSigned).map(({ name }) => name));
    const described = operationNames.filter((name) => describedOperations[name]?.mustBeSigned);
    expect(signed).toEqual(new Set(described));
  });

  it.each(["liquidityProviders.withdrawals.create", "liquidityProviders.deposits.update"] as const)(
    "signs %s too if it is told to",
    async (name) => {
      const harness = await open();
      const signingKey = signingKeysOf("gateway").privateKey;
      const { call } = await prepareCalls(harness.client({ signingKey, signedOperations: [name] }));
      await call(name);
      expect(harness.requests.at(-1)).toMatchObject({ name, isSigned: true });
    },
  );

  it.each([...namesOf("list"), ...namesOf("get")])("sends each described parameter of %s", async (name) => {
    const harness = await open();
    const { call } = await prepareCalls(harness.client({ signingKey: signingKeysOf("gateway").privateKey }));
    const filter = filterOf(name);
    const isList = name.endsWith(".list");
    const sort = ["id.desc", "id.asc"] as never;
    await call(name, isList ? { size: 3, after: "1", sort, filter } : { filter });
    const { query = "" } = harness.requests.at(-1) ?? {};
    const paging = { _size: "3", _after: "1", _sort: "id.desc,id.asc" };
    const filters = Object.entries(filter).map(([field, value]) => [field, String(value)]);
    expect(Object.fromEntries(new URLSearchParams(query))).toEqual({
      ...(isList && paging),
      ...Object.fromEntries(filters),
    });
  });

  it.each(namesOf("update"))("sees %s in the next read", async (name) => {
    const harness = await open();
    const { call } = await prepareCalls(harness.client({ signingKey: signingKeysOf("gateway").privateKey }));
    expect(await call(name)).toBeUndefined();
    const updated = Object.entries(bodies).find(([resource]) => resource === resourceOf(name));
    expect(await call(name.replace(/update$/, "get") as typeof name)).toMatchObject(updated?.[1] ?? {});
  });

  it("keeps amounts to the last digit and timestamps below the millisecond", async () => {
    const harness = await open();
    const { client, liquidityProviderId } = await openPayer(harness);
    const withdrawals = client.liquidityProviders.withdrawals(liquidityProviderId);
    const { amount } = bodies["liquidityProviders.withdrawals"];
    const { id } = await withdrawals.create(bodies["liquidityProviders.withdrawals"]);
    expect((await withdrawals.get(id)).amount).toBe(amount);
    await client.pay(bodies.paymentIntents, () => ({ senderGatewayTransactionId: "TX-1" }));
    const { items } = await client.payments.list();
    expect(items[0]?.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{4,}Z$/);
  });

  it("shows one withdrawal from both sides", async () => {
    const harness = await open();
    const { client, liquidityProviderId } = await openPayer(harness);
    const [gateway] = (await client.paymentGateways.list({ filter: { institutionId: "beta-mobile" } })).items;
    const body = bodies["liquidityProviders.withdrawals"];
    const { id, amount } = await client.liquidityProviders.withdrawals(liquidityProviderId).create(body);
    const seen = await client.paymentGateways.withdrawals(gateway?.id ?? "").get(id);
    expect(seen).toMatchObject({ id, liquidityProviderId, amount });
  });

  it("reaches a path that the description doesn't have, signed, with the token of all calls", async () => {
    const harness = await open({
      basePath: "/gw",
      onRequest: ({ name }) => (name === undefined ? Response.json({ id: "r-1" }) : undefined),
    });
    const { privateKey, publicKeyBase64: publicKey } = signingKeysOf("gateway");
    const client: CrossBorderClient = harness.client({ signingKey: privateKey });
    await client.liquidityProviders.list();
    const request = { method: "PATCH", path: "/refunds/{refundId}", ids: ["a b"], body: { note: "€" } } as const;
    expect(await client.request({ ...request, signed: true })).toEqual({ id: "r-1" });
    const [{ method, path, headers, body } = expect.unreachable()] = harness.requests.slice(-1);
    expect([method, path, body]).toEqual(["PATCH", "/gw/refunds/a%20b", '{"note":"€"}']);
    const signature = headers.get("x-service-signature-base64") ?? "";
    expect(await verifySignature({ path, body, signature, publicKey })).toBe(true);
    expect(harness.requests.filter(({ name }) => name === "token")).toHaveLength(1);
    expect(harness.problems.splice(0)).toEqual(["PATCH /gw/refunds/a%20b: there is no such path"]);
  });
});
