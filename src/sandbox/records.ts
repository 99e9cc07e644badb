import type { Operation } from "../api/operation.js";
import { exact } from "../money.js";
import type { GatewayWithdrawal } from "../resources/gateway-withdrawals.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import { assertQuery, listPage } from "./lists.js";
import { SandboxRefusal } from "./refusal.js";
import type { ParsedRequest, VerifiedSignature } from "./requests.js";
import { blankRecord, type Collection, newTransactionId, type Row, type Store, type StoredRecords } from "./store.js";

/** A request that has passed every check that all operations share. */
export interface SandboxCall extends ParsedRequest {
  readonly query: URLSearchParams;
  /** Present if the operation must be signed. */
  readonly verified: VerifiedSignature | undefined;
}

/** @returns the body of the response, or `undefined` for none. @throws {SandboxRefusal} */
export type Handler = (store: Store, call: SandboxCall) => unknown;

/** Handles an operation on records that are stored as they are sent, but for the rules of their kind. */
export const handleRecord: Handler = (store, call) => {
  const { operation, params } = call.route;
  const { collection, owner, rule } = placeOf(store, call);
  if (operation.verb === "list") {
    const own = collection.rows().filter((row) => row.owner === owner);
    return listPage(store.settings, operation, call.query, own);
  }
  if (operation.verb === "create") {
    const created = { ...blankRecord(operation.record), ...call.body, id: crypto.randomUUID() };
    return collection.add(rule(store, checked(store, operation, created), owner, call), owner).record;
  }
  const row = collection.find(params.at(-1) ?? "", owner);
  if (row === undefined) throw notFound("record");
  if (operation.verb === "update") {
    row.record = rule(store, checked(store, operation, { ...row.record, ...call.body }), owner);
    return undefined;
  }
  assertQuery(call.query, operation);
  return row.record;
};

type AnyRecord = { readonly id: string };
/** Checks a record before it is stored, and sets what follows from its other fields. `call` is that of its creation. */
type Rule<T> = (store: Store, record: T, owner: string, call?: SandboxCall) => T;

function placeOf(store: Store, { route: { operation, params } }: SandboxCall) {
  const names = operation.name.split(".").slice(0, -1);
  const name = names.at(-1) as keyof StoredRecords;
  const owner = names.length > 1 ? (params[0] ?? "") : "";
  if (names.length > 1 && store.records.liquidityProviders.find(owner) === undefined) {
    throw notFound("liquidity provider");
  }
  // The collection and the rule are of the same records, by their name.
  const collection = store.records[name] as unknown as Collection<AnyRecord>;
  const rule = (rules[name] ?? ((_, record) => record)) as Rule<AnyRecord>;
  return { collection, owner, rule };
}

const rules: { readonly [Name in keyof StoredRecords]?: Rule<StoredRecords[Name][number]> } = {
  /** Payments name a gateway by its `institutionId`. */
  paymentGateways(store, gateway) {
    const named = store.gatewayNamed(gateway.institutionId);
    if (named === undefined || named.id === gateway.id) return gateway;
    throw new SandboxRefusal("duplicate_institution_id", "another gateway has this institutionId");
  },
  deposits(_store, deposit, _owner, call) {
    if (call === undefined) return deposit;
    return {
      ...deposit,
      blockchainTransactionId: deposit.blockchainTransactionId || newTransactionId(),
      requestUri: call.signedPath,
      requestBody: call.seen.body,
      paymentGatewayPublicKeyBase64: call.verified?.publicKeyBase64 ?? "",
      requestSignatureBase64: call.verified?.signatureBase64 ?? "",
    };
  },
  withdrawals: (_, withdrawal) => ({ ...withdrawal, status: withdrawal.status || "pending" }),
  exchangeRates(_, rate) {
    const [buyPriceN, buyPriceD] = fractionOf("buyPrice", rate.buyPrice);
    const [sellPriceN, sellPriceD] = fractionOf("sellPrice", rate.sellPrice);
    return { ...rate, buyPriceN, buyPriceD, sellPriceN, sellPriceD };
  },
  transfers(store, transfer, liquidityProviderId) {
    const { from, to, exchangeRateId } = transfer;
    const needsRate = exchangeRateId !== "" || from === "exchange-rate" || to === "exchange-rate";
    if (!needsRate || store.records.exchangeRates.find(exchangeRateId, liquidityProviderId) !== undefined)
      return transfer;
    throw new SandboxRefusal("unknown_exchange_rate", "exchangeRateId names none of the provider's exchange rates");
  },
};

