import { expect, it, onTestFinished, vi } from "vitest";
import { FlowCall } from "../../../src/flows/flow-call.js";
import { KnownPayments } from "../../../src/flows/looking/known-payments.js";
import { lookForPayment } from "../../../src/flows/looking/look-for-payment.js";
import { NewestPayment } from "../../../src/flows/looking/newest-payment.js";
import { toApiPromise } from "../../../src/http/api-promise.js";
import type { Payment } from "../../../src/resources/payments.js";
import { Alarm } from "../../../src/timing/alarm.js";
import { fakeApiClient } from "../../paging/fake-api-client.js";
import { intent } from "../gateway-client.js";
import { lookContext } from "../look-context.js";

const skewMs = 60_000;
const nowMs = Date.UTC(2026, 0, 1, 12);
const [minuteMs, hourMs, yearMs] = [60_000, 3_600_000, 365 * 86_400_000];
const call = new FlowCall(undefined, new Alarm(), undefined);

/** The tokens are times, as those of ULIDs are. */
function paymentAt(ms: number, more: Partial<Payment> = {}): Payment {
  const createdAt = new Date(ms).toISOString();
  const other = { senderGatewayTransactionId: `tx-${ms}`, creationRequestBody: `{"id":"pi-${ms}"}` };
  const times = { createdAt, updatedAt: createdAt, pagingToken: String(ms).padStart(16, "0") };
  return { ...intent, ...other, ...times, id: `p-${ms}`, creationRequestSignatureBase64: "", ...more } as Payment;
}

/** Lists what is in `payments` by then, in pages of 100 at most. */
function clientOf(payments: readonly Payment[]) {
  return fakeApiClient({
    call: (_operation, _ids, input) => {
      const { _size = 20, _after = "", _before = "9".repeat(17), _sort = "" } = input?.paging ?? {};
      const rows = payments
        .filter(({ pagingToken }) => pagingToken > _after && pagingToken < _before)
        .toSorted((one, other) => (one.pagingToken < other.pagingToken ? -1 : 1));
      if (_sort.endsWith(".desc")) rows.reverse();
      return toApiPromise(Promise.resolve(rows.slice(0, Math.min(100, _size)) as never), { response: undefined });
    },
  });
}

it.each([
  ["two minutes", 2 * minuteMs],
  ["an hour", hourMs],
  ["seventy years", 70 * yearMs],
])("finds a payment although another one was dated %s ahead before the money was asked for", async (_, aheadMs) => {
  vi.spyOn(Date, "now").mockReturnValue(nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  const listed = Array.from({ length: 150 }, (_, index) => paymentAt(nowMs - (index + 1) * 1000));
  listed.push(paymentAt(nowMs + aheadMs + 700));
  const client = clientOf(listed);
  const since = await new NewestPayment(client, { note: () => {} }, skewMs).mark(call);
  const claim = { body: JSON.stringify({ ...intent, senderGatewayTransactionId: "tx-own" }), signature: "b3du" };
  const made = paymentAt(nowMs + 500, { creationRequestSignatureBase64: claim.signature });
  const later = Array.from({ length: 250 }, (_, index) => paymentAt(nowMs + (index + 1) * 1000));
  const look = () => {
    const flow = { intent, senderGatewayTransactionId: "tx-own", claims: [claim], since, isTakenSince: true } as const;
    return lookForPayment(lookContext(client), call, flow, "decides");
  };
  listed.push(...later);
  expect(await look()).toMatchObject({ look: { complete: true, grounds: { mark: "met" } }, found: undefined });
  listed.push(made);
  expect((await look()).found).toBe(made);
});

it("finds a payment that was made in the hour that comes twice, where times have no zone", async () => {
  const inBerlin = (ms: number) => new Date(ms).toLocaleString("sv", { timeZone: "Europe/Berlin" }).replace(" ", "T");
  /** It keeps the local time, and its tokens are that. */
  const localAt = (ms: number, more: Partial<Payment> = {}) => {
    const local = inBerlin(ms);
    return paymentAt(ms, { createdAt: local, updatedAt: local, pagingToken: `${local}.${ms}`, ...more });
  };
  const secondHourMs = Date.UTC(2026, 9, 25, 1);
  const every20s = Array.from({ length: 1000 }, (_, index) => localAt(secondHourMs + (index - 500) * 20_000));
  const made = localAt(secondHourMs + 300_500, { creationRequestSignatureBase64: "b3du" });
  const isBefore = (ms: number) => every20s.filter(({ id = "" }) => Number(id.slice(2)) < ms);
  const since = await new NewestPayment(clientOf(isBefore(secondHourMs + 300_000)), { note: () => {} }, skewMs).mark(
    call,
  );
  const claims = [{ body: JSON.stringify({ ...intent, senderGatewayTransactionId: "tx-own" }), signature: "b3du" }];
  const flow = { intent, senderGatewayTransactionId: "tx-own", claims, since, isTakenSince: true } as const;
  const { found } = await lookForPayment(lookContext(clientOf([...every20s, made])), call, flow, "decides");
  expect(found).toBe(made);
});

it("knows of newer payments although one is dated ahead", () => {
  const known = new KnownPayments(0, skewMs);
  const ahead = paymentAt(Date.now() + yearMs);
  const newer = paymentAt(Date.now());
  for (const payment of [ahead, newer]) known.note(payment);
  expect(known.toBeListed().map(({ id }) => id)).toEqual([ahead.id, newer.id]);
});

it("takes no mark where everything that is asked for is dated ahead", async () => {
  const client = clientOf(Array.from({ length: 150 }, (_, index) => paymentAt(Date.now() + yearMs + index)));
  expect(await new NewestPayment(client, { note: () => {} }, skewMs).mark(call)).toBeNull();
});
