import { readdir } from "node:fs/promises";
import { type FundsFunctions, verifyFundsFunctions } from "cross-border-payments/testing";
import { expect, it } from "vitest";
import { Ledger } from "../../examples/fastify/ledger.js";
import { BackEnd, journalKind } from "./back-end.js";

const order = {
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
};
const timeout = 60_000;
const oneProcess = journalKind === "memory" ? " (in one process: this Node has no node:sqlite)" : "";

/** Two processes of the back end where they can share a journal; otherwise one, twice. */
async function twoProcesses(backEnd: BackEnd) {
  const first = await backEnd.process();
  return { first, second: journalKind === "memory" ? first : await backEnd.process() };
}

it(`quotes in one process, and pays exactly that in another${oneProcess}`, { timeout }, async () => {
  const correlationIds: (string | null)[] = [];
  const backEnd = await BackEnd.start({
    onRequest: ({ operation, headers }) => {
      if (operation === "payments.create") correlationIds.push(headers.get("x-correlation-id"));
      return undefined;
    },
  });
  const { first, second } = await twoProcesses(backEnd);
  const quote = await first.request("PUT", "/orders/order-1/quote", order);
  expect(quote).toMatchObject({ status: 200, body: { toPay: "100.28 EUR", receiver: "Baraka Receiver" } });
  const { intentId } = quote.body;
  expect(await second.request("GET", "/orders/order-1")).toMatchObject({ body: { status: "quoted", intentId } });
  expect(await second.request("POST", "/orders/order-1/confirm", { intentId: "another" })).toMatchObject({
    status: 409,
    body: { error: "quote_changed", effect: "none" },
  });
  const paid = await second.request("POST", "/orders/order-1/confirm", { intentId }, { "x-correlation-id": "web-7" });
  expect(paid).toMatchObject({ status: 200, body: { status: "paid" } });
  expect(correlationIds).toEqual(["web-7"]);
  expect(backEnd.practice.server.sandbox.payments).toMatchObject([{ senderAmount: "100.28" }]);
  // Again, in the other process: the same outcome, and nothing is paid.
  expect(await first.request("POST", "/orders/order-1/confirm", { intentId })).toEqual(paid);
  expect(await first.request("PUT", "/orders/order-2/quote", order)).toMatchObject({ status: 200 });
  expect(await first.request("DELETE", "/orders/order-2/quote")).toEqual({ status: 200, body: { status: "declined" } });
  expect(await first.request("GET", "/orders/unknown")).toMatchObject({ status: 404 });
  expect(await first.request("GET", "/health")).toMatchObject({
    status: 200,
    body: { service: "ok", flows: { paid: 1, declined: 1 } },
  });
  await backEnd.practice.server.close();
  expect(await first.request("GET", "/health")).toMatchObject({
    status: 503,
    body: { service: "connection_failed", flows: { paid: 1 } },
  });
  expect(await first.terminate()).toBe(0);
});

it(`ends well while a payment hangs, and another process finishes it${oneProcess}`, { timeout }, async () => {
  let isMade = () => {};
  const made = new Promise<void>((resolve) => {
    isMade = resolve;
  });
  let sent = 0;
  const backEnd = await BackEnd.start({
    // The service makes the payment, and its response never comes.
    onResponse: ({ operation }) => {
      if (operation !== "payments.create") return undefined;
      sent += 1;
      isMade();
      return new Promise(() => {});
    },
  });
  const { first, second } = await twoProcesses(backEnd);
  const { body } = await first.request("PUT", "/orders/order-1/quote", order);
  const confirmed = second.request("POST", "/orders/order-1/confirm", { intentId: body.intentId });
  await made;
  const exitCode = second.terminate();
  expect(await confirmed).toEqual({ status: 202, body: { status: "pending" } });
  // It ends itself with 1 when it is not done in time.
  expect(await exitCode).toBe(0);
  if (journalKind === "memory") return;
  expect(await first.settled("order-1")).toMatchObject({ status: 200, body: { status: "paid" } });
  expect([sent, backEnd.practice.server.sandbox.payments.length]).toEqual([1, 1]);
  expect(await first.terminate()).toBe(0);
});

it("holds a payment that nobody can tell about, and gives the money back as an operator decides", {
  timeout,
}, async () => {
  const backEnd = await BackEnd.start({
    onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
  });
  const process = await backEnd.process();
  const { body } = await process.request("PUT", "/orders/order-1/quote", order);
  // The customer only learns that it takes longer.
  expect(await process.request("POST", "/orders/order-1/confirm", { intentId: body.intentId })).toMatchObject({
    status: 202,
  });
  const [olga, petra, stranger] = [
    await process.operator("olga"),
    await process.operator("petra"),
    await process.operator("nobody"),
  ];
  expect(await stranger.ask("/desk")).toMatchObject({ status: 303, headers: { location: "/login" } });
  const desk = await eventually(
    () => olga.ask("/desk"),
    ({ body }) => body.includes("held"),
  );
  expect(desk.body).toContain("100.28 EUR");
  await olga.decide("order-1", "propose", { action: "release", why: "the service's support says that it never came" });
  // A release has to wait until the payment's request can no longer be sent.
  expect((await petra.decide("order-1", "approve", {})).body).toContain("Rejected: ");
  expect(await process.request("GET", "/orders/order-1")).toMatchObject({ status: 200, body: { status: "rejected" } });
  expect((await readdir(backEnd.ledgerFolder)).map((file) => file.split(".").slice(1).join(".")).sort()).toEqual([
    "released.json",
    "taken.json",
  ]);
  expect((await olga.ask("/desk")).body).toContain("Nothing is held or stuck.");
});

it("has a ledger that keeps the laws of takeFunds and releaseFunds", async () => {
  const backEnd = await BackEnd.start({});
  const ledger = await Ledger.open(backEnd.ledgerFolder);
  const movements = async () => {
    const files = await readdir(backEnd.ledgerFolder);
    return (
      files.filter((file) => file.includes("taken")).length - files.filter((file) => file.includes("released")).length
    );
  };
  const { notChecked } = await verifyFundsFunctions({
    takeFunds: ledger.takeFunds,
    releaseFunds: ledger.releaseFunds,
    intent: intent,
    ledger: movements,
  });
  expect(notChecked).toEqual(["that a decline is final: needs declined"]);
});

const intent: FundsFunctions["intent"] = {
  id: "intent-1",
  senderGatewayId: "alpha-bank",
  senderAmount: "100.28",
  senderCurrency: "EUR",
  senderAccount: "DE-0001",
  senderName: "Ada Sender",
  receiverGatewayId: "beta-mobile",
  receiverAmount: "15000.00",
  receiverCurrency: "KES",
  receiverAccount: "KE-7002",
  receiverName: "Baraka Receiver",
  receivingGatewayFee: "25.50",
  memo: "",
  extras: null,
};

async function eventually<T>(ask: () => Promise<T>, isDone: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await ask();
    if (isDone(value)) return value;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
