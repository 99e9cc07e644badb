import type { Operation } from "../api/operation.js";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { assertOptions, type CheckTable, isBoolean } from "../core/parse.js";
import { equalAmounts, isExactNumber } from "../money.js";
import type { KeyObjectLike } from "../platform/platform.js";
import { type Deposit, type DepositFields, deposits } from "../resources/deposits.js";
import { type Payment, type PaymentRequest, payments } from "../resources/payments.js";
import { parsePublicKey, readPublicKey } from "../signing/keys.js";
import { decodeSignature, signedText } from "../signing/signer.js";
import { parseObject } from "../wire/response.js";

/** The fields of a payment that its signature covers, and those that the service keeps of the creating request. */
export interface SignedPayment
  extends Readonly<
    Pick<
      Payment,
      | Exclude<keyof PaymentRequest, "id" | "extras">
      | "creationRequestUrl"
      | "creationRequestBody"
      | "creationRequestPublicKeyBase64"
      | "creationRequestSignatureBase64"
    >
  > {}

/** The fields of a deposit that its signature covers, and those that the service keeps of the creating request. */
export interface SignedDeposit
  extends Readonly<
    Pick<
      Deposit,
      keyof DepositFields | "requestUri" | "requestBody" | "paymentGatewayPublicKeyBase64" | "requestSignatureBase64"
    >
  > {}

export interface VerifyRecordOptions {
  /**
   * The key that you trust, known from elsewhere than the record: from onboarding, or from your own books. The key stored
   * in the record must then be the same. **Without it the check proves nothing about who signed.**
   */
  readonly publicKey?: string | Uint8Array | KeyObjectLike | undefined;
  /**
   * Whether the record's own fields must agree with the signed body. Default: true. False asks only whether the stored
   * request is what was signed, whatever the record says beside it.
   */
  readonly compareFields?: boolean | undefined;
}

const recordOptions: CheckTable<VerifyRecordOptions> = {
  // `parsePublicKey` checks it, with a message for each mistake.
  publicKey: { accepts: () => true, wanted: "a public key" },
  compareFields: { accepts: isBoolean, wanted: "true or false" },
};

/**
 * Tells, without any call, whether a stored payment is what was signed: the stored signature fits the stored path, body and
 * key, the path is that of payments, and every amount, party, account and id that the body names is the record's (amounts by value, all other texts exactly).
 * Await it: in a condition a promise is always true.
 *
 * **Without `publicKey` this shows only that the record is consistent in itself.** Anyone who can write records can also put their own
 * key and signature into one. Pass the sending gateway's public key as you know it to learn that this gateway signed.
 *
 * What the service adds (id, times, statuses, transaction ids of receiver and blockchain) is no part of the signed request,
 * nor are the intent's `id` and `extras` compared. Of an absolute `creationRequestUrl` the part after the host counts.
 *
 * @throws {InvalidArgumentError} when one of the four `creationRequest*` fields is missing or not a string, or `publicKey` is
 * not a public RSA key. A stored key or signature that cannot be read is `false`.
 */
export async function verifyPaymentRecord(payment: SignedPayment, options: VerifyRecordOptions = {}): Promise<boolean> {
  return verifyRecord(payment, paymentRules, options);
}

/**
 * Tells, without any call, whether a stored deposit is what was signed: the stored signature fits the stored URI, body and
 * key, the URI is that of deposits, and the fields that the body names are the record's (the amount by value, all other texts exactly).
 * Await it: in a condition a promise is always true.
 *
 * **Without `publicKey` this shows only that the record is consistent in itself.** Anyone who can write records can also put their own
 * key and signature into one. Pass the gateway's public key as you know it to learn that this gateway signed.
 *
 * A deposit that was updated after its creation no longer agrees with the request that created it: `compareFields: false`
 * asks for the request alone. A `blockchainTransactionId` that the body leaves empty may be filled in by the service.
 * Of an absolute `requestUri` the part after the host counts.
 *
 * @throws {InvalidArgumentError} when `requestUri`, `requestBody`, `paymentGatewayPublicKeyBase64` or `requestSignatureBase64`
 * is missing or not a string, or `publicKey` is not a public RSA key. A stored key or signature that cannot be read is `false`.
 */
