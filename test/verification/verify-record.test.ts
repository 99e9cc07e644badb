import { type KeyObject, sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { Deposit } from "../../src/resources/deposits.js";
import type { Payment } from "../../src/resources/payments.js";
import { publicKeyToBase64 } from "../../src/signing/keys.js";
import { platforms, signingOn } from "../signing/signing-on.js";
import { base64, pkcs8, spki } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";

const gateway = keyPairOf("gateway");
const stranger = keyPairOf("stranger");

const paymentRequest = {
  senderGatewayId: "bank-a",
  senderAmount: "1250.50",
  senderCurrency: "USD",
  senderAccount: "100-200",
  senderName: "Žofie Nováková",
  receiverGatewayId: "bank-b",
  receiverAmount: "1000.00",
  receiverCurrency: "EUR",
  receiverAccount: "300-400",
  receiverName: "Bob",
  receivingGatewayFee: "2.5",
  memo: "",
  senderGatewayTransactionId: "T-1",
};

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
): Payment {
  const creationRequestUrl = "/gateway/v1/payments";
  const creationRequestBody = typeof body === "string" ? body : JSON.stringify(body);
  return {
    ...paymentRequest,
    id: "payment-9",
    createdAt: "2026-01-02T03:04:05.123456Z",
    updatedAt: "2026-01-02T03:04:05.123456Z",
    pagingToken: "17",
    receiverProcessingGatewayId: "bank-b",
    receiverGatewayTransactionId: "",
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    senderGatewayPublicKey: "",
    receiverGatewayPublicKey: "",
    senderGatewaySignature: "",
    receiverGatewaySignature: "",
    blockchainTransactionId: "0xabc",
    creationRequestUrl,
    creationRequestBody,
    creationRequestPublicKeyBase64: publicKeyToBase64(by.publicKey),
    creationRequestSignatureBase64: signatureOf({
      key: by.privateKey,
      path: creationRequestUrl,
      body: creationRequestBody,
    }),
    extras: null,
  };
}

