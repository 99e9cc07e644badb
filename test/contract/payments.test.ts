import {
  BadRequestError,
  exactExchangeRate,
  exchangeRate,
  OutcomeUnknownError,
  type RequestSigner,
  signRequest,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "cross-border-payments";
import { MemoryJournal, PaymentFlow, type TakeFundsByKey } from "cross-border-payments/flow";
import { type OwnEntry, reconcilePayments, watchPayments } from "cross-border-payments/reconcile";
import { describe, expect, it, vi } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { errorOf } from "../support/error-of.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { type Harness, harnesses, openPayer } from "./harness.js";

const take = () => ({ senderGatewayTransactionId: "TX-1" });

const paymentsTo = ({ requests }: Harness) => requests.filter(({ name }) => name === "payments.create");

describe.each(harnesses)("$name", ({ open }) => {
  it("pays in two steps, with the base path in the signed text", async () => {
    const harness = await open({ basePath: "/gateway/v1" });
    const { client, keys } = await openPayer(harness);
    const outcome = await client.pay(intentRequest, (intent) => {
      expect(intent).toMatchObject({ ...intentRequest, senderAmount: expect.stringMatching(/^\d+\.\d\d$/) });
      expect(exchangeRate(intent, { scale: 4 })).toMatch(/^0\.006\d$/);
      expect(exactExchangeRate(intent, { scale: 4 })).toMatch(/^0\.006\d$/);
      return take();
    });
    if (outcome.status !== "paid") throw new Error("was not paid");
    const { payment } = outcome;
    expect(payment).toMatchObject({
      senderGatewayStatus: "processed",
      receiverGatewayStatus: "pending",
      receiverGatewayTransactionId: "",
      senderGatewayTransactionId: "TX-1",
      creationRequestUrl: "/gateway/v1/payments",
    });
    expect(await verifyPaymentRecord(payment, { publicKey: keys.publicKey })).toBe(true);
    const { creationRequestUrl: path, creationRequestBody: body } = payment;
    expect(payment.creationRequestSignatureBase64).toBe(await signRequest({ key: keys.privateKey, path, body }));
  });

  it("takes no money when the client is closed while the intent is on its way", async () => {
    const harness = await open();
    const { keys } = await openPayer(harness);
    const taking = vi.fn(take);
    let isClosing = false;
    const client = harness.client({
      signingKey: keys.privateKey,
      on: { response: () => void (isClosing && client.close()) },
    });
    // From here on the key needs no trial signature, which a closed client refuses too.
    await client.pay(intentRequest, () => null);
    isClosing = true;
    expect(await errorOf(client.pay(intentRequest, taking))).toMatchObject({ code: "client_closed", effect: "none" });
    expect(taking).not.toHaveBeenCalled();
  });

  it("says that nothing was paid when the signature is of another key", async () => {
    const harness = await open();
    await openPayer(harness);
    const { privateKey } = signingKeysOf("stranger");
    const client = harness.client({ signingKey: privateKey });
    const error = await errorOf(client.pay(intentRequest, take));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({
      effect: "none",
      funds: { senderGatewayTransactionId: "TX-1" },
      signed: { path: "/payments", bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect((await client.payments.list()).items).toEqual([]);
    expect(harness.problems.splice(0)).toEqual([
      "POST /payments: the signature is not the gateway's over path and body",
    ]);
  });

  it("sends a payment once when its response is lost, and returns what is needed to find it", async () => {
    const harness = await open({
      onResponse: ({ name }) => (name === "payments.create" ? Response.error() : undefined),
    });
    const { client } = await openPayer(harness);
    const error = await errorOf<OutcomeUnknownError>(client.pay(intentRequest, take));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ effect: "possible", attempts: 1, funds: { senderGatewayTransactionId: "TX-1" } });
    expect(paymentsTo(harness)).toHaveLength(1);
    const [payment] = (await client.payments.list()).items;
    expect(payment?.creationRequestSignatureBase64).toBe(error.request.signature);
    expect(payment?.creationRequestBody).toBe(error.request.body);
  });

  it("searches, watches, and reconciles by described parameters alone", async () => {
    const harness = await open({
      pageSize: 3,
      onResponse: ({ name }) => (name === "payments.create" ? Response.error() : undefined),
    });
    const { client } = await openPayer(harness);
    const takeFunds: TakeFundsByKey = ({ key }) => ({ senderGatewayTransactionId: key, replayed: false });
    const bank = { takeFunds, releaseFunds: () => {} };
    const flow = new PaymentFlow({ client, journal: new MemoryJournal(), readBackDelayMs: 10, ...bank });
    const keys = ["a", "b", "c", "d", "e"];
    const own: OwnEntry[] = [];
    for (const key of keys) {
      expect(await flow.run(key, intentRequest)).toMatchObject({ status: "paid" });
      own.push({ senderGatewayTransactionId: key, bookedAt: new Date() });
    }
    const seen: string[] = [];
    for await (const { payment } of watchPayments(client, { everyMs: 10 })) {
      seen.push(payment.senderGatewayTransactionId);
      if (seen.length === keys.length) break;
    }
    expect(seen).toEqual(keys);
    const from = new Date(Date.now() - 60_000);
    for await (const difference of reconcilePayments(client, own, { from, to: new Date() }))
      expect.unreachable(difference.type);
    expect(paymentsTo(harness)).toHaveLength(keys.length);
  });

  it("waits as long as a 429 asks and sends the same bytes and signature again", async () => {
    const refusal = { error: "too_many_requests", message: "Wait a little" };
    let refusals = 1;
    const harness = await open({
      onRequest: ({ name }) =>
        name === "payments.create" && refusals-- > 0
          ? Response.json(refusal, { status: 429, headers: { "retry-after": "1" } })
          : undefined,
    });
    const { client } = await openPayer(harness);
    const started = performance.now();
    expect((await client.pay(intentRequest, take)).status).toBe("paid");
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
    const sent = paymentsTo(harness).map(({ body, headers }) => headers.get("x-service-signature-base64") + body);
    expect(sent).toEqual([sent[0], sent[0]]);
    expect((await client.payments.list()).items).toHaveLength(1);
  });

  it("records a deposit whose stored signature is valid", async () => {
    const harness = await open({ basePath: "/v0" });
    const { client, keys, liquidityProviderId } = await openPayer(harness);
    const deposit = await client.liquidityProviders.deposits(liquidityProviderId).create({
      ...{ paymentGatewayId: "beta-mobile", paymentGatewayTransactionId: "D-1", amount: "100.00", currency: "KES" },
    });
    expect(deposit.requestUri).toBe(`/v0/liquidity-providers/${encodeURIComponent(liquidityProviderId)}/deposits`);
    expect(await verifyDepositRecord(deposit, { publicKey: keys.publicKey })).toBe(true);
    expect(await verifyDepositRecord({ ...deposit, amount: "1000.00" }, { publicKey: keys.publicKey })).toBe(false);
  });

  it("signs with a key that stays in a key service, and refuses one that signs something else", async () => {
    const harness = await open();
    const { keys } = await openPayer(harness);
    const remote: RequestSigner = {
      publicKey: keys.publicKey,
      sign: (text) => signRequest({ key: keys.privateKey, path: "/", body: text.subarray(1) }),
    };
    expect((await harness.client({ signingKey: remote }).pay(intentRequest, take)).status).toBe("paid");
    const broken: RequestSigner = { ...remote, sign: async () => Buffer.alloc(256) };
    const error = await errorOf(harness.client({ signingKey: broken }).pay(intentRequest, take));
    // Before any money is taken.
    expect(error).toMatchObject({ name: "SigningError", effect: "none" });
    expect(error).not.toHaveProperty("funds");
    expect(paymentsTo(harness)).toHaveLength(1);
  });
});
