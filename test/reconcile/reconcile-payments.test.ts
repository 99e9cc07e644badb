import {
  type Discrepancy,
  type OwnEntry,
  type ReconcileOptions,
  reconcilePayments,
} from "cross-border-payments/reconcile";
import fc from "fast-check";
import { expect, it } from "vitest";
import { refusal } from "../paging/select-page.js";
import { runs } from "../support/thorough.js";
import {
  type Features,
  halfHourly,
  type ModelPayment,
  ModelService,
  noonMs,
  ordinaryServices,
  startMs,
} from "./model-service.js";

const dayMs = 86_400_000;
const fromMs = startMs - dayMs;
const day = { from: new Date(fromMs) };
async function discrepanciesOf(
  service: ModelService,
  own: Parameters<typeof reconcilePayments>[1],
  options: Partial<ReconcileOptions> = {},
): Promise<Discrepancy[]> {
  const found: Discrepancy[] = [];
  for await (const discrepancy of reconcilePayments(service.client, own, { ...day, ...options }))
    found.push(discrepancy);
  return found;
}

/** What the bank booked for these payments. */
function entriesOf(service: ModelService, payments: readonly ModelPayment[] = halfHourly): OwnEntry[] {
  return service.all().map(({ senderGatewayTransactionId }, index) => ({
    senderGatewayTransactionId,
    bookedAt: new Date(payments[index]?.createdMs ?? 0),
    senderAmount: "10",
  }));
}

it("gives each difference, with amounts compared by value and ids as text", async () => {
  const payments = halfHourly.slice(-40);
  const service = new ModelService(payments, { ids: "numbers" }, noonMs);
  const [, , ...own] = entriesOf(service, payments);
  const differing = { senderGatewayTransactionId: "T-1", paymentId: "1", senderAmount: "10.01" } satisfies OwnEntry;
  const other = { senderGatewayTransactionId: "T-2", paymentId: "1", senderAmount: "10.0" } satisfies OwnEntry;
  expect(await discrepanciesOf(service, [differing, other, ...own])).toEqual([
    {
      ...{ type: "different", entry: differing, payment: expect.objectContaining({ id: 1 }) },
      differences: [{ field: "senderAmount", here: "10.01", there: "10.00" }],
    },
    {
      ...{ type: "different", entry: other, payment: expect.objectContaining({ id: 2 }) },
      differences: [{ field: "paymentId", here: "1", there: "2" }],
    },
  ]);
});

it("shows at most 100 of each side of a duplicate, and counts all", async () => {
  const payments = Array.from({ length: 150 }, (_, index) => ({
    createdMs: fromMs + index * 1000,
    fields: { senderGatewayTransactionId: "T" },
  }));
  const entries = Array.from({ length: 120 }, () => ({ senderGatewayTransactionId: "T" }));
  const [found, ...rest] = await discrepanciesOf(new ModelService(payments, {}, noonMs), entries);
  expect(found).toMatchObject({ type: "duplicate", entryCount: 120, paymentCount: 150 });
  expect(found).toMatchObject({ entries: { length: 100 }, payments: { length: 100 } });
  expect(rest).toEqual([]);
});

it("reports payments without a transaction id one by one", async () => {
  const payments = [1, 2].map((index) => ({
    createdMs: fromMs + index * 1000,
    fields: { senderGatewayTransactionId: "" },
  }));
  const found = await discrepanciesOf(new ModelService(payments, {}, noonMs), []);
  expect(found.map(({ type }) => type)).toEqual(["missing-here", "missing-here"]);
});

it("never reports missing-there from an incomplete reading", async () => {
  const service = new ModelService(halfHourly, { cap: 10, bounds: "ignored" }, noonMs);
  await expect(discrepanciesOf(service, entriesOf(service))).rejects.toMatchObject({ name: "PagingError" });
  const refused = new ModelService(halfHourly, { failure: () => refusal(403) }, noonMs);
  await expect(discrepanciesOf(refused, entriesOf(refused))).rejects.toMatchObject({ code: "http_403" });
});

it("ends with the caller's signal, requests nothing before all entries are read, and takes them from a cursor", async () => {
  const service = new ModelService(halfHourly, {}, noonMs);
  const controller = new AbortController();
  async function* cursor() {
    for (const entry of entriesOf(service)) {
      yield entry;
      expect(service.requests).toEqual([]);
    }
    controller.abort();
    yield { senderGatewayTransactionId: "one more" };
  }
  const { signal } = controller;
  await expect(discrepanciesOf(service, cursor(), { signal })).rejects.toMatchObject({ code: "aborted" });
  expect(service.requests).toEqual([]);
});

it("refuses payments of several sending gateways unless it knows its own", async () => {
  const payments = halfHourly.map((payment, index) => ({
    ...payment,
    fields: { senderGatewayId: index % 2 === 0 ? "alpha" : "beta" },
  }));
  const service = new ModelService(payments, {}, noonMs);
  const own = entriesOf(service, payments)
    .filter((_, index) => index % 2 === 0)
    .map(({ senderAmount: _, ...entry }) => entry);
  await expect(discrepanciesOf(service, own)).rejects.toMatchObject({ code: "invalid_argument" });
  expect(await discrepanciesOf(service, own, { senderGatewayId: ["alpha", "a-1"] })).toEqual([]);
});