function storedDeposit(body: object = depositRequest): Deposit {
  const requestUri = "/liquidity-providers/lp-1/deposits";
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

describe.for(platforms)("on the platform %s", async (platform) => {
  const { verifyDepositRecord, verifyPaymentRecord } = await signingOn(platform);

  describe("verifyPaymentRecord", () => {
    it("is true for a record that is what was signed, though the payment has its own id and no extras", async () => {
      expect(await verifyPaymentRecord(payment)).toBe(true);
    });

    it.each(Object.keys(paymentRequest))("is false when %s was altered after signing", async (field) => {
      const altered = { ...payment, [field]: `${payment[field as keyof typeof paymentRequest]}1` };
      expect(await verifyPaymentRecord(altered)).toBe(false);
      expect(await verifyPaymentRecord(altered, { compareFields: false })).toBe(true);
    });

    it.each(Object.keys(paymentRequest).filter((field) => field !== "memo"))(
      "is false when %s was not signed at all",
      async (field) => {
        const { [field as keyof typeof paymentRequest]: _, ...rest } = paymentRequest;
        expect(await verifyPaymentRecord(storedPayment(rest))).toBe(false);
      },
    );

    it.each(["creationRequestUrl", "creationRequestBody", "creationRequestSignatureBase64"] as const)(
      "is false when %s was altered",
      async (field) => {
        for (const compareFields of [true, false]) {
          expect(await verifyPaymentRecord({ ...payment, [field]: `${payment[field]} ` }, { compareFields })).toBe(
            false,
          );
        }
      },
    );

    const signedAt = (creationRequestUrl: string, creationRequestBody = payment.creationRequestBody): Payment => {
      const request = { key: gateway.privateKey, path: creationRequestUrl, body: creationRequestBody };
      const creationRequestSignatureBase64 = signatureOf(request);
      return { ...payment, creationRequestUrl, creationRequestBody, creationRequestSignatureBase64 };
    };

    it.each([
      "/payments",
      "/gateway/v1/payments/",
      "/gateway/v1/payments?trace=/x",
      "https://service.example/payments",
    ])("is true for what was signed for %s", async (url) => {
      const { creationRequestSignatureBase64 } = signedAt(url.replace("https://service.example", ""));
      const record = { ...payment, creationRequestUrl: url, creationRequestSignatureBase64 };
      expect(await verifyPaymentRecord(record)).toBe(true);
    });

    it.each([
      "/gateway/v1/payments/trial",
      "/gateway/v1/mypayments",
      "/gateway/v1/trial?of=/payments",
      "/",
      "v1/payments",
    ])("is false for what was signed for another path: %s", async (url) => {
      for (const compareFields of [true, false]) {
        expect(await verifyPaymentRecord(signedAt(url), { compareFields })).toBe(false);
      }
    });

    it("is false where a part of the path stands in the body", async () => {
      const { creationRequestUrl, creationRequestBody, ...others } = payment;
      const moved = {
        ...others,
        creationRequestUrl: creationRequestUrl.slice(0, -2),
        creationRequestBody: creationRequestUrl.slice(-2) + creationRequestBody,
      };
      expect(await verifyPaymentRecord(moved, { compareFields: false })).toBe(false);
    });

    it("is false when the stored key is another's, or not a key", async () => {
      for (const key of [publicKeyToBase64(stranger.publicKey), "", "no key", base64(pkcs8(gateway.privateKey))]) {
        expect(await verifyPaymentRecord({ ...payment, creationRequestPublicKeyBase64: key })).toBe(false);
      }
    });

    it("compares amounts by value", async () => {
      const same = { senderAmount: "01250.5", receiverAmount: "1000", receivingGatewayFee: "2.5000" };
      expect(await verifyPaymentRecord({ ...payment, ...same })).toBe(true);
      expect(await verifyPaymentRecord({ ...payment, senderAmount: "-1250.50" })).toBe(false);
      expect(await verifyPaymentRecord({ ...payment, senderAmount: "12505.0" })).toBe(false);
      expect(await verifyPaymentRecord({ ...payment, senderAmount: "1250.500000000000000000000000000001" })).toBe(
        false,
      );
    });

    it("knows zero in every spelling", async () => {
      const free = storedPayment({ ...paymentRequest, receivingGatewayFee: "0" });
      for (const receivingGatewayFee of ["0", "0.00", "-0", "-0.0", "000"]) {
        expect(await verifyPaymentRecord({ ...free, receivingGatewayFee })).toBe(true);
      }
      expect(await verifyPaymentRecord({ ...free, receivingGatewayFee: "0.01" })).toBe(false);
    });

    it("holds two amounts for equal exactly when their values are", async () => {
      const scaled = fc.tuple(fc.bigInt({ min: -2000n, max: 2000n }), fc.nat(4), fc.nat(3), fc.nat(3));
      const key = gateway.privateKey;
      const numeral = (units: bigint, scale: number, before: number, after: number) => {
        const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, "0");
        const [whole, fraction] = [digits.slice(0, digits.length - scale), digits.slice(digits.length - scale)];
        const tail = `${fraction}${"0".repeat(after)}`;
        return `${units < 0n ? "-" : ""}${"0".repeat(before)}${whole}${tail === "" ? "" : `.${tail}`}`;
      };
      await fc.assert(
        fc.asyncProperty(scaled, scaled, fc.boolean(), async (one, two, equal) => {
          const other = equal ? ([one[0], one[1], two[2], two[3]] as const) : two;
          const creationRequestBody = JSON.stringify({ ...paymentRequest, senderAmount: numeral(...one) });
          const creationRequestSignatureBase64 = signatureOf({
            key,
            path: payment.creationRequestUrl,
            body: creationRequestBody,
          });
          const record = {
            ...payment,
            creationRequestBody,
            creationRequestSignatureBase64,
            senderAmount: numeral(...other),
          };
          const sameValue = one[0] * 10n ** BigInt(other[1]) === other[0] * 10n ** BigInt(one[1]);
          expect(await verifyPaymentRecord(record)).toBe(sameValue);
        }),
      );
    });

    it("compares all other texts exactly", async () => {
      const numbers = storedPayment({ ...paymentRequest, senderAccount: "0100" });
      expect(await verifyPaymentRecord({ ...numbers, senderAccount: "100" })).toBe(false);
      expect(await verifyPaymentRecord({ ...numbers, senderAccount: "0100" })).toBe(true);
      expect(await verifyPaymentRecord({ ...payment, receiverName: "BOB" })).toBe(false);
    });

    it("holds a memo left out, null and empty for the same", async () => {
      const { memo: _, ...without } = paymentRequest;
      expect(await verifyPaymentRecord(storedPayment(without))).toBe(true);
      expect(await verifyPaymentRecord(storedPayment({ ...paymentRequest, memo: null }))).toBe(true);
      expect(await verifyPaymentRecord({ ...payment, memo: null as unknown as string })).toBe(true);
    });

    it.each<[memo: unknown, stored: unknown, isGenuine: boolean]>([
      [5, 5, true],
      [null, null, true],
      [2 ** 53, 2 ** 53, false],
      [["a"], ["a"], false],
      [true, true, false],
    ])("of a signed memo of %j and a stored one of %j is %s", async (memo, stored, isGenuine) => {
      const record = { ...storedPayment({ ...paymentRequest, memo }), memo: stored as string };
      expect(await verifyPaymentRecord(record)).toBe(isGenuine);
    });

    it.each(["[]", "null", "text", '"text"', "", "{"])("is false when the signed body is %j", async (body) => {
      expect(await verifyPaymentRecord(storedPayment(body))).toBe(false);
      expect(await verifyPaymentRecord(storedPayment(body), { compareFields: false })).toBe(true);
    });

    it("does not take fields that the body only inherits", async () => {
      const { senderAccount, ...rest } = paymentRequest;
      const body = JSON.stringify(rest).replace("{", `{"__proto__":{"senderAccount":"${senderAccount}"},`);
      expect(await verifyPaymentRecord(storedPayment(body))).toBe(false);
    });

    it("is true for a record that a stranger made whole, unless the trusted key is given", async () => {
      const forged = storedPayment(paymentRequest, stranger);
      expect(await verifyPaymentRecord(forged)).toBe(true);
      expect(await verifyPaymentRecord(forged, { publicKey: gateway.publicKey })).toBe(false);
    });

    it.each([
      ["PEM", spki(gateway.publicKey)],
      ["Base64", publicKeyToBase64(gateway.publicKey)],
      ["a KeyObject", gateway.publicKey],
    ])("takes the trusted key as %s, and knows it in whatever form the record has it", async (_name, publicKey) => {
      const windows = base64(spki(gateway.publicKey).replaceAll("\n", "\r\n"));
      expect(await verifyPaymentRecord(payment, { publicKey })).toBe(true);
      expect(await verifyPaymentRecord({ ...payment, creationRequestPublicKeyBase64: windows }, { publicKey })).toBe(
        true,
      );
    });

    it("refuses a trusted key that is not a public key", async () => {
      const withText = verifyPaymentRecord(payment, { publicKey: "bank-a" });
      await expect(withText).rejects.toThrow(/^publicKey is (?:text that is not|a file)/);
      const withPrivateKey = verifyPaymentRecord(payment, { publicKey: gateway.privateKey });
      await expect(withPrivateKey).rejects.toThrow("publicKey is a private key");
    });

    it.each([
      "creationRequestUrl",
      "creationRequestBody",
      "creationRequestPublicKeyBase64",
      "creationRequestSignatureBase64",
    ])("refuses a record without %s by name", async (field) => {
      for (const [value, found] of [
        [undefined, "undefined"],
        [null, "null"],
        [{}, "an object"],
      ] as const) {
        const verdict = verifyPaymentRecord({ ...payment, [field]: value } as Payment);
        await expect(verdict).rejects.toThrow(
          new InvalidArgumentError(`${field} must be the text that the service stored; got ${found}`),
        );
      }
    });

    it("refuses what is not a record", async () => {
      for (const other of [undefined, null, "text"]) {
        const verdict = verifyPaymentRecord(other as unknown as Payment);
        await expect(verdict).rejects.toThrow(/^the record must be .*; got (undefined|null|a string)$/);
      }
    });

    it("refuses options that are not what is described", async () => {
      const refusals = [
        [{ compareFields: "no" }, /^compareFields must be true or false; /],
        [{ compare: false }, /^unknown option "compare"\. Did you mean "compareFields"/],
        ["no options", /^the options must be /],
      ] as const;
      for (const [options, message] of refusals) {
        const verdict = verifyPaymentRecord(payment, options as object);
        await expect(verdict).rejects.toThrow(message);
        await expect(verdict).rejects.toMatchObject({ code: "invalid_argument" });
      }
    });
  });

  describe("verifyDepositRecord", () => {
    it("is true for a record that is what was signed", async () => {
      expect(await verifyDepositRecord(deposit)).toBe(true);
      expect(await verifyDepositRecord(deposit, { publicKey: gateway.publicKey })).toBe(true);
      expect(await verifyDepositRecord(deposit, { publicKey: stranger.publicKey })).toBe(false);
    });

    it.each([
      ["paymentGatewayId", "bank-x"],
      ["paymentGatewayTransactionId", "D-2"],
      ["amount", "50000"],
      ["currency", "EUR"],
      ["requestUri", "/liquidity-providers/lp-2/deposits"],
      ["requestBody", JSON.stringify({ ...depositRequest, amount: "1" })],
      ["paymentGatewayPublicKeyBase64", publicKeyToBase64(stranger.publicKey)],
      ["requestSignatureBase64", base64(Buffer.alloc(256))],
    ])("is false when %s was altered after signing", async (field, value) => {
      expect(await verifyDepositRecord({ ...deposit, [field]: value })).toBe(false);
    });

    it("compares the amount by value", async () => {
      expect(await verifyDepositRecord({ ...deposit, amount: "5000.00" })).toBe(true);
    });

    it("is false for an amount that was not signed", async () => {
      const { amount: _, ...rest } = depositRequest;
      expect(await verifyDepositRecord(storedDeposit(rest))).toBe(false);
    });

    it("lets the service fill in the blockchain transaction, but not replace one that was signed", async () => {
      expect(await verifyDepositRecord({ ...deposit, blockchainTransactionId: "0xabc" })).toBe(true);
      const signed = storedDeposit({ ...depositRequest, blockchainTransactionId: "0xabc" });
      expect(await verifyDepositRecord({ ...signed, blockchainTransactionId: "0xabc" })).toBe(true);
      expect(await verifyDepositRecord({ ...signed, blockchainTransactionId: "0xdef" })).toBe(false);
    });

    it("asks for the request alone where the deposit was updated since", async () => {
      const updated = { ...deposit, amount: "6000" };
      expect(await verifyDepositRecord(updated)).toBe(false);
      expect(await verifyDepositRecord(updated, { compareFields: false })).toBe(true);
    });

    it("takes the part after the host of an absolute URI, untouched", async () => {
      const path = "/liquidity-providers/a%2fb/../deposits?x=http://other.example/y";
      const requestSignatureBase64 = signatureOf({ key: gateway.privateKey, path, body: deposit.requestBody });
      for (const requestUri of [path, `https://service.example${path}`, `HTTP://127.0.0.1:8080${path}`]) {
        expect(await verifyDepositRecord({ ...deposit, requestUri, requestSignatureBase64 })).toBe(true);
      }
      expect(
        await verifyDepositRecord({ ...deposit, requestUri: "https://service.example", requestSignatureBase64 }),
      ).toBe(false);
      expect(await verifyDepositRecord({ ...deposit, requestUri: "deposits", requestSignatureBase64 })).toBe(false);
    });

    it("is false for what was signed for another path", async () => {
      const requestUri = "/liquidity-providers/lp-1/withdrawals";
      const request = { key: gateway.privateKey, path: requestUri, body: deposit.requestBody };
      const record = { ...deposit, requestUri, requestSignatureBase64: signatureOf(request) };
      expect(await verifyDepositRecord(record)).toBe(false);
    });

    it.each(["requestUri", "requestBody", "paymentGatewayPublicKeyBase64", "requestSignatureBase64"])(
      "refuses a record without %s by name",
      async (field) => {
        const verdict = verifyDepositRecord({ ...deposit, [field]: undefined } as unknown as Deposit);
        await expect(verdict).rejects.toThrow(
          new InvalidArgumentError(`${field} must be the text that the service stored; got undefined`),
        );
      },
    );
  });
});
