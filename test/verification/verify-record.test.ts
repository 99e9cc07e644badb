import { type KeyObject, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { Deposit } from "../../src/resources/deposits.js";
import type { Payment } from "../../src/resources/payments.js";
import { publicKeyToBase64 } from "../../src/signing/keys.js";
import { payment as somePayment } from "../http/scripted-transport.js";
import { platforms, signingOn } from "../signing/signing-on.js";
import { base64, pkcs8, spki } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";

const gateway = keyPairOf("gateway");
const stranger = keyPairOf("stranger");

const paymentRequest = { ...somePayment, memo: "" };

const depositRequest = {
  paymentGatewayId: "bank-a",
  paymentGatewayTransactionId: "D-1",
  amount: "5000",
  currency: "USD",
  blockchainTransactionId: "",
};

/** Made by Node alone, so that the package's signing is not checked by itself. */
function signatureOf({ key, path, body }: { key: KeyObject; path: string; body: string }): string {
  return base64(sign("sha256", Buffer.from(path + body), key));
}

function storedPayment(
  body: object | string = { id: "intent-1", ...paymentRequest, extras: { note: 1 } },
  by = gateway,
  creationRequestUrl = "/gateway/v1/payments",
): Payment {
  const creationRequestBody = typeof body === "string" ? body : JSON.stringify(body);
  const request = { key: by.privateKey, path: creationRequestUrl, body: creationRequestBody };
  return {
    ...paymentRequest,
    id: "payment-9",
    senderGatewayStatus: "processed",
    blockchainTransactionId: "0xabc",
    creationRequestUrl,
    creationRequestBody,
    creationRequestPublicKeyBase64: publicKeyToBase64(by.publicKey),
    creationRequestSignatureBase64: signatureOf(request),
    extras: null,
    // The other fields are the service's own.
  } as Payment;
}

function storedDeposit(body: object = depositRequest, requestUri = "/liquidity-providers/lp-1/deposits"): Deposit {
  const requestBody = JSON.stringify(body);
  return {
    ...depositRequest,
    id: "deposit-3",
    requestUri,
    requestBody,
    paymentGatewayPublicKeyBase64: publicKeyToBase64(gateway.publicKey),
    requestSignatureBase64: signatureOf({ key: gateway.privateKey, path: requestUri, body: requestBody }),
  };
}

const payment = storedPayment();
const deposit = storedDeposit();
const fields = Object.keys(paymentRequest) as (keyof typeof paymentRequest)[];
const signedWith = (changes: object) => storedPayment({ ...paymentRequest, ...changes });
const signedAt = (path: string) => storedPayment(paymentRequest, gateway, path);
const freeOfFee = (receivingGatewayFee: string) => ({
  ...signedWith({ receivingGatewayFee: "0" }),
  receivingGatewayFee,
});

describe.for(platforms)("on the platform %s", async (platform) => {
  const { verifyDepositRecord, verifyPaymentRecord } = await signingOn(platform);

  describe("verifyPaymentRecord", () => {
    it.each<[what: string, record: Payment]>([
      ["the payment has its own id and no extras", payment],
      ["a stranger made it whole", storedPayment(paymentRequest, stranger)],
      ["amounts are written in another way", { ...payment, senderAmount: "012.5", receiverAmount: "10" }],
      ...["0.00", "-0"].map((fee): [string, Payment] => [`zero is ${fee}`, freeOfFee(fee)]),
      ["an account begins with zeros", { ...signedWith({ senderAccount: "0100" }), senderAccount: "0100" }],
      ["the memo was left out", signedWith({ memo: undefined })],
      ["the memo was null", signedWith({ memo: null })],
      ["the memo is null", { ...payment, memo: null as unknown as string }],
      ["the memo is a number", { ...signedWith({ memo: 5 }), memo: 5 as unknown as string }],
      ...["/payments", "/gateway/v1/payments/", "/gateway/v1/payments?trace=/x"].map((path): [string, Payment] => [
        `it was signed for ${path}`,
        signedAt(path),
      ]),
      [
        "the stored URL is absolute",
        { ...signedAt("/payments"), creationRequestUrl: "https://service.example/payments" },
      ],
    ])("is true if %s", async (_, record) => {
      expect(await verifyPaymentRecord(record)).toBe(true);
    });

    it.each<[what: string, record: Payment]>([
      ...fields.map((field): [string, Payment] => [
        `${field} was altered`,
        { ...payment, [field]: `${payment[field]}1` },
      ]),
      ...fields
        .filter((field) => field !== "memo")
        .map((field): [string, Payment] => [`${field} was not signed`, signedWith({ [field]: undefined })]),
      ["an amount differs far behind the point", { ...payment, senderAmount: "12.500000000000000000000000000001" }],
      ["zero is nearly zero", freeOfFee("0.01")],
      ["an account lost its zeros", { ...signedWith({ senderAccount: "0100" }), senderAccount: "100" }],
      ...[2 ** 53, ["a"]].map((memo): [string, Payment] => [
        `the memo is ${memo}`,
        { ...signedWith({ memo }), memo: memo as unknown as string },
      ]),
      ...["[]", "null", "text", ""].map((body): [string, Payment] => [`the body is ${body}`, storedPayment(body)]),
      [
        "the body inherits a field",
        storedPayment(
          JSON.stringify({ ...paymentRequest, senderAccount: undefined }).replace(
            "{",
            `{"__proto__":{"senderAccount":"${paymentRequest.senderAccount}"},`,
          ),
        ),
      ],
    ])("is false if %s, unless only the request is verified", async (_, record) => {
      expect(await verifyPaymentRecord(record)).toBe(false);
      expect(await verifyPaymentRecord(record, { compareFields: false })).toBe(true);
    });

    it.each<[what: string, record: Payment]>([
      ...(["creationRequestUrl", "creationRequestBody", "creationRequestSignatureBase64"] as const).map(
        (field): [string, Payment] => [`${field} was altered`, { ...payment, [field]: `${payment[field]} ` }],
      ),
      ...["/gateway/v1/payments/trial", "/v1/mypayments", "/trial?of=/payments", "/", "v1/payments"].map(
        (path): [string, Payment] => [`it was signed for ${path}`, signedAt(path)],
      ),
      [
        "a part of the path stands in the body",
        {
          ...payment,
          creationRequestUrl: "/gateway/v1/paymen",
          creationRequestBody: `ts${payment.creationRequestBody}`,
        },
      ],
      ...[publicKeyToBase64(stranger.publicKey), "", "no key", base64(pkcs8(gateway.privateKey))].map(
        (key, index): [string, Payment] => [
          `the stored key isn't the signer's (${index})`,
          { ...payment, creationRequestPublicKeyBase64: key },
        ],
      ),
    ])("is false in any case if %s", async (_, record) => {
      for (const compareFields of [true, false]) {
        expect(await verifyPaymentRecord(record, { compareFields })).toBe(false);
      }
    });

    it.each([
      ["PEM", spki(gateway.publicKey)],
      ["Base64", publicKeyToBase64(gateway.publicKey)],
      ["a KeyObject", gateway.publicKey],
    ])("takes the trusted key as %s, and knows it in whatever form the record has it", async (_, publicKey) => {
      const windows = base64(spki(gateway.publicKey).replaceAll("\n", "\r\n"));
      const rewritten = { ...payment, creationRequestPublicKeyBase64: windows };
      expect(await verifyPaymentRecord(payment, { publicKey })).toBe(true);
      expect(await verifyPaymentRecord(rewritten, { publicKey })).toBe(true);
      expect(await verifyPaymentRecord(storedPayment(paymentRequest, stranger), { publicKey })).toBe(false);
    });

    it.each([
      [{ publicKey: "bank-a" }, /^publicKey is (?:text that is not|a file)/],
      [{ publicKey: gateway.privateKey }, /^publicKey is a private key/],
      [{ compareFields: "no" }, /^compareFields must be true or false; /],
    ])("refuses the options %o", async (options, message) => {
      const verdict = verifyPaymentRecord(payment, options as object);
      await expect(verdict).rejects.toThrow(message);
      await expect(verdict).rejects.toMatchObject({ code: "invalid_argument" });
    });

    it.each([undefined, null, "text"])("refuses %j in place of a record", async (other) => {
      const verdict = verifyPaymentRecord(other as unknown as Payment);
      await expect(verdict).rejects.toThrow(/^the record must be .*; got (undefined|null|a string)$/);
    });
  });

  it.each([
    [undefined, "undefined"],
    [null, "null"],
    [{}, "an object"],
  ])("a stored field that is %j is refused by its name", async (value, found) => {
    const verdicts = {
      creationRequestUrl: verifyPaymentRecord,
      creationRequestBody: verifyPaymentRecord,
      creationRequestPublicKeyBase64: verifyPaymentRecord,
      creationRequestSignatureBase64: verifyPaymentRecord,
      requestUri: verifyDepositRecord,
      requestBody: verifyDepositRecord,
      paymentGatewayPublicKeyBase64: verifyDepositRecord,
      requestSignatureBase64: verifyDepositRecord,
    };
    for (const [field, verify] of Object.entries(verdicts)) {
      await expect(verify({ ...deposit, ...payment, [field]: value } as Deposit & Payment)).rejects.toThrow(
        new InvalidArgumentError(`${field} must be the text that the service stored; got ${found}`),
      );
    }
  });

  describe("verifyDepositRecord", () => {
    const blockchainTransactionId = "0xabc";
    const path = "/liquidity-providers/a%2fb/../deposits?x=http://other.example/y";

    it.each<[what: string, record: Deposit]>([
      ["it is what was signed", deposit],
      ["the amount is written in another way", { ...deposit, amount: "5000.00" }],
      ["the service filled in the blockchain transaction", { ...deposit, blockchainTransactionId }],
      [
        "a blockchain transaction was signed",
        { ...storedDeposit({ ...depositRequest, blockchainTransactionId }), blockchainTransactionId },
      ],
      ...["", "https://service.example", "HTTP://127.0.0.1:8080"].map((host): [string, Deposit] => [
        `the host of the URI is "${host}"`,
        { ...storedDeposit(depositRequest, path), requestUri: host + path },
      ]),
    ])("is true if %s", async (_, record) => {
      expect(await verifyDepositRecord(record)).toBe(true);
      expect(await verifyDepositRecord(record, { publicKey: gateway.publicKey })).toBe(true);
      expect(await verifyDepositRecord(record, { publicKey: stranger.publicKey })).toBe(false);
    });

    it.each<[what: string, record: Deposit, isSigned: boolean]>([
      ["paymentGatewayId was altered", { ...deposit, paymentGatewayId: "bank-x" }, true],
      ["the amount was updated", { ...deposit, amount: "50000" }, true],
      ["the amount was not signed", storedDeposit({ ...depositRequest, amount: undefined }), true],
      [
        "a signed blockchain transaction was replaced",
        { ...storedDeposit({ ...depositRequest, blockchainTransactionId }), blockchainTransactionId: "0xdef" },
        true,
      ],
      ["the URI has no path", { ...deposit, requestUri: "https://service.example" }, false],
      ["it was signed for another path", storedDeposit(depositRequest, "/liquidity-providers/lp-1/withdrawals"), false],
      ["the body was altered", { ...deposit, requestBody: JSON.stringify({ ...depositRequest, amount: "1" }) }, false],
      [
        "the key was replaced",
        { ...deposit, paymentGatewayPublicKeyBase64: publicKeyToBase64(stranger.publicKey) },
        false,
      ],
      ["the signature was replaced", { ...deposit, requestSignatureBase64: base64(Buffer.alloc(256)) }, false],
    ])("is false if %s", async (_, record, isSigned) => {
      expect(await verifyDepositRecord(record)).toBe(false);
      expect(await verifyDepositRecord(record, { compareFields: false })).toBe(isSigned);
    });
  });
});