it.each<[string, unknown, RegExp]>([
  ["no object", 7, /own entry 2: it must be an object/],
  ["an unknown field", { senderGatewayTransactionId: "T", amount: "1" }, /own entry 2: there is no field "amount"/],
  ["no transaction id", { senderAmount: "1" }, /senderGatewayTransactionId must be a string/],
  ["a number as an amount", { senderGatewayTransactionId: "T", senderAmount: 1 }, /senderAmount must be a decimal/],
  ["a time without a zone", { senderGatewayTransactionId: "T", bookedAt: "2026-03-02T12:00:00" }, /bookedAt must be/],
])("refuses an entry with %s before anything is requested", async (_, entry, message) => {
  const service = new ModelService(halfHourly, {}, noonMs);
  const own = [{ senderGatewayTransactionId: "first" }, entry] as OwnEntry[];
  await expect(discrepanciesOf(service, own)).rejects.toThrow(message);
  expect(service.requests).toEqual([]);
});

const slackMs = 2000;
const toMs = fromMs + 10_000;
const timeMs = fc.integer({ min: fromMs - 6000, max: toMs + 6000 });
const transactionId = fc.integer({ min: 0, max: 40 }).map((number) => `T-${number}`);
const amount = fc.constantFrom("1.5", "1.50", "01.5", "2", "2.000");
const status = fc.constantFrom("pending", "reverted");

const entries = fc.array(
  fc.record(
    {
      senderGatewayTransactionId: transactionId,
      bookedAt: timeMs.map((ms) => new Date(ms).toISOString()),
      senderAmount: amount,
      receiverGatewayStatus: status,
    },
    { requiredKeys: ["senderGatewayTransactionId"] },
  ),
  { maxLength: 40 },
);

const listed = fc.array(fc.tuple(timeMs, transactionId, amount, status), { maxLength: 60, size: "max" }).map((rows) =>
  [...rows]
    .sort(([one], [other]) => one - other)
    .map(([createdMs, senderGatewayTransactionId, senderAmount, receiverGatewayStatus]): ModelPayment => {
      return { createdMs, fields: { senderGatewayTransactionId, senderAmount, receiverGatewayStatus } };
    }),
);

/** What the comparison is, without a thought of lists. */
function naive(own: readonly OwnEntry[], payments: readonly ModelPayment[]): string[] {
  const isWithin = (ms: number, slack = 0) => ms >= fromMs - slack && ms < toMs + slack;
  const isBooked = ({ bookedAt }: OwnEntry) => bookedAt === undefined || isWithin(Date.parse(String(bookedAt)));
  const read = payments.filter(({ createdMs }) => isWithin(createdMs, slackMs));
  const idOf = ({ fields }: ModelPayment) => String(fields?.senderGatewayTransactionId);
  const ids = new Set([...own.map((entry) => entry.senderGatewayTransactionId), ...read.map(idOf)]);
  return [...ids].flatMap((id) => {
    const here = own.filter((entry) => entry.senderGatewayTransactionId === id);
    const there = read.filter((payment) => idOf(payment) === id);
    if (!here.some(isBooked) && !there.some(({ createdMs }) => isWithin(createdMs))) return [];
    if (here.length > 1 || there.length > 1) return [`duplicate ${id} ${here.length} ${there.length}`];
    const [entry, fields] = [here[0], there[0]?.fields];
    if (fields === undefined) return [`missing-there ${id}`];
    if (entry === undefined) return [`missing-here ${id}`];
    const { senderAmount = fields.senderAmount, receiverGatewayStatus = fields.receiverGatewayStatus } = entry;
    const differing = [
      ...(Number(senderAmount) === Number(fields.senderAmount) ? [] : ["senderAmount"]),
      ...(receiverGatewayStatus === fields.receiverGatewayStatus ? [] : ["receiverGatewayStatus"]),
    ];
    return differing.length > 0 ? [`different ${id} ${differing}`] : [];
  });
}

function describeFound(found: Discrepancy): string {
  if (found.type === "missing-here") return `missing-here ${found.payment.senderGatewayTransactionId}`;
  if (found.type === "missing-there") return `missing-there ${found.entry.senderGatewayTransactionId}`;
  if (found.type === "different") {
    return `different ${found.entry.senderGatewayTransactionId} ${found.differences.map(({ field }) => field)}`;
  }
  const id = (found.entries[0] ?? found.payments[0])?.senderGatewayTransactionId;
  return `duplicate ${id} ${found.entryCount} ${found.paymentCount}`;
}

const services = fc.constantFrom(...ordinaryServices.map(([, features]) => features), { sort: "cut" } as Features);
const failing = fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 4 }).map((list) => new Set(list));

it("gives what a comparison of everything with everything gives, with any service, and with requests that fail", async () => {
  await fc.assert(
    fc.asyncProperty(
      ...([entries, listed, services, failing, fc.constantFrom(3, 20, 100)] as const),
      async (own, payments, features, failures, size) => {
        const service = new ModelService(payments, { ...features, failing: failures }, noonMs);
        const options = { from: new Date(fromMs), to: new Date(toMs), slackMs, size };
        const found = await discrepanciesOf(service, own, options);
        expect(found.map(describeFound).sort()).toEqual(naive(own, payments).sort());
      },
    ),
    { numRuns: runs(500) },
  );
});
