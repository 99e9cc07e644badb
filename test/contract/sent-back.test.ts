import { type CrossBorderClient, type PaymentIntentRequest, paymentFromIntent } from "cross-border-payments";
import { type Journal, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { newFile, nodeSqlite, openSqliteJournal } from "../journals/sqlite-fixture.js";
import { errorOf } from "../support/error-of.js";
import { type ServiceFaults, type Shape, shapedService, shapes } from "./shaped-service.js";

const taken = { senderGatewayTransactionId: "TX-1" };

async function runFlow(client: CrossBorderClient, request: PaymentIntentRequest, journal: Journal, take: () => void) {
  const takeFunds = () => {
    take();
    return { ...taken, replayed: false } as const;
  };
  const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds: () => undefined, readBackDelayMs: 5 });
  return flow.run("order-1", request);
}

interface Way {
  readonly name: string;
  readonly pay: (client: CrossBorderClient, request: PaymentIntentRequest, take: () => void) => Promise<object>;
}

const inMemory: Way = {
  name: "a flow in memory",
  pay: (client, request, take) => runFlow(client, request, new MemoryJournal(), take),
};
const overSqlite: Way = {
  name: "a flow over SQLite",
  pay: async (client, request, take) => runFlow(client, request, await openSqliteJournal(newFile()), take),
};
const flows = nodeSqlite === undefined ? [inMemory] : [inMemory, overSqlite];

/** The ways that take money themselves, after they have checked the intent. */
const guarded: readonly Way[] = [
  {
    name: "client.pay",
    pay: (client, request, take) =>
      client.pay(request, () => {
        take();
        return taken;
      }),
  },
  ...flows,
];

const ways: readonly Way[] = [
  {
    name: "payments.create by spread",
    pay: async (client, request) => {
      const intent = await client.paymentIntents.create(request);
      return { status: "paid", payment: await client.payments.create({ ...intent, ...taken }) };
    },
  },
  {
    name: "paymentFromIntent",
    pay: async (client, request) => {
      const intent = await client.paymentIntents.create(request);
      return { status: "paid", payment: await client.payments.create(paymentFromIntent(intent, "TX-1")) };
    },
  },
  ...guarded,
];

const described = shapes[0] as Shape;
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe.each(shapes)("a service that returns $name", (shape) => {
  it.each(ways)("is paid by $name, with the intent as it came", async ({ pay }) => {
    const service = shapedService(shape);
    const outcome = await pay(service.client(), service.request, () => undefined);
    expect(outcome).toMatchObject({ status: "paid", payment: { senderGatewayStatus: "processed" } });
    expect(outcome).not.toHaveProperty("isSettledBadly");
    expect(service.bodies("/payments")).toEqual([plain({ ...service.intent, ...taken })]);
  });

  it.each(flows)("is found by $name after a lost response", async ({ pay }) => {
    const service = shapedService(shape, { losesPayments: true });
    expect(await pay(service.client(), service.request, () => undefined)).toMatchObject({ status: "paid" });
    expect(service.payments).toHaveLength(1);
  });

  it("takes records back in an update, without what it can't take", async () => {
    const service = shapedService(shape);
    const client = service.client();
    const { id, firstName: _, ...provider } = service.provider;
    const record = await client.liquidityProviders.get(id as string);
    await client.liquidityProviders.update(record.id, { ...record, firstName: "Lena" });
    const kept = Object.entries({ firstName: "Lena", ...provider }).filter(
      ([field, value]) => ["firstName", "lastName", "email"].includes(field) && value !== null,
    );
    expect(service.bodies(`/liquidity-providers/${id}`)).toEqual([Object.fromEntries(kept)]);

    const deposits = client.liquidityProviders.deposits(id as string);
    const deposit = await deposits.get("d-1");
    await deposits.update(deposit.id, { ...deposit, currency: "EUR" });
    const { paymentGatewayId, paymentGatewayTransactionId, amount, blockchainTransactionId } = service.deposit;
    expect(service.bodies(`/liquidity-providers/${id}/deposits/${service.deposit.id}`)).toEqual([
      { paymentGatewayId, paymentGatewayTransactionId, amount, currency: "EUR", blockchainTransactionId },
    ]);
  });
});

