import type { FieldTable } from "../../api/fields.js";
import { type Payment, payments } from "../../resources/payments.js";
import { parseJsonObject } from "../../wire/parse-json-object.js";
import { isSameField } from "../same-field.js";
import type { Claim, StateOf } from "../state/flow-state.js";

/**
 * What a listed payment is to a flow: its `own`, or a `lookalike` that carries its transaction id or body but is not certainly its
 * own; `nameless` where it has neither signature nor body nor transaction id, so that nobody can tell whose it is; `undefined` for any other.
 */
export type PaymentMatch = "own" | "lookalike" | "nameless" | undefined;

export interface Recognisable extends Pick<StateOf<"unknown">, "senderGatewayTransactionId" | "intent"> {
  readonly claims: readonly Pick<Claim, "signature" | "body">[];
}

/** A record as it came: nothing about it is certain. */
type ListedPayment = { readonly [Field in keyof Payment]?: unknown };

/**
 * Tells what a payment is to a flow. The signature is compared first: it depends on the bytes and the key alone, so no other request
 * has it. Then the body, for services that store the signature in another form than they received it.
 */
export function paymentMatcher(flow: Recognisable): (payment: ListedPayment) => PaymentMatch {
  const signatures = flow.claims.map(signatureOf);
  const bodies = flow.claims.map(({ body }) => parseJsonObject(body));
  return (payment) => {
    const signature = decode(payment.creationRequestSignatureBase64);
    if (signature !== undefined && signatures.includes(signature)) return "own";
    const body = bodyOf(payment);
    if (bodies.some((own) => isSameBody(own, body))) {
      const isForeign = signatures.some((own) => isOther(own, signature));
      const { senderGatewayTransactionId = flow.senderGatewayTransactionId } = payment;
      const isOwnId = isSameField("text", senderGatewayTransactionId, flow.senderGatewayTransactionId);
      return isForeign || !isOwnId ? "lookalike" : "own";
    }
    if (isNamedLike(payment, flow) || isNamedLike(body, flow)) return "lookalike";
    const hasName =
      signature !== undefined || Object.keys(body).length > 0 || hasText(payment.senderGatewayTransactionId);
    return hasName || isOfAnotherGateway(payment, flow) ? undefined : "nameless";
  };
}

/** Whether the record that came in response to a claim is another payment's: its body is another one, with a signature of its own. */
export function isAnothers(payment: ListedPayment, claim: Pick<Claim, "signature" | "body">): boolean {
  if (payment.creationRequestBody === claim.body) return false;
  // The signature first: to parse two bodies takes longer.
  if (!isOther(signatureOf(claim), decode(payment.creationRequestSignatureBase64))) return false;
  const stored = bodyOf(payment);
  return Object.keys(stored).length > 0 && !isSameBody(parseJsonObject(claim.body), stored);
}

function signatureOf({ signature }: Pick<Claim, "signature">): string {
  return decode(signature) ?? signature;
}

/** Another signature of the same size is not ours in another form: somebody else signed it. */
function isOther(own: string, signature: string | undefined): boolean {
  return own !== signature && own.length === signature?.length;
}

function bodyOf({ creationRequestBody: text }: ListedPayment): Record<string, unknown> {
  return parseJsonObject(typeof text === "string" ? text : "");
}

function isNamedLike({ senderGatewayId, senderGatewayTransactionId }: ListedPayment, flow: Recognisable): boolean {
  if (withoutForm(senderGatewayTransactionId) !== withoutForm(flow.senderGatewayTransactionId)) return false;
  return !hasText(senderGatewayId) || isSameField("text", senderGatewayId, flow.intent.senderGatewayId);
}

/** An id as a service may list it that keeps its letters only: in another case or Unicode form, padded, or as a number. */
function withoutForm(id: unknown): unknown {
  return typeof id === "string" || typeof id === "number" ? String(id).normalize("NFKC").trim().toLowerCase() : id;
}

function isOfAnotherGateway({ senderGatewayId }: ListedPayment, { intent }: Recognisable): boolean {
  return hasText(senderGatewayId) && !isSameField("text", senderGatewayId, intent.senderGatewayId);
}

function hasText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** The bytes of Base64 or Base64url, in lines or not, with or without padding; `undefined` where it is neither. */
function decode(text: unknown): string | undefined {
  if (!hasText(text)) return undefined;
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return undefined;
  }
}

function isSameBody(one: Record<string, unknown>, other: Record<string, unknown>): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  if (names.size === 0) return false;
  const kinds: FieldTable = payments.create.record;
  return [...names].every(
    (name) =>
      Object.hasOwn(one, name) === Object.hasOwn(other, name) &&
      (isSameField(kinds[name], one[name], other[name]) || isSameJson(one[name], other[name])),
  );
}

/** Compares JSON data of any depth. The order of an object's fields does not count. */
function isSameJson(one: unknown, other: unknown): boolean {
  const pending: [unknown, unknown][] = [[one, other]];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    const [left, right] = pair;
    if (left === right) continue;
    if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
    const keys = Object.keys(left);
    if (Array.isArray(left) !== Array.isArray(right) || keys.length !== Object.keys(right).length) return false;
    for (const key of keys) {
      if (!Object.hasOwn(right, key)) return false;
      pending.push([Reflect.get(left, key), Reflect.get(right, key)]);
    }
  }
  return true;
}
