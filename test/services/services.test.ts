import {
  type ClientOptions,
  CrossBorderClient,
  CrossBorderError,
  type PaymentIntentRequest,
  paymentFromIntent,
} from "cross-border-payments";
import { type Journal, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { reconcilePayments, watchPayments } from "cross-border-payments/reconcile";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { recordsIn, run } from "../cli/run.js";
import { newFile, nodeSqlite, openSqliteJournal } from "../journals/sqlite-fixture.js";
import { errorOf } from "../support/error-of.js";
import { signingKeysOf } from "../support/key-pairs.js";
import {
  firstMs,
  openService,
  type SeededCounts,
  type Service,
  type ServiceTraits,
  services,
  usual,
} from "./services.js";

const counts = { payments: 55, providers: 12 };

const taken = { senderGatewayTransactionId: "TX-new" };

interface Setting {
  readonly service: Service;
  readonly request: PaymentIntentRequest;
  readonly client: CrossBorderClient;
}

const transactionsOf = (records: readonly object[]) =>
  records.map((record) => String(Reflect.get(record, "senderGatewayTransactionId"))).toSorted();

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

type Take = () => void;

/** Pays with `client.pay`. */
const pay = ({ client, request }: Setting, take?: Take) =>
  client.pay(request, () => {
    take?.();
    return taken;
  });

/** @throws with the reason of a flow that is held. */
async function runFlow({ client, request }: Setting, take?: Take, journal: Journal = new MemoryJournal()) {
  const takeFunds = () => {
    take?.();
    return { ...taken, replayed: false } as const;
  };
  const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds: async () => {}, readBackDelayMs: 400 });
  const outcome = await flow.run("order-1", request);
  if (outcome.status === "held") throw Object.assign(new Error(outcome.reason), { code: outcome.why });
  return outcome;
}

/** The last payment is the last intent, as the service returned it, and the transaction id. */
function expectIntentSentBack({ intents, requests }: Service): void {
  const sent = requests.filter(({ method, path }) => `${method} ${path}` === "POST /api/payments").at(-1);
  expect(JSON.parse(sent?.body ?? "")).toEqual(JSON.parse(JSON.stringify({ ...intents.at(-1), ...taken })));
}