export async function verifyDepositRecord(deposit: SignedDeposit, options: VerifyRecordOptions = {}): Promise<boolean> {
  return verifyRecord(deposit, depositRules, options);
}

/** The fields in which a record keeps the request that created it, and what the two have in common. */
interface RecordRules {
  readonly path: string;
  readonly body: string;
  readonly publicKey: string;
  readonly signature: string;
  /** The creating request's row: the fields of its body are what is compared. */
  readonly creation: () => Operation;
  /** Fields of the body that are not the record's own. */
  readonly notCompared: readonly string[];
  /** Fields that the service may fill in if the body leaves them empty. */
  readonly filledIn: readonly string[];
}

const paymentRules: RecordRules = {
  path: "creationRequestUrl",
  body: "creationRequestBody",
  publicKey: "creationRequestPublicKeyBase64",
  signature: "creationRequestSignatureBase64",
  creation: () => payments.create,
  // They are the intent's.
  notCompared: ["id", "extras"],
  filledIn: [],
};

const depositRules: RecordRules = {
  path: "requestUri",
  body: "requestBody",
  publicKey: "paymentGatewayPublicKeyBase64",
  signature: "requestSignatureBase64",
  creation: () => deposits.create,
  notCompared: [],
  filledIn: ["blockchainTransactionId"],
};

async function verifyRecord(record: object, rules: RecordRules, options: VerifyRecordOptions): Promise<boolean> {
  if (typeof record !== "object" || record === null) {
    throw new InvalidArgumentError(
      `the record must be an object with its stored request; got ${describeValue(record)}`,
    );
  }
  assertOptions(recordOptions, options, "the options", (message) => new InvalidArgumentError(message));
  const path = signedPathOf(storedText(record, rules.path));
  const body = storedText(record, rules.body);
  const key = readPublicKey(storedText(record, rules.publicKey));
  const signature = decodeSignature(storedText(record, rules.signature));
  const trusted = options.publicKey === undefined ? undefined : parsePublicKey(options.publicKey);
  if (path === undefined || !creates(rules, path) || typeof key === "string" || signature === undefined) return false;
  if (trusted !== undefined && !equalBytes(trusted.spki(), key.spki())) return false;
  if (!(await key.verify(signedText(path, body), signature))) return false;
  return options.compareFields === false || agrees(record, body, rules);
}

function storedText(record: object, field: string): string {
  const value: unknown = Reflect.get(record, field);
  if (typeof value === "string") return value;
  throw new InvalidArgumentError(`${field} must be the text that the service stored; got ${describeValue(value)}`);
}

/**
 * Whether a request of this path makes such a record, below whatever base path. What was signed for another one, such as a trial, made
 * none. And nothing stands between path and body, so that a signature alone does not show where the path ended.
 */
function creates({ creation }: RecordRules, path: string): boolean {
  const [pathname = ""] = path.split("?");
  return pathname.replace(/\/$/, "").endsWith(creation().path.texts.at(-1) ?? "");
}

/** What stands after the host, untouched: a URL parser would rewrite what was signed. */
export function signedPathOf(stored: string): string | undefined {
  const path = stored.replace(/^https?:\/\/[^/?#]*/i, "");
  return path.startsWith("/") ? path : undefined;
}

function agrees(record: object, body: string, { creation, notCompared, filledIn }: RecordRules): boolean {
  const signed = parseObject(body);
  const written = creation().body;
  if (signed === undefined || written === undefined) return false;
  return Object.entries(written.fields).every(([field, kind]) => {
    if (notCompared.includes(field)) return true;
    const value = fieldOf(signed, field);
    if (value === "" && filledIn.includes(field)) return true;
    return sameValue(value, fieldOf(record, field), kind === "decimal");
  });
}

/** A field left out, null and an empty text are one: what matters is that a value in the record was signed. */
function fieldOf(holder: object, field: string): unknown {
  return Reflect.get(holder, field) ?? "";
}

function sameValue(signed: unknown, stored: unknown, isDecimal: boolean): boolean {
  return isDecimal
    ? equalAmounts(signed, stored)
    : (typeof signed === "string" || isExactNumber(signed)) && signed === stored;
}

function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}
