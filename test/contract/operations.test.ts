import { operationNames, verifySignature } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { bodies, callEverything, namesOf, prepareCalls, resourceOf } from "./calls.js";
import { describedOperations } from "./described-api.js";
import { harnesses, openPayer } from "./harness.js";

/** A value for each parameter that is named after a field. */
const filterOf = (name: string) =>
  Object.fromEntries(
    (describedOperations[name]?.filters ?? []).map((field) => {
      if (/^(?:rsa|paymentGateway)PublicKeyBase64$/.test(field))
        return [field, bodies.paymentGateways.rsaPublicKeyBase64];
      return [field, /Price[ND]$/.test(field) ? 7 : "1"];
    }),
  );

it("has the operations of the description, and no others", () => {
  expect([...operationNames].sort()).toEqual(Object.keys(describedOperations).sort());
});

describe.each(harnesses)("$name", ({ open }) => {
  it("gets a 200 for each operation, signs those that must be, and sends each field of their bodies", async () => {
    const harness = await open();
    await callEverything(harness.payer());
    const sent = harness.requests.filter(({ name }) => name !== "token");
    expect(new Set(sent.map(({ name }) => name))).toEqual(new Set(operationNames));
    for (const { name = "", isSigned, body } of sent) {
      const { sends = [], mustBeSigned = false } = describedOperations[name] ?? {};
      expect(isSigned, name).toBe(mustBeSigned);
      // The setup creates a rate and gateways with fewer fields.
      if (body !== "") expect(sends, name).toEqual(expect.arrayContaining(Object.keys(JSON.parse(body))));
    }
    for (const [resource, body] of Object.entries(bodies)) {
      const { sends = [] } =
        describedOperations[`${resource}.update`] ?? describedOperations[`${resource}.create`] ?? {};
      expect(Object.keys(body).sort(), resource).toEqual(sends.toSorted());
    }
  });

  it.each(["liquidityProviders.withdrawals.create", "liquidityProviders.deposits.update"] as const)(
    "signs %s too if it is told to",
    async (name) => {
      const harness = await open();
      const { call } = await prepareCalls(harness.payer({ signedOperations: [name] }));
      await call(name);
      expect(harness.requests.at(-1)).toMatchObject({ name, isSigned: true });
    },
  );

  it.each([...namesOf("list"), ...namesOf("get")])("sends each described parameter of %s", async (name) => {
    const harness = await open();
    const { call } = await prepareCalls(harness.payer());
    const filter = filterOf(name);
    const isList = name.endsWith(".list");
    const sort = ["id.desc", "id.asc"];
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
    const { call } = await prepareCalls(harness.payer());
    expect(await call(name)).toBeUndefined();
    const resource = resourceOf(name) as keyof typeof bodies;
    expect(await call(`${resource}.get` as typeof name)).toMatchObject(bodies[resource]);
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
    const client = harness.payer();
    await client.liquidityProviders.list();
    const request = { method: "PATCH", path: "/refunds/{refundId}", ids: ["a b"], body: { note: "€" } } as const;
    expect(await client.request({ ...request, signed: true })).toEqual({ id: "r-1" });
    const [{ method, path, headers, body } = expect.unreachable()] = harness.requests.slice(-1);
    expect([method, path, body]).toEqual(["PATCH", "/gw/refunds/a%20b", '{"note":"€"}']);
    const signature = headers.get("x-service-signature-base64") ?? "";
    expect(await verifySignature({ path, body, signature, publicKey: bodies.paymentGateways.rsaPublicKeyBase64 })).toBe(
      true,
    );
    expect(harness.requests.filter(({ name }) => name === "token")).toHaveLength(1);
    expect(harness.problems.splice(0)).toEqual(["PATCH /gw/refunds/a%20b: there is no such path"]);
  });
});
