import { equalAmounts, isExactNumber } from "../../money.js";
import type { Payment } from "../../resources/payments.js";
import type { Listed, Signed } from "./state.js";

/** A listed record. None of its fields is certain. */
export type ListedRecord = { readonly [Field in keyof Payment]?: unknown };

type Json = Readonly<Record<string, unknown>>;

/**
 * Tells whether a listed record is the payment of a claim. `found` means the same signature, which depends on the bytes and the
 * key only, or the same body. `match` means the claim's sender gateway and transaction id with another body.
 */
export function matchPayment(signed: Signed): (record: ListedRecord) => Listed["is"] | undefined {
  const signature = decode(signed.signature);
  const body = parse(signed.body);
  const id = plain(signed.senderGatewayTransactionId);
  return (record) => {
    if (signature !== undefined && decode(record.creationRequestSignatureBase64) === signature) return "found";
    const listed = parse(record.creationRequestBody);
    if (isSameBody(body, listed)) return "found";
    return isNamed(record, id, body) || isNamed(listed, id, body) ? "match" : undefined;
  };
}

/** Whether the record in a response to a claim belongs to another request, since both its signature and its body differ. */
export function isAnother(signed: Signed, record: ListedRecord): boolean {
  const signature = decode(record.creationRequestSignatureBase64);
  const listed = parse(record.creationRequestBody);
  if (signature === undefined || Object.keys(listed).length === 0) return false;
  return signature !== decode(signed.signature) && !isSameBody(parse(signed.body), listed);
}

function isNamed({ senderGatewayId, senderGatewayTransactionId }: ListedRecord, id: unknown, body: Json): boolean {
  if (plain(senderGatewayTransactionId) !== id) return false;
  return typeof senderGatewayId !== "string" || senderGatewayId === body.senderGatewayId;
}

/** Services may list an id in another case, padded, or as a number. */
function plain(id: unknown): unknown {
  return typeof id === "string" || typeof id === "number" ? String(id).normalize("NFKC").trim().toLowerCase() : id;
}

/** The bytes of Base64 or Base64url, in lines or not, with or without padding. */
function decode(text: unknown): string | undefined {
  if (typeof text !== "string" || text.trim() === "") return undefined;
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}

function parse(text: unknown): Json {
  try {
    const value: unknown = typeof text === "string" ? JSON.parse(text) : undefined;
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isSameBody(one: Json, other: Json): boolean {
  const names = Object.keys(one);
  if (names.length === 0 || names.length !== Object.keys(other).length) return false;
  return names.every((name) => Object.hasOwn(other, name) && isSameField(name, one[name], other[name]));
}

const amounts: ReadonlySet<string> = new Set(["senderAmount", "receiverAmount", "receivingGatewayFee"]);
const accounts: ReadonlySet<string> = new Set(["senderAccount", "receiverAccount"]);

/**
 * Whether two values of a field mean the same. A service may write an amount differently, trim a text, group an account's digits,
 * or return an id as a number.
 */
export function isSameField(name: string, one: unknown, other: unknown): boolean {
  return amounts.has(name) ? equalAmounts(one, other) : withoutForm(name, one) === withoutForm(name, other);
}

function withoutForm(name: string, value: unknown): string | undefined {
  const text = isExactNumber(value) ? String(value) : value;
  // The order of an object's fields doesn't count.
  if (typeof text !== "string") return JSON.stringify(value, (_, part) => (isObject(part) ? inOrder(part) : part));
  return `=${accounts.has(name) ? text.replace(/\s/g, "") : text.trim()}`;
}

function inOrder(value: Json): Json {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function isObject(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
