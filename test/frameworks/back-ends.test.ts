import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { deferred } from "../support/deferred.js";
import { until } from "../support/eventually.js";
import { Operator } from "./operator.js";
import { buildAll, frameworks, type Running, startBackEnd } from "./running.js";

const order = {
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
};
const problem = "application/problem+json";

beforeAll(buildAll, 900_000);

async function quote(process: Running, key: string): Promise<unknown> {
  const { body } = await process.request("PUT", `/orders/${key}/quote`, order);
  expect(body).toMatchObject({ toPay: "100.28 EUR", receiver: "Baraka Receiver" });
  return body.intentId;
}

describe.each(Object.keys(frameworks))("the back end with %s", (framework) => {
  it("pays an order once, however often it is confirmed, and says what is wrong with a request", async () => {
    const backEnd = await startBackEnd();
    const process = await backEnd.process(framework);
    for (const [body, detail] of [
      ["{", /./],
      [{ ...order, receiverAmount: 15_000 }, /receiverAmount/],
      [{ ...order, receiverAmount: "much" }, /receiverAmount/],
      [{ ...order, more: "than that" }, /more/],
    ] as const) {
      const refused = await process.request("PUT", "/orders/order-1/quote", body);
      expect(refused).toMatchObject({ status: 400, body: { status: 400, title: "Bad Request" } });
      expect([refused.type, refused.body.detail]).toEqual([
        expect.stringContaining(problem),
        expect.stringMatching(detail),
      ]);
    }
    expect(await process.request("GET", "/orders/order-1")).toMatchObject({ status: 404 });
    const intentId = await quote(process, "order-1");
    const confirm = (id: unknown) => process.request("POST", "/orders/order-1/confirm", { intentId: id });
    expect(await confirm("another")).toMatchObject({
      status: 409,
      body: { type: expect.stringMatching(/#quote_changed$/), code: "quote_changed", effect: "none" },
    });
    const [first, second] = await Promise.all([confirm(intentId), confirm(intentId)]);
    expect(first).toMatchObject({ status: 200, body: { status: "paid" } });
    expect(second).toEqual(first);
    expect(await confirm(intentId)).toEqual(first);
    expect(await process.request("GET", "/orders/order-1")).toEqual(first);
    expect(backEnd.practice.server.sandbox.payments).toMatchObject([{ senderAmount: "100.28" }]);
    expect(await backEnd.balance()).toBe("899.72");
    // One is the practice service's own: the back end has one client.
    expect(backEnd.practice.server.sandbox.tokenRequests).toHaveLength(2);
    expect(await process.terminate()).toBe(0);
  });

  it("asks the service for nothing more once the customer has left", async () => {
    let asked: IncomingMessage | undefined;
    const onStart = (message: unknown) => {
      const request: unknown = Reflect.get(Object(message), "request");
      if (/POST .*intent/.test(`${Reflect.get(Object(request), "method")} ${Reflect.get(Object(request), "url")}`))
        asked = request as IncomingMessage;
    };
    subscribe("http.server.request.start", onStart);
    onTestFinished(() => void unsubscribe("http.server.request.start", onStart));
    const backEnd = await startBackEnd({
      onRequest: ({ operation }) => (operation === "paymentIntents.create" ? new Promise(() => {}) : undefined),
    });
    const process = await backEnd.process(framework);
    const customer = new AbortController();
    const quoted = process.request("PUT", "/orders/order-1/quote", order, customer.signal);
    quoted.catch(() => {});
    await until(() => asked !== undefined);
    expect(asked?.socket.destroyed).toBe(false);
    customer.abort();
    await expect(quoted).rejects.toThrow();
    // The client itself would wait for 30 s.
    await until(() => asked?.socket.destroyed);
    expect(await process.terminate()).toBe(0);
    expect(process.output).not.toMatch(/refused|failed/);
  });

  it("ends well while a payment hangs, and the next process finds it", async () => {
    const { promise: made, resolve: noteMade } = deferred();
    const backEnd = await startBackEnd({
      // The service makes the payment, and its response never comes.
      onResponse: ({ operation }) => {
        if (operation !== "payments.create") return undefined;
        noteMade();
        return new Promise(() => {});
      },
    });
    const process = await backEnd.process(framework);
    const intentId = await quote(process, "order-1");
    const confirmed = process.request("POST", "/orders/order-1/confirm", { intentId });
    await made;
    const exitCode = process.terminate();
    expect(await confirmed).toMatchObject({ status: 202, body: { status: "pending" } });
    expect(await exitCode).toBe(0);
    const another = await backEnd.process(framework);
    const paid = await until(
      () => another.request("GET", "/orders/order-1"),
      ({ status }) => status === 200,
    );
    expect(paid).toMatchObject({ body: { status: "paid" } });
    expect(backEnd.practice.server.sandbox.payments).toHaveLength(1);
    expect(await backEnd.balance()).toBe("899.72");
    expect(await another.terminate()).toBe(0);
  });

  it("lets two people who are logged in decide at the desk about a payment that nobody can tell about", async () => {
    const backEnd = await startBackEnd({
      onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
    });
    const process = await backEnd.process(framework);
    const intentId = await quote(process, "order-1");
    expect(await process.request("POST", "/orders/order-1/confirm", { intentId })).toMatchObject({ status: 202 });
    await until(async () => (await backEnd.balance()) !== "1000.00");
    const stranger = new Operator(process.url);
    expect(await stranger.ask("/desk")).toMatchObject({ status: 303, headers: { location: "/login" }, body: "" });
    expect(await stranger.ask("/desk?flow=order-1", { do: "propose" })).toMatchObject({ status: 401 });
    expect(await stranger.login("olga", "a guess")).toMatchObject({ status: 401 });
    expect(await stranger.ask("/desk")).toMatchObject({ status: 303 });
    const [olga, petra] = [new Operator(process.url), new Operator(process.url)];
    for (const [one, name] of [
      [olga, "olga"],
      [petra, "petra"],
    ] as const) {
      expect(await one.login(name)).toMatchObject({ status: 303, headers: { location: "/desk" } });
    }
    await until(async () => (await olga.ask("/desk")).body.includes("flow=order-1"));
    const why = "the service's support says that it never came: 4711";
    const proposed = await olga.decide("order-1", "review", { do: "propose", action: "release", why });
    expect(proposed.body).toContain("You proposed this. Another person must approve it.");
    expect((await petra.ask("/desk?flow=order-1", { do: "approve" }, "https://evil.example")).status).toBe(403);
    const decided = await petra.decide("order-1", "approve", {});
    expect(decided.body).toContain("Rejected by the operator");
    expect(await process.request("GET", "/orders/order-1")).toMatchObject({ body: { status: "rejected" } });
    expect(await backEnd.balance()).toBe("1000.00");
    expect(await process.terminate()).toBe(0);
  });
});
