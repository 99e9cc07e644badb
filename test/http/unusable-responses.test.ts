import { describe, expect, it } from "vitest";
import type { HttpClient } from "../../src/http/http-client.js";
import { deposits } from "../../src/resources/deposits.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import {
  calls,
  errorOf,
  json,
  payment,
  paymentRecord,
  recordOf,
  type Step,
  scriptedClient,
} from "./scripted-transport.js";

const depositFields = { paymentGatewayTransactionId: "tx-1", amount: "1" };

const ownIdFields = { ...payment, id: "intent-1" };
const emptyRecord = Object.fromEntries(
  Object.keys(payments.create.record).map((name, at) => [name, at % 2 ? null : ""]),
);

const kinds = {
  ...calls,
  ownId: (client: HttpClient) => client.call(payments.create, [], { body: ownIdFields }),
  deposit: (client: HttpClient) => client.call(deposits.create, ["lp"], { body: depositFields }),
  list: (client: HttpClient) => client.call(exchangeRates.list, ["lp"]),
  request: (client: HttpClient) => client.request({ method: "POST", path: "/refunds" }),
};

describe("the error of a 2xx that can't be used", () => {
  it.each<[string, keyof typeof kinds, Step, string]>([
    ["a page in place of an update's response", "update", { text: "<html>" }, "it is a page of HTML"],
    ["a page in place of a record", "read", { text: "<html>" }, "it is not JSON"],
    ["a page in place of a response that nobody has described", "request", { text: "<html>" }, "it is not JSON"],
    ["a list in place of a record", "read", json([]), "it is not a record"],
    ["a record without an id", "read", json({ memo: "rent" }), "it is not a record: it has no id"],
    ["an empty id", "read", json({ id: "" }), "it is not a record: it has no id"],
    [
      "another's payment",
      "signed",
      json({ ...paymentRecord(), senderGatewayTransactionId: "tx-2" }),
      "its senderGatewayTransactionId is not the one that was sent",
    ],
    [
      "another's deposit",
      "deposit",
      json({ id: "1", paymentGatewayTransactionId: "tx-2" }),
      "its paymentGatewayTransactionId is not the one that was sent",
    ],
    ["the request", "ownId", json(ownIdFields), "it is the request"],
    [
      "the request, with what it lacks left empty",
      "ownId",
      json({ ...emptyRecord, ...ownIdFields, status: "queued" }),
      "it is the request",
    ],
    ["a response that broke off", "read", { text: '{"id":', broken: "cut-short" }, "the response broke off"],
  ])("says what is wrong with it: %s", async (_, kind, step, problem) => {
    const error = await errorOf(kinds[kind](scriptedClient([step]).client));
    expect(error).toMatchObject({ name: "UnexpectedResponseError", code: "unexpected_response" });
    expect(error.message).toContain(`, but ${problem}.`);
    expect(error.status).toBe(200);
  });

  it("is the reason of the retry that comes before it", async () => {
    const { client, events } = scriptedClient([{ text: "<html>" }, json({ id: "1" })]);
    await calls.read(client);
    expect(events.retry.mock.calls).toEqual([[expect.objectContaining({ attempt: 1, reason: "unreadable" })]]);
  });
});

describe("a response that broke off", () => {
  const endings = ["cut-short", "too-large", "not-utf8", "timeout", "abort"] as const;

  it.each(endings)("can't be used where nobody has described it, however whole it looks: %s", async (broken) => {
    const { client, transport } = scriptedClient([{ text: '{"id":"1"}', broken }]);
    const error = await errorOf(kinds.request(client));
    expect(error).toMatchObject({ name: "UnexpectedResponseError", effect: "possible", attempts: 1 });
    expect(transport.sent).toHaveLength(1);
  });

  it("is not asked for again where it is too large", async () => {
    const { client, transport } = scriptedClient([{ text: '{"id":"1",', broken: "too-large" }]);
    const error = await errorOf(calls.read(client));
    expect(error.message).toContain("the response is larger than maxResponseBytes allows");
    expect(transport.sent).toHaveLength(1);
  });
});

describe("a record", () => {
  it("may have the id that was sent, where the service has added to it", async () => {
    const record = { ...ownIdFields, createdAt: "2026-01-01T00:00:00Z" };
    const { client } = scriptedClient([json(record)], { validation: "off" });
    expect(await kinds.ownId(client)).toEqual(record);
  });

  it("is the one that was made where the request had nothing to know it by", async () => {
    const record = { id: "1", paymentGatewayTransactionId: "given by the service" };
    const { client } = scriptedClient([json(record)]);
    expect(await client.call(deposits.create, ["lp"], { body: { amount: "1" } })).toEqual(record);
  });

  it("is as described under strict validation where nothing differs", async () => {
    const record = recordOf(paymentIntents.get.record);
    const { client, transport } = scriptedClient([json(record)], { validation: "strict" });
    expect(await calls.read(client)).toEqual(record);
    expect(transport.sent).toHaveLength(1);
  });

  it("is known by its id alone where the description says of no field that it comes back", async () => {
    // What JavaScript makes of a key that is undefined.
    const record = { id: "1", undefined: 1 };
    expect(await calls.create(scriptedClient([json(record)]).client)).toEqual(record);
  });

  it("is this payment's where its transaction comes back as a number", async () => {
    const sent = { ...payment, senderGatewayTransactionId: "17" };
    const pay = (transaction: unknown) => {
      const record = { ...paymentRecord(), senderGatewayTransactionId: transaction };
      return scriptedClient([json(record)]).client.call(payments.create, [], { body: sent });
    };
    expect(await pay(17)).toMatchObject({ id: "payment-1" });
    for (const other of [18, ["17"], "017"]) expect(await errorOf(pay(other))).toMatchObject({ effect: "possible" });
  });
});

describe("a response of many levels", () => {
  const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;

  it.each(["read", "list", "signed"] as const)("can't be used above 100: %s", async (kind) => {
    const record = { ...paymentRecord(), extras: nested(kind === "list" ? 98 : 99) };
    const response = (extras: unknown) => json(kind === "list" ? [{ ...record, extras }] : { ...record, extras });
    await kinds[kind](scriptedClient([response(record.extras)], { validation: "off", maxListBytes: 9999 }).client);
    const error = await errorOf(kinds[kind](scriptedClient([response([record.extras])]).client));
    expect(error.message).toContain("it has more than 100 levels");
    expect(error.effect).toBe(kind === "signed" ? "possible" : "none");
  });
});