/** Each feature, as a user uses it. What it must come to is expected inside. */
const features = {
  async "payments, iterated"({ client, service }) {
    expect(transactionsOf(await collect(client.payments.list()))).toEqual(transactionsOf(service.payments));
  },
  async "payments, newest first"({ client, service }) {
    const listed = await collect(client.payments.list({ sort: "pagingToken.desc", size: 10 }));
    expect(listed.map(({ senderGatewayTransactionId }) => senderGatewayTransactionId)).toEqual(
      service.payments.map((payment) => payment.senderGatewayTransactionId).reverse(),
    );
  },
  async "providers, iterated"({ client, service }) {
    const listed = await client.liquidityProviders.list().toArray({ max: 100 });
    expect(listed.map(({ lastName }) => lastName).toSorted()).toEqual(
      service.providers.map((provider) => provider.lastName).toSorted(),
    );
  },
  async "CLI list"({ service }) {
    const env = {
      ...{ CROSS_BORDER_BASE_URL: service.baseUrl, CROSS_BORDER_AUTH_URL: service.origin, CROSS_BORDER_REALM: "r" },
      ...{ CROSS_BORDER_CLIENT_ID: "c", CROSS_BORDER_USERNAME: "u", CROSS_BORDER_PASSWORD: "p" },
    };
    const { code, stdout, stderr } = await run(["payments", "list", "--format", "ndjson"], { env });
    // The link at the end of the message names the code.
    if (code !== 0) throw new CrossBorderError(stderr, { code: /#([a-z_0-9]+)\s*$/.exec(stderr)?.[1] as never });
    expect(transactionsOf(recordsIn(stdout))).toEqual(transactionsOf(service.payments));
  },
  async "record, updated"({ client, service }) {
    const [first] = (await client.liquidityProviders.list()).items;
    if (first === undefined) throw new Error("no provider");
    const provider = await client.liquidityProviders.get(first.id);
    await client.liquidityProviders.update(provider.id, { ...provider, firstName: "Mona" });
    expect(service.providers.filter(({ firstName }) => firstName === "Mona")).toHaveLength(1);
  },
  async "payment by hand"({ client, service, request }) {
    const intent = await client.paymentIntents.create(request);
    await client.payments.create(paymentFromIntent(intent, "TX-other"));
    await client.payments.create({ ...intent, ...taken });
    expect(transactionsOf(service.payments.slice(-2))).toEqual(["TX-new", "TX-other"]);
    expectIntentSentBack(service);
  },
  async "client.pay"(setting) {
    const outcome = await pay(setting);
    expect(outcome.status).toBe("paid");
    expect(outcome).not.toHaveProperty("isSettledBadly");
    expect(setting.service.payments).toHaveLength(counts.payments + 1);
    expectIntentSentBack(setting.service);
  },
  async flow(setting) {
    const { status } = await runFlow(setting);
    expect([status, setting.service.payments.length]).toEqual(["paid", counts.payments + 1]);
    expectIntentSentBack(setting.service);
  },
  async "flow, response lost"(setting) {
    setting.service.losesNextResponse = true;
    const journal = nodeSqlite === undefined ? new MemoryJournal() : await openSqliteJournal(newFile());
    const { status } = await runFlow(setting, () => undefined, journal);
    expect([status, setting.service.payments.length]).toEqual(["paid", counts.payments + 1]);
  },
  async watch({ client, service }) {
    const seen: string[] = [];
    const events = watchPayments(client, { everyMs: 50, rereadEveryMs: 50 });
    for await (const { payment, type } of events) {
      seen.push(payment.senderGatewayTransactionId);
      if (seen.length === counts.payments)
        Object.assign(service.payments.at(-1) ?? {}, { receiverGatewayStatus: "error" });
      if (type === "changed") break;
    }
    expect(seen.slice(0, -1).toSorted()).toEqual(transactionsOf(service.payments));
    expect(seen.at(-1)).toBe(service.payments.at(-1)?.senderGatewayTransactionId);
  },
  async reconcile({ client, service }) {
    // A quarter of an hour, in which one of the ledger's entries has no payment, and one payment no entry.
    const from = firstMs + 1_800_000;
    const own = service.payments.slice(0, 54).map((payment, index) => ({
      senderGatewayTransactionId: index === 35 ? "TX-lost" : String(payment.senderGatewayTransactionId),
      bookedAt: new Date(firstMs + index * 60_000),
      senderAmount: "110.5",
    }));
    const found = await collect(reconcilePayments(client, own, { from: new Date(from), to: new Date(from + 900_000) }));
    expect(found.map(({ type }) => type).toSorted()).toEqual(["missing-here", "missing-there"]);
  },
} satisfies Record<string, (setting: Setting) => Promise<void>>;

type Feature = keyof typeof features;

/** Cells that can't work, and the code of the error that says why. Every other cell must work. */
const exceptions: Readonly<Record<string, Partial<Record<Feature, string>>>> = {
  // A payment by hand can't tell a new field from a misspelled one.
  "more fields": { "payment by hand": "invalid_argument" },
  "newest first, _sort ignored": { "providers, iterated": "paging_no_token" },
  "pages of 10 at most": { "providers, iterated": "paging_no_token" },
  "_sort refused": { "payments, newest first": "http_400", "providers, iterated": "paging_no_token" },
  "_sort ignored": { "payments, newest first": "paging_order", "providers, iterated": "paging_no_token" },
  "no right to list payments": {
    "payments, iterated": "http_403",
    "payments, newest first": "http_403",
    "CLI list": "http_",
    "flow, response lost": "not-found",
    watch: "http_403",
    reconcile: "http_403",
  },
  "no paging tokens": {
    "payments, iterated": "paging_no_token",
    "payments, newest first": "paging_no_token",
    "CLI list": "paging_no_token",
    watch: "paging_no_token",
    reconcile: "paging_no_token",
  },
};

async function open(traits: ServiceTraits, seeded: SeededCounts, options: Partial<ClientOptions> = {}) {
  const service = await openService(traits, seeded);
  const auth = { accessToken: async () => "token" };
  const { privateKey: signingKey } = signingKeysOf("gateway");
  const client = new CrossBorderClient({ baseUrl: service.baseUrl, auth, signingKey, ...options });
  onTestFinished(async () => {
    await client.close();
    await service[Symbol.asyncDispose]();
  });
  return { service, client, request: { ...usual, ...traits.request } };
}

describe.each(Object.keys(services))("%s", (name) => {
  it.each(Object.keys(features) as Feature[])("%s", async (feature) => {
    const work = features[feature](await open(services[name] ?? {}, counts));
    const code = exceptions[name]?.[feature];
    if (code === undefined) await work;
    else await expect(work).rejects.toMatchObject({ code });
  });
});

const none = { payments: 0, providers: 0 };

describe.each([
  { name: "client.pay", payBy: pay },
  { name: "a flow", payBy: runFlow },
])("$name", ({ payBy }) => {
  it.each<[string, object]>([
    ["another amount", { receiverAmount: "100.01" }],
    ["another account", { receiverAccount: "KE-2" }],
    ["an account with a digit less", { senderAccount: "DE-" }],
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
    const setting = await open({ shown: (record) => ({ ...record, ...changes }) }, none);
    const take = vi.fn();
    expect(await errorOf(payBy(setting, take))).toMatchObject({
      code: expect.stringMatching(/^(?:intent_mismatch|invalid_argument)$/),
      effect: "none",
    });
    expect([take.mock.calls, setting.service.payments]).toEqual([[], []]);
  });

  it.each(
    ["error", "reverted", "ERROR"].flatMap((status) => [
      { field: "senderGatewayStatus", status },
      { field: "receiverGatewayStatus", status },
    ]),
  )("says that a payment was recorded with $field $status", async ({ field, status }) => {
    const shown: ServiceTraits["shown"] = (record) => ({ ...record, ...(field in record && { [field]: status }) });
    expect(await payBy(await open({ shown }, none))).toMatchObject({ status: "paid", isSettledBadly: true });
  });
});

it.each(["off", "report", "strict"] as const)(
  "reports each payment created as reverted, with validation %s",
  async (validation) => {
    const mismatch = vi.fn();
    const field = "receiverGatewayStatus";
    const shown: ServiceTraits["shown"] = (record) => ({ ...record, ...(field in record && { [field]: "reverted" }) });
    const setting = await open({ shown }, none, { validation, on: { mismatch } });
    for (let count = 0; count < 2; count += 1) await pay(setting);
    const reported = { operation: "payments.create", field, expected: "pending or processed", found: "reverted" };
    expect(mismatch.mock.calls).toEqual([[reported], [reported]]);
  },
);

it.each<[string, (setting: Setting) => PromiseLike<unknown>, string]>([
  ["an update", ({ client }) => client.liquidityProviders.update("1", { frstName: "L" } as object), "firstName"],
  [
    "a payment",
    async ({ client, request }) =>
      client.payments.create(Object.assign(await client.paymentIntents.create(request), taken, { meno: "x" })),
    "memo",
  ],
])("refuses an unknown field of %s that is nearly a known one", async (_, call, known) => {
  expect(await errorOf(call(await open({}, none)))).toMatchObject({
    code: "invalid_argument",
    effect: "none",
    message: expect.stringMatching(`Unknown field "\\w+" in the body. Did you mean ${known}\\?`),
  });
});