/** No amount is negative, and every gateway that a field names is registered. @throws {SandboxRefusal} */
function checked<T extends object>(store: Store, { record: fields }: Operation, record: T): T {
  for (const [name, value] of Object.entries(record)) {
    if (fields[name] === "decimal") requireNotNegative(name, value);
    if (/gatewayId$/i.test(name) && value !== "") requireGateway(store, name, value);
  }
  return record;
}

export function requireGateway(store: Store, field: string, name: string): PaymentGateway {
  const gateway = store.gatewayNamed(name);
  if (gateway === undefined) throw new SandboxRefusal("unknown_gateway", `${field} names no registered gateway`);
  return gateway;
}

export function requirePositive(field: string, numeral: string): void {
  if (exact(numeral).units <= 0n) throw new SandboxRefusal("invalid_value", `${field} must be above zero`);
}

export function requireNotNegative(field: string, numeral: string): void {
  if (exact(numeral).units < 0n) throw new SandboxRefusal("invalid_value", `${field} must not be below zero`);
}

/** A price as a fraction: `1.10` is 110 over 100. */
function fractionOf(field: string, price: string): [numerator: number, denominator: number] {
  const { units, scale } = exact(price);
  const [numerator, denominator] = [Number(units), 10 ** scale];
  if (numerator > 0 && Number.isSafeInteger(numerator) && Number.isSafeInteger(denominator))
    return [numerator, denominator];
  throw new SandboxRefusal("invalid_value", `${field} must be above zero, with at most 15 digits`);
}

function notFound(what: string): SandboxRefusal {
  return new SandboxRefusal("not_found", `there is no such ${what}`);
}

/** Reads and updates of withdrawals by the gateway that pays them out: the same records, as the gateway sees them. */
export const handleGatewayWithdrawal: Handler = (store, { route, query, body }) => {
  const { operation, params } = route;
  const [gatewayId = "", id] = params;
  if (store.records.paymentGateways.find(gatewayId) === undefined) throw notFound("payment gateway");
  const rows = store.records.withdrawals
    .rows()
    .filter(({ record }) => store.gatewayNamed(record.paymentGatewayId)?.id === gatewayId);
  if (operation.verb === "list") {
    const shown = rows.map((row) => ({ ...row, record: seenFromGateway(row) }));
    return listPage(store.settings, operation, query, shown);
  }
  const row = rows.find(({ record }) => record.id === id);
  if (row === undefined) throw notFound("withdrawal");
  if (operation.verb === "get") {
    assertQuery(query, operation);
    return seenFromGateway(row);
  }
  const changed: Withdrawal = checked(store, operation, { ...row.record, ...body });
  // No body has the gateway's transaction id. It appears when the gateway has paid.
  const isPaid = changed.status === "processed" && changed.paymentGatewayTransactionId === "";
  row.record = isPaid ? { ...changed, paymentGatewayTransactionId: newTransactionId() } : changed;
  return undefined;
};

function seenFromGateway({ owner, record }: Row<Withdrawal>): GatewayWithdrawal {
  const { id, paymentGatewayTransactionId, amount, fee, currency, blockchainTransactionId, status } = record;
  return {
    ...{ id, gatewayTransactionId: paymentGatewayTransactionId, liquidityProviderId: owner },
    ...{ amount, fee, currency, blockchainTransactionId, status },
  };
}
