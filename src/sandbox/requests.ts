import { type FieldKind, type FieldTable, kindOfField } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { CrossBorderError } from "../core/errors.js";
import { decimalNumeral } from "../money.js";
import { operations } from "../resources/catalogue.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import { type SignatureToVerify, verifySignature } from "../signing/signer.js";
import type { SandboxRequest, SandboxSettings } from "./options.js";
import { SandboxRefusal } from "./refusal.js";
import type { Store } from "./store.js";

/** The header with the signature (Interface description 0.0.1, "Digital signatures", 1). */
export const signatureHeader = "X-SERVICE-SIGNATURE-BASE64";

/** Each operation and its path: for the sandbox as a pattern, for MSW as `/payment-gateways/:paymentGatewayId`. */
export const routes = [...operations.values()].map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.text.replace(/\{\w+\}/g, "([^/]*)")}$`),
  mswPath: operation.path.text.replace(/\{(\w+)\}/g, ":$1"),
}));

/** An operation, and the values of its path's parameters in order. */
export interface Route {
  readonly operation: Operation;
  readonly params: readonly string[];
}

/** The operation of a path on the wire, or a refusal: 404 for an unknown path, 405 for another method. */
export function routeOf(method: string, path: string, basePath: string): Route | SandboxRefusal {
  const own = path.startsWith(`${basePath}/`) ? path.slice(basePath.length) : "";
  const matches = routes.filter(({ pattern }) => pattern.test(own));
  if (matches.length === 0) return new SandboxRefusal("unknown_path", "there is no operation at this path", 404);
  const match = matches.find(({ operation }) => operation.method === method);
  if (match !== undefined) {
    const params = match.pattern.exec(own)?.slice(1) ?? [];
    return { operation: match.operation, params: params.map(decodeURIComponent) };
  }
  const allow = matches.map(({ operation }) => operation.method).join(", ");
  return new SandboxRefusal("method_not_allowed", `this path takes ${allow}`, 405, { allow });
}

/** A request for an operation, as it arrived. */
export interface OperationRequest {
  readonly seen: SandboxRequest;
  readonly bytes: Uint8Array;
  readonly route: Route;
}

/** A request with its body, and the text that must be signed before the body. */
export interface ParsedRequest extends OperationRequest {
  readonly body: JsonObject;
  readonly signedPath: string;
  readonly signature: string | null;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** @throws {SandboxRefusal} if the body isn't a JSON object in UTF-8 with `Content-Type: application/json`. */
export function parseRequest({ signQuery }: SandboxSettings, request: OperationRequest): ParsedRequest {
  const { seen, bytes, route } = request;
  const body = route.operation.body === undefined ? {} : parseBody(bytes, seen.headers.get("content-type"));
  const signedPath = signQuery && seen.query !== "" ? `${seen.path}?${seen.query}` : seen.path;
  return { ...request, body, signedPath, signature: seen.headers.get(signatureHeader) };
}

function parseBody(bytes: Uint8Array, contentType: string | null): JsonObject {
  if (!/^application\/json\s*(?:;|$)/i.test(contentType ?? "")) {
    throw new SandboxRefusal("invalid_content_type", "the body must come with Content-Type application/json");
  }
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new SandboxRefusal("invalid_json", "the body is not JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return { ...value };
  throw new SandboxRefusal("invalid_body", "the body must be a JSON object");
}

/** @throws {SandboxRefusal} for a field that is unknown, missing, or of the wrong type. */
export function assertBody({ name: operationName, body: expected }: Operation, body: JsonObject): void {
  if (expected === undefined) return;
  for (const [name, value] of Object.entries(body)) {
    const kind = kindOfField(expected.fields, name);
    if (kind === undefined) {
      throw new SandboxRefusal("unknown_field", `${name} is not a field of ${operationName}`);
    }
    assertValue(name, kind, value);
    const allowed = expected.oneOf?.[name];
    if (allowed !== undefined && !allowed.includes(String(value))) {
      throw new SandboxRefusal("invalid_value", `${name} must be ${allowed.join(" or ")}`);
    }
  }
  const required = [...expected.required, ...(requiredBeyondTheRows[operationName] ?? [])];
  const missing = required.find((name) => !Object.hasOwn(body, name));
  if (missing !== undefined) throw new SandboxRefusal("missing_field", `${missing} is missing`);
}

/** The description doesn't show which fields are required. Without these a record would say nothing. */
const requiredBeyondTheRows: Readonly<Record<string, readonly string[]>> = {
  "liquidityProviders.deposits.create": ["paymentGatewayId", "amount", "currency"],
  "liquidityProviders.withdrawals.create": ["paymentGatewayId", "amount", "currency"],
  "liquidityProviders.exchangeRates.create": [
    ...["baseGatewayId", "counterGatewayId", "baseCurrency", "counterCurrency", "buyPrice", "sellPrice"],
  ],
  "liquidityProviders.transfers.create": ["from", "to", "amount"],
};

function assertValue(name: string, kind: FieldKind, value: unknown): void {
  if (kind === "any") return;
  if (typeof value !== "string") throw new SandboxRefusal("invalid_value", `${name} must be a string`);
  if (kind === "decimal" && !decimalNumeral.test(value)) {
    throw new SandboxRefusal("invalid_value", `${name} must be a decimal numeral, such as 12.50`);
  }
}

export function mustSign({ signedOperations }: SandboxSettings, { name }: Operation): boolean {
  return signedOperations.some((signed) => signed === name);
}

/** A verified signature, and the registered key that verified it. */
export interface VerifiedSignature {
  readonly signatureBase64: string;
  readonly publicKeyBase64: string;
}

/** @throws {SandboxRefusal} if the signature is missing or wrong, or its gateway is unknown. */
export async function checkSignature(store: Store, request: ParsedRequest): Promise<VerifiedSignature> {
  const { signature, signedPath: path, bytes: body } = request;
  if (signature === null) throw new SandboxRefusal("missing_signature", `the header ${signatureHeader} is missing`);
  for (const { rsaPublicKeyBase64: publicKey } of signersOf(store, request)) {
    if (await isSignedWith({ publicKey, path, body, signature })) {
      return { signatureBase64: signature, publicKeyBase64: publicKey };
    }
  }
  throw new SandboxRefusal(
    "invalid_signature",
    "the signature is not one of the gateway's registered key over this path and this body",
  );
}

/** A gateway can register a text that isn't a key. */
export async function isSignedWith(request: SignatureToVerify): Promise<boolean> {
  try {
    return await verifySignature(request);
  } catch (error) {
    if (error instanceof CrossBorderError) return false;
    throw error;
  }
}

/**
 * The gateway that must sign: the one in the body, or else in the path, or in the record of the path. A request that names none
 * can be signed by any registered gateway.
 *
 * @throws {SandboxRefusal} if the gateway is unknown.
 */
export function signersOf(store: Store, { route, body }: ParsedRequest): readonly PaymentGateway[] {
  const { operation, params } = route;
  const [collection, stored] = operation.name.split(".");
  const inPath = collection === "paymentGateways" ? params[0] : undefined;
  const record = stored === "deposits" ? store.records.deposits.find(params[1] ?? "", params[0])?.record : undefined;
  const name = body[operation.signer ?? ""] ?? inPath ?? record?.paymentGatewayId;
  if (name === undefined) return store.records.paymentGateways.records();
  const gateway = typeof name === "string" ? store.gatewayNamed(name) : undefined;
  if (gateway !== undefined) return [gateway];
  throw new SandboxRefusal("unknown_gateway", "the gateway that has to sign is not registered");
}

/** The parameters of lists. */
export const pagingParameters: ReadonlySet<string> = new Set(["_size", "_before", "_after", "_sort"]);

/** A query for logs. Unknown parameters may be credentials, such as an `access_token`: their values are hidden. */
export function shownQuery(query: string, record: FieldTable): string {
  const isShown = (name: string) => pagingParameters.has(name) || isPlain(record, name);
  return [...new URLSearchParams(query)].map(([name, value]) => `${name}=${isShown(name) ? value : "…"}`).join("&");
}

/** Whether a field is known, and not a secret. */
export function isPlain(fields: FieldTable, name: string): boolean {
  const kind = kindOfField(fields, name);
  return kind !== undefined && kind !== "secret";
}
