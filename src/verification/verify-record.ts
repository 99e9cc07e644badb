import type { Operation } from "../api/operation.js";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, parseOptions } from "../core/parse.js";
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
   * The key that you trust, from onboarding or from your own books. The key in the record must be the same. **Without it the check
   * proves nothing about who signed.**
   */
  readonly publicKey?: string | Uint8Array | KeyObjectLike | undefined;
  /** Whether the record's own fields must agree with the signed body. `false` verifies the stored request alone. Default: true. */
  readonly compareFields?: boolean | undefined;
}

const recordOptions: CheckTable<VerifyRecordOptions> = {
  // `parsePublicKey` checks it, with a message for each mistake.
  publicKey: { accepts: () => true, expected: "a public key" },
  compareFields: { accepts: isBoolean, expected: "true or false" },
};

/**
 * Tells, without any call, whether a stored payment is what was signed. Await it, since a promise is always true in a condition.
 *
 * The stored signature must fit the stored path, body, and key, and the body's fields must be the record's. **Without `publicKey`
 * this shows only that the record agrees with itself**, since a forger can put in a key.
 *
 * @throws {InvalidArgumentError} if one of the four `creationRequest*` fields isn't a string, or `publicKey` isn't a public RSA key.
 */
export async function verifyPaymentRecord(payment: SignedPayment, options: VerifyRecordOptions = {}): Promise<boolean> {
  return verifyRecord(payment, paymentRules, options);
}

/**
 * Tells, without any call, whether a stored deposit is what was signed, as `verifyPaymentRecord` does for payments.
 *
 * A deposit that was updated later doesn't agree with the request that created it. Pass `compareFields: false`. The service may fill
 * in a `blockchainTransactionId` that the body left empty.
 *
 * @throws {InvalidArgumentError} if `requestUri`, `requestBody`, `paymentGatewayPublicKeyBase64`, or `requestSignatureBase64` isn't a
 * string, or `publicKey` isn't a public RSA key.
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
  /** The creating request's row. The fields of its body are compared. */
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
  parseOptions(recordOptions, options, "the options", (message) => new InvalidArgumentError(message));
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
 * Whether a request of this path makes such a record, below any base path. A signature alone doesn't show where the path ended, since
 * nothing stands between path and body.
 */
function creates({ creation }: RecordRules, path: string): boolean {
  const [pathname = ""] = path.split("?");
  return pathname.replace(/\/$/, "").endsWith(creation().path.texts.at(-1) ?? "");
}

/** The part after the host, untouched. A URL parser would rewrite what was signed. */
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

/** A missing field, null, and an empty text are the same. Only a value in the record must have been signed. */
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
