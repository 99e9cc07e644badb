import type { FieldKind } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { decimalNumeral } from "../money.js";
import type { OperationName } from "../resources/catalogue.js";
import type { SandboxQuirks } from "./quirks.js";
import { SandboxRefusal } from "./responses.js";
import { shownName } from "./shown-query.js";

/** What a body holds, before it is known to be what the row says. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** @throws {SandboxRefusal} when the body is not a JSON object in UTF-8 that came as `application/json`. */
export function parseBody(bytes: Uint8Array, contentType: string | null): JsonObject {
  if (!/^application\/json\s*(?:;|$)/i.test(contentType ?? "")) {
    throw new SandboxRefusal("invalid_content_type", "the body must come with Content-Type application/json");
  }
  const value = parseJson(bytes);
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw new SandboxRefusal("invalid_body", "the body must be a JSON object");
}

/**
 * Holds a body to the fields of its row, in both directions of the table.
 *
 * @throws {SandboxRefusal} on an unknown field, a value of the wrong type, an amount that is not a numeral, and a missing field.
 */
export function assertBody(
  operation: Operation,
  body: JsonObject,
  requiredFields: SandboxQuirks["requiredFields"] = {},
): void {
  const { name: operationName, body: wanted } = operation;
  if (wanted === undefined) return;
  for (const [name, value] of Object.entries(body)) {
    const kind = Object.hasOwn(wanted.fields, name) ? wanted.fields[name] : undefined;
    if (kind === undefined)
      throw new SandboxRefusal("unknown_field", `${shownName(name)} is not a field of ${operationName}`);
    assertValue(name, kind, value);
    const allowed = wanted.oneOf?.[name];
    if (allowed !== undefined && !allowed.includes(String(value))) {
      throw new SandboxRefusal("invalid_value", `${name} must be ${allowed.join(" or ")}`);
    }
  }
  const byDefault = [...wanted.required, ...(requiredBeyondTheRows[operationName] ?? [])];
  const required = Object.entries(requiredFields).find(([name]) => name === operationName)?.[1] ?? byDefault;
  const missing = required.find((name) => !Object.hasOwn(body, name));
  if (missing !== undefined) throw new SandboxRefusal("missing_field", `${missing} is missing`);
}

/** The description does not show which fields are required; a record without these would say nothing. */
const requiredBeyondTheRows: Readonly<Record<string, readonly string[]>> = {
  "liquidityProviders.deposits.create": ["paymentGatewayId", "amount", "currency"],
  "liquidityProviders.withdrawals.create": ["paymentGatewayId", "amount", "currency"],
  "liquidityProviders.exchangeRates.create": [
    "baseGatewayId",
    "counterGatewayId",
    "baseCurrency",
    "counterCurrency",
    "buyPrice",
    "sellPrice",
  ],
  "liquidityProviders.transfers.create": ["from", "to", "amount"],
} satisfies { readonly [Name in OperationName]?: readonly string[] };

function assertValue(name: string, kind: FieldKind, value: unknown): void {
  if (kind === "any") return;
  if (typeof value !== "string") throw new SandboxRefusal("invalid_value", `${name} must be a string`);
  if (kind === "decimal" && !decimalNumeral.test(value)) {
    throw new SandboxRefusal("invalid_value", `${name} must be a decimal numeral, such as 12.50`);
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw new SandboxRefusal("invalid_json", "the body is not JSON");
  }
}