describe.each(guarded)("$name", ({ pay }) => {
  it.each<[string, object]>([
    ["another amount", { receiverAmount: "15000.01" }],
    ["another amount as a number", { receiverAmount: 1500 }],
    ["another account", { receiverAccount: "KE-7003" }],
    ["an account with a digit less", { senderAccount: "DE-001" }],
    ["another gateway", { receiverGatewayId: "gamma" }],
    ["another currency", { senderCurrency: "USD" }],
    ["no amount", { senderAmount: null }],
    ["an amount with a separator", { senderAmount: "1,500.00" }],
    ["an amount beyond exactness", { senderAmount: 1 / 3 }],
    ["an id beyond exactness", { id: 2 ** 53 }],
    ["an unknown number beyond exactness", { reference: { of: 2 ** 60 } }],
    ["extras beyond exactness", { extras: [2 ** 53] }],
    ["no name at all", { receiverName: undefined }],
  ])("takes no money for an intent with %s", async (_, changes) => {
    const service = shapedService({ shape: (record) => ({ ...record, ...changes }) });
    const take = vi.fn();
    expect(await errorOf(pay(service.client(), service.request, take))).toMatchObject({
      code: expect.stringMatching(/^(?:intent_mismatch|invalid_argument)$/),
      effect: "none",
    });
    expect([take.mock.calls, service.payments]).toEqual([[], []]);
  });

  it("pays an intent whose new field is nearly called as a known one", async () => {
    const service = shapedService({ shape: (record) => ({ ...record, memos: "fees" }) });
    expect(await pay(service.client(), service.request, () => undefined)).toMatchObject({ status: "paid" });
    expect(service.bodies("/payments")).toMatchObject([{ memos: "fees" }]);
  });

  it.each(["error", "reverted", "ERROR"])("says that a payment was recorded as %s", async (status) => {
    for (const field of ["senderGatewayStatus", "receiverGatewayStatus"]) {
      const service = shapedService(described, { statuses: { [field]: status } });
      const outcome = await pay(service.client(), service.request, () => undefined);
      expect(outcome).toMatchObject({ status: "paid", isSettledBadly: true });
    }
  });
});

it.each(["off", "report", "strict"] as const)(
  "reports each payment created as reverted, with validation %s",
  async (validation) => {
    const faults: ServiceFaults = { statuses: { receiverGatewayStatus: "reverted" } };
    const full = {
      senderGatewayPublicKey: "",
      receiverGatewayPublicKey: "",
      senderGatewaySignature: "",
      receiverProcessingGatewayId: "",
    };
    const more = { receiverGatewaySignature: "", blockchainTransactionId: "b", creationRequestPublicKeyBase64: "" };
    const shape = (record: object) => ("pagingToken" in record ? { ...record, ...full, ...more } : { ...record });
    const service = shapedService({ shape }, faults);
    const client = service.client({ validation });
    for (let count = 0; count < 2; count += 1) await client.pay(service.request, () => taken);
    const failed = {
      operation: "payments.create",
      field: "receiverGatewayStatus",
      expected: "pending or processed",
      found: "reverted",
    };
    expect(service.mismatches).toEqual([failed, failed]);
  },
);

it("reports numbers and nulls once, and hands them out as they came", async () => {
  const service = shapedService({ shape: (record) => ({ ...record, id: 17, email: null }) });
  const client = service.client();
  for (let count = 0; count < 2; count += 1) {
    expect(await client.liquidityProviders.get("lp-1")).toMatchObject({ id: 17, email: null });
  }
  expect(service.mismatches.map(({ field, found }) => `${field}: ${found}`)).toEqual(["id: a number", "email: null"]);
});

it.each<[string, (client: CrossBorderClient, intent: never) => Promise<unknown>, string]>([
  [
    "an update",
    (client) => client.liquidityProviders.update("lp-1", { frstName: "L" } as object),
    "liquidityProviders.update",
  ],
  [
    "a payment",
    (client, intent) => client.payments.create(Object.assign(intent, taken, { frstName: 1, meno: "x" })),
    "payments.create",
  ],
])("refuses an unknown field of %s that is nearly a known one", async (_, call, operation) => {
  const service = shapedService(described);
  const error = await errorOf(call(service.client(), { ...service.intent } as never));
  expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
  const [field, known] = operation === "payments.create" ? ["meno", "memo"] : ["frstName", "firstName"];
  expect((error as Error).message).toBe(`${operation}: Unknown field "${field}" in the body. Did you mean ${known}?`);
});
