import { CrossBorderClient, CrossBorderError, paymentFromIntent } from "cross-border-payments";
import { MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { reconcilePayments, watchPayments } from "cross-border-payments/reconcile";
import { describe, expect, it } from "vitest";
import { recordsIn, run } from "../cli/run.js";
import { firstMs, openService, type Service, services } from "../contract/services.js";
import { signingKeysOf } from "../support/key-pairs.js";

const counts = { payments: 105, providers: 12 };

const request = {
  ...{ senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-1" },
  ...{ receiverGatewayId: "beta-mobile", receiverCurrency: "KES", receiverAccount: "KE-1" },
  ...{ receiverAmount: "100.00", memo: "rent " },
};

interface Setting {
  readonly service: Service;
  readonly client: CrossBorderClient;
}

const transactionsOf = (records: readonly object[]) =>
  records.map((record) => String(Reflect.get(record, "senderGatewayTransactionId"))).toSorted();

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}

/** @throws with the reason of a flow that is held. */
async function runFlow({ client }: Setting) {
  const journal = new MemoryJournal();
  const takeFunds = () => ({ senderGatewayTransactionId: "TX-new", replayed: false }) as const;
  const flow = new PaymentFlow({ client, journal, takeFunds, releaseFunds: async () => {}, readBackDelayMs: 2500 });
  const outcome = await flow.run("order-1", request);
  if (outcome.status === "held") throw Object.assign(new Error(outcome.reason), { code: outcome.why });
  return outcome;
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
  async "payments, in pages of 200"({ client, service }) {
    const listed = await client.payments.list({ size: 200 }).toArray({ max: 200 });
    expect(transactionsOf(listed)).toEqual(transactionsOf(service.payments));
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
  async "payment by hand"({ client, service }) {
    const intent = await client.paymentIntents.create(request);
    await client.payments.create({ ...intent, senderGatewayTransactionId: "TX-new" });
    await client.payments.create(paymentFromIntent(intent, "TX-other"));
    expect(transactionsOf(service.payments.slice(-2))).toEqual(["TX-new", "TX-other"]);
  },
  async "client.pay"({ client, service }) {
    const outcome = await client.pay(request, async () => ({ senderGatewayTransactionId: "TX-new" }));
    expect(outcome.status).toBe("paid");
    expect(service.payments).toHaveLength(counts.payments + 1);
  },
  async flow(setting) {
    const { status } = await runFlow(setting);
    expect([status, setting.service.payments.length]).toEqual(["paid", counts.payments + 1]);
  },
  async "flow, response lost"(setting) {
    setting.service.losesNextResponse = true;
    const { status } = await runFlow(setting);
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
    // The first hour after midnight, in which one of the ledger's entries has no payment, and one payment no entry.
    const from = firstMs + 3_600_000;
    const own = service.payments.slice(0, 104).map((payment, index) => ({
      senderGatewayTransactionId: index === 70 ? "TX-lost" : String(payment.senderGatewayTransactionId),
      bookedAt: new Date(firstMs + index * 60_000),
      senderAmount: "110.5",
    }));
    const found = await collect(
      reconcilePayments(client, own, { from: new Date(from), to: new Date(from + 1_800_000) }),
    );
    expect(found.map(({ type }) => type).toSorted()).toEqual(["missing-here", "missing-there"]);
  },
} satisfies Record<string, (setting: Setting) => Promise<void>>;

type Feature = keyof typeof features;

/** Cells that can't work, and the code of the error that says why. Every other cell must work. */
const exceptions: Readonly<Record<string, Partial<Record<Feature, string>>>> = {
  "newest first, _sort ignored": { "providers, iterated": "paging_no_token" },
  "pages of 10 at most": { "providers, iterated": "paging_no_token" },
  "_sort refused": {
    "payments, newest first": "http_400",
    "providers, iterated": "paging_no_token",
  },
  "_sort ignored": { "payments, newest first": "paging_order", "providers, iterated": "paging_no_token" },
  "no right to list payments": {
    "payments, iterated": "http_403",
    "payments, newest first": "http_403",
    "payments, in pages of 200": "http_403",
    "CLI list": "http_",
    "flow, response lost": "not-found",
    watch: "http_403",
    reconcile: "http_403",
  },
  "no paging tokens": {
    "payments, iterated": "paging_no_token",
    "payments, newest first": "paging_no_token",
    "payments, in pages of 200": "paging_no_token",
    "CLI list": "paging_no_token",
    watch: "paging_no_token",
    reconcile: "paging_no_token",
  },
};

describe.each(Object.keys(services))("%s", (name) => {
  const { privateKey } = signingKeysOf("gateway");

  it.concurrent.each(Object.keys(features) as Feature[])("%s", async (feature) => {
    await using service = await openService(services[name] ?? {}, counts);
    const auth = { accessToken: async () => "token" };
    await using client = new CrossBorderClient({ baseUrl: service.baseUrl, auth, signingKey: privateKey });
    const work = features[feature]({ service, client });
    const code = exceptions[name]?.[feature];
    if (code === undefined) await work;
    else await expect(work).rejects.toMatchObject({ code });
  });
});
