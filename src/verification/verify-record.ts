import type { KeyObject } from "node:crypto";
import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { parsePublicKey, readPublicKey } from "../signing/keys.js";
import { signedText } from "../signing/signed-text.js";
import { decodeBase64, verifyText } from "../signing/verify.js";

/** The fields of a payment that its signature covers, and those that the service keeps of the creating request. */
export interface SignedPayment {
  readonly senderGatewayId: string;
  readonly senderAmount: string;
  readonly senderCurrency: string;
  readonly senderAccount: string;
  readonly senderName: string;
  readonly receiverGatewayId: string;
  readonly receiverAmount: string;
  readonly receiverCurrency: string;
  readonly receiverAccount: string;
  readonly receiverName: string;
  readonly receivingGatewayFee: string;
  readonly memo: string;
  readonly senderGatewayTransactionId: string;
  readonly creationRequestUrl: string;
  readonly creationRequestBody: string;
  readonly creationRequestPublicKeyBase64: string;
  readonly creationRequestSignatureBase64: string;
}

/** The fields of a deposit that its signature covers, and those that the service keeps of the creating request. */
export interface SignedDeposit {
  readonly paymentGatewayId: string;
  readonly paymentGatewayTransactionId: string;
  readonly amount: string;
  readonly currency: string;
  readonly blockchainTransactionId: string;
  readonly requestUri: string;
  readonly requestBody: string;
  readonly paymentGatewayPublicKeyBase64: string;
  readonly requestSignatureBase64: string;
}

export interface VerifyRecordOptions {
  /**
   * The key that you trust, had from elsewhere than the record: from onboarding, or from your own books. The key stored in
   * the record must then be the same. **Without it the check proves nothing about who signed.**
   */
  readonly publicKey?: string | KeyObject | undefined;
  /**
   * Whether the record's own fields must agree with the signed body. Default: true. False asks only whether the stored
   * request is what was signed, whatever the record says beside it.
   */
  readonly compareFields?: boolean | undefined;
}

/**
 * Tells, without any call, whether a stored payment is what was signed: the stored signature fits the stored path, body and
 * key, and every amount, party, account and id that the body names is the record's (amounts by value, all other texts exactly).
 *
 * **Without `publicKey` this shows only that the record is consistent in itself.** Whoever can write records can also put their own
 * key and signature into one. Pass the sending gateway's public key as you know it to learn that this gateway signed.
 *
 * What the service adds (id, times, statuses, transaction ids of receiver and blockchain) is no part of the signed request,
 * nor are the intent's `id` and `extras` compared. Of an absolute `creationRequestUrl` the part after the host counts.
 *
 * @throws {InvalidArgumentError} when one of the four `creationRequest*` fields is missing or no string, or `publicKey` is no
 * public RSA key. A stored key or signature that cannot be read is `false`.
 */
export function verifyPaymentRecord(payment: SignedPayment, options: VerifyRecordOptions = {}): boolean {
  return verifyRecord(payment, paymentRules, options);
}

/**
 * Tells, without any call, whether a stored deposit is what was signed: the stored signature fits the stored URI, body and
 * key, and the fields that the body names are the record's (the amount by value, all other texts exactly).
 *
 * **Without `publicKey` this shows only that the record is consistent in itself.** Whoever can write records can also put their own
 * key and signature into one. Pass the gateway's public key as you know it to learn that this gateway signed.
 *
 * A deposit that was updated after its creation no longer agrees with the request that created it: `compareFields: false`
 * asks for the request alone. A `blockchainTransactionId` that the body leaves empty may be filled in by the service.
 * Of an absolute `requestUri` the part after the host counts.
 *
 * @throws {InvalidArgumentError} when `requestUri`, `requestBody`, `paymentGatewayPublicKeyBase64` or `requestSignatureBase64`
 * is missing or no string, or `publicKey` is no public RSA key. A stored key or signature that cannot be read is `false`.
 */
export function verifyDepositRecord(deposit: SignedDeposit, options: VerifyRecordOptions = {}): boolean {
  return verifyRecord(deposit, depositRules, options);
}

/** How a field of the record is held to the signed body; `filled` may be set by the service where the body leaves it empty. */
type Comparison = "text" | "decimal" | "filled";

