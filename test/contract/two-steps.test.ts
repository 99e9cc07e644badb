import {
  BadRequestError,
  CrossBorderClient,
  exactExchangeRate,
  exchangeRate,
  OutcomeUnknownError,
  type RequestSigner,
  signRequest,
  verifyDepositRecord,
  verifyPaymentRecord,
} from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { intentRequest } from "../support/corridor.js";
import { errorOf } from "../support/error-of.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { harnesses, prepareCorridor } from "./harness.js";

const take = () => ({ senderGatewayTransactionId: "TX-1" });

describe.each(harnesses)("$name", ({ open }) => {
  it("pays in two steps, with the base path in the signed text", async () => {
    await using harness = await open({ basePath: "/gateway/v1", fee: "150" });
    const { client, keys } = await prepareCorridor(harness);
    const outcome = await client.pay(intentRequest, (intent) => {
      // (15000.00 + 150) KES at 150 KES for 1 EUR.
      expect(intent).toMatchObject({
        senderAmount: "101.00",
        senderName: "Ada Sender",
        receiverName: "Baraka Receiver",
      });
      expect(exchangeRate(intent, { scale: 6 })).toBe("0.006733");
      expect(exactExchangeRate(intent, { scale: 6 })).toBe("0.006667");
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
    await using harness = await open();
    const { keys } = await prepareCorridor(harness);
    let taken = 0;
    let isClosing = false;
    const client = harness.client({
      signingKey: keys.privateKey,
      on: { response: () => void (isClosing && client.close()) },
    });
    // From here on the key needs no trial signature, which a closed client refuses too.
    await client.pay(intentRequest, () => null);
    isClosing = true;
    const paying = client.pay(intentRequest, () => {
      taken += 1;
      return take();
    });
    await expect(paying).rejects.toMatchObject({ code: "client_closed", effect: "none" });
    expect(taken).toBe(0);
  });

  it("says that nothing was paid when the signature is of another key", async () => {
    await using harness = await open();
    await prepareCorridor(harness);
    const { privateKey } = signingKeysOf("stranger");
    const error = await errorOf(harness.client({ signingKey: privateKey }).pay(intentRequest, take));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ effect: "none", funds: { senderGatewayTransactionId: "TX-1" } });
    expect(error).toMatchObject({ signed: { path: "/payments", bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/) } });
    expect(harness.sandbox.payments).toEqual([]);
  });

  it("sends a payment once when its response is lost, and returns what is needed to find it", async () => {
    await using harness = await open({
      onResponse: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
    });
    const { client } = await prepareCorridor(harness);
    const error = await errorOf(client.pay(intentRequest, take));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(error).toMatchObject({ effect: "possible", attempts: 1, funds: { senderGatewayTransactionId: "TX-1" } });
    const posts = harness.sandbox.requests.filter(({ operation }) => operation === "payments.create");
    expect(posts).toHaveLength(1);
    const { items } = await client.payments.list();
    const { request } = error as OutcomeUnknownError;
    expect(items.map((payment) => payment.creationRequestSignatureBase64)).toEqual([request.signature]);
    expect(items[0]?.creationRequestBody).toBe(request.body);
  });

  it("waits as long as a 429 asks and sends the same bytes and signature again", async () => {
    let refusals = 0;
    const seen: string[] = [];
    await using harness = await open({
      onRequest: ({ operation, headers, body }) => {
        if (operation !== "payments.create") return undefined;
        seen.push(headers.get("x-service-signature-base64") + body);
        if (++refusals > 1) return undefined;
        const error = { error: "too_many_requests", message: "Wait a little" };
        return Response.json(error, { status: 429, headers: { "retry-after": "1" } });
      },
    });
    const { client } = await prepareCorridor(harness);
    const started = performance.now();
    expect((await client.pay(intentRequest, take)).status).toBe("paid");
    expect(performance.now() - started).toBeGreaterThanOrEqual(990);
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(seen[1]);
    expect(harness.sandbox.payments).toHaveLength(1);
  });

  it("records a deposit whose stored signature is valid", async () => {
    await using harness = await open({ basePath: "/v0" });
    const { client, keys, liquidityProviderId } = await prepareCorridor(harness);
    const deposit = await client.liquidityProviders.deposits(liquidityProviderId).create({
      paymentGatewayId: "beta-mobile",
      paymentGatewayTransactionId: "D-1",
      amount: "100.00",
      currency: "KES",
    });
    expect(deposit.requestUri).toBe(`/v0/liquidity-providers/${liquidityProviderId}/deposits`);
    expect(await verifyDepositRecord(deposit, { publicKey: keys.publicKey })).toBe(true);
    expect(await verifyDepositRecord({ ...deposit, amount: "1000.00" }, { publicKey: keys.publicKey })).toBe(false);
  });

  it("signs with a key that stays in a key service, and refuses one that signs something else", async () => {
    await using harness = await open();
    const { keys } = await prepareCorridor(harness);
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
    expect(harness.sandbox.payments).toHaveLength(1);
  });
});

it("needs no signing key for a gateway that only reads", () => {
  expect(
    () => new CrossBorderClient({ baseUrl: "https://service.test", auth: { accessToken: () => "token" } }),
  ).not.toThrow();
});