interface RecordRules {
  readonly path: string;
  readonly body: string;
  readonly publicKey: string;
  readonly signature: string;
  readonly signedFields: Readonly<Record<string, Comparison>>;
}

const paymentRules: RecordRules = {
  path: "creationRequestUrl",
  body: "creationRequestBody",
  publicKey: "creationRequestPublicKeyBase64",
  signature: "creationRequestSignatureBase64",
  signedFields: {
    senderGatewayId: "text",
    senderAmount: "decimal",
    senderCurrency: "text",
    senderAccount: "text",
    senderName: "text",
    receiverGatewayId: "text",
    receiverAmount: "decimal",
    receiverCurrency: "text",
    receiverAccount: "text",
    receiverName: "text",
    receivingGatewayFee: "decimal",
    memo: "text",
    senderGatewayTransactionId: "text",
  } satisfies Partial<Record<keyof SignedPayment, Comparison>>,
};

const depositRules: RecordRules = {
  path: "requestUri",
  body: "requestBody",
  publicKey: "paymentGatewayPublicKeyBase64",
  signature: "requestSignatureBase64",
  signedFields: {
    paymentGatewayId: "text",
    paymentGatewayTransactionId: "text",
    amount: "decimal",
    currency: "text",
    blockchainTransactionId: "filled",
  } satisfies Partial<Record<keyof SignedDeposit, Comparison>>,
};

function verifyRecord(record: object, rules: RecordRules, options: VerifyRecordOptions): boolean {
  if (typeof record !== "object" || record === null) {
    throw new InvalidArgumentError(`the record is ${describeValue(record)}; wanted: a record with its stored request`);
  }
  const path = pathOf(storedText(record, rules.path));
  const body = storedText(record, rules.body);
  const key = readPublicKey(storedText(record, rules.publicKey));
  const signature = decodeBase64(storedText(record, rules.signature));
  const trusted = options.publicKey === undefined ? undefined : parsePublicKey(options.publicKey);
  if (path === undefined || typeof key === "string" || signature === undefined) return false;
  if (trusted !== undefined && !trusted.equals(key)) return false;
  if (!verifyText(key, signedText(path, body), signature)) return false;
  return options.compareFields === false || agrees(record, body, rules.signedFields);
}

function storedText(record: object, field: string): string {
  const value: unknown = Reflect.get(record, field);
  if (typeof value === "string") return value;
  throw new InvalidArgumentError(`${field} is ${describeValue(value)}; wanted: the text that the service stored`);
}

/** What stands after the host, untouched: a URL parser would rewrite what was signed. */
function pathOf(stored: string): string | undefined {
  const path = stored.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : undefined;
}

function agrees(record: object, body: string, signedFields: RecordRules["signedFields"]): boolean {
  const signed = parseObject(body);
  if (signed === undefined) return false;
  return Object.entries(signedFields).every(([field, comparison]) => {
    return sameValue(Reflect.get(signed, field) ?? "", Reflect.get(record, field) ?? "", comparison);
  });
}

/** A field left out, null and an empty text are one: what matters is that a value in the record was signed. */
function sameValue(signed: unknown, stored: unknown, comparison: Comparison): boolean {
  if (typeof signed !== "string" || typeof stored !== "string") return false;
  if (comparison === "filled" && signed === "") return true;
  return comparison === "decimal" ? plainDecimal(signed) === plainDecimal(stored) : signed === stored;
}

/** The same text for the same value: `007.50`, `7.5` and `7.500` are `7.5`. What is no numeral stays as it is. */
function plainDecimal(text: string): string {
  if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text;
  const negative = text.startsWith("-");
  const [whole = "", fraction = ""] = text.slice(negative ? 1 : 0).split(".");
  let start = 0;
  while (start < whole.length - 1 && whole[start] === "0") start += 1;
  let end = fraction.length;
  while (end > 0 && fraction[end - 1] === "0") end -= 1;
  const digits = end === 0 ? whole.slice(start) : `${whole.slice(start)}.${fraction.slice(0, end)}`;
  return negative && digits !== "0" ? `-${digits}` : digits;
}

function parseObject(json: string): object | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
