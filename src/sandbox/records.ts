import type { Operation } from "../api/operation.js";
import { exact } from "../money.js";
import type { GatewayWithdrawal } from "../resources/gateway-withdrawals.js";
import type { PaymentGateway } from "../resources/payment-gateways.js";
import type { Withdrawal } from "../resources/withdrawals.js";
import { assertQuery, listPage } from "./lists.js";
import { SandboxRefusal } from "./refusal.js";
import type { JsonObject, VerifiedSignature } from "./requests.js";
import { blankRecord, type Collection, newTransactionId, type Row, type Store, type StoredRecords } from "./store.js";

/** A request that has passed every check that all operations share. */
export interface SandboxCall {
  readonly operation: Operation;
  /** Values of the path's parameters, in order. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  /** Has the fields of the operation, with their types. */
  readonly body: JsonObject;
  readonly rawText: string;
  /** The path on the wire, as it is signed. */
  readonly signedPath: string;
  /** Present if the operation must be signed. */
  readonly signature: VerifiedSignature | undefined;
}

/** @returns the body of the response, or `undefined` for none. @throws {SandboxRefusal} */
export type Handler = (store: Store, call: SandboxCall) => unknown;

/** Handles an operation on records that are stored as they are sent, but for the rules of their kind. */
export const handleRecord: Handler = (store, call) => {
  const { operation, params, query, body } = call;
  const { collection, owner, rule } = placeOf(store, call);
  if (operation.verb === "list") {
    const own = collection.rows().filter((row) => row.owner === owner);
    return listPage(store.settings, operation, query, own);
  }
  if (operation.verb === "create") {
    const created = { ...blankRecord(operation.record), ...body, id: crypto.randomUUID() };
    return collection.add(rule(store, created, owner, call), owner).record;
  }
  const row = collection.find(params.at(-1) ?? "", owner);
  if (row === undefined) throw notFound("record");
  if (operation.verb === "update") {
    row.record = rule(store, { ...row.record, ...body }, owner);
    return undefined;
  }
  assertQuery(query, operation);
  return row.record;
};

type AnyRecord = { readonly id: string };
/** Checks a record before it is stored, and sets what follows from its other fields. `call` is that of its creation. */
type Rule<T> = (store: Store, record: T, owner: string, call?: SandboxCall) => T;

function placeOf(store: Store, { operation, params }: SandboxCall) {
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
  deposits(store, deposit, _, call) {
    requireGateway(store, "paymentGatewayId", deposit.paymentGatewayId);
    requireNotNegative("amount", deposit.amount);
    if (call === undefined) return deposit;
    return {
      ...deposit,
      blockchainTransactionId: deposit.blockchainTransactionId || newTransactionId(),
      requestUri: call.signedPath,
      requestBody: call.rawText,
      paymentGatewayPublicKeyBase64: call.signature?.publicKeyBase64 ?? "",
      requestSignatureBase64: call.signature?.signatureBase64 ?? "",
    };
  },
  withdrawals(store, withdrawal) {
    requireGateway(store, "paymentGatewayId", withdrawal.paymentGatewayId);
    requireNotNegative("amount", withdrawal.amount);
    requireNotNegative("fee", withdrawal.fee);
    return { ...withdrawal, status: withdrawal.status || "pending" };
  },
  exchangeRates(store, rate) {
    requireGateway(store, "baseGatewayId", rate.baseGatewayId);
    requireGateway(store, "counterGatewayId", rate.counterGatewayId);
    const [buyPriceN, buyPriceD] = fractionOf("buyPrice", rate.buyPrice);
    const [sellPriceN, sellPriceD] = fractionOf("sellPrice", rate.sellPrice);
    return { ...rate, buyPriceN, buyPriceD, sellPriceN, sellPriceD };
  },
  transfers(store, transfer, liquidityProviderId) {
    const { from, to, exchangeRateId, gatewayId } = transfer;
    if (gatewayId !== "") requireGateway(store, "gatewayId", gatewayId);
    requireNotNegative("amount", transfer.amount);
    const needsRate = exchangeRateId !== "" || from === "exchange-rate" || to === "exchange-rate";
    if (!needsRate || store.records.exchangeRates.find(exchangeRateId, liquidityProviderId) !== undefined)
      return transfer;
    throw new SandboxRefusal("unknown_exchange_rate", "exchangeRateId names none of the provider's exchange rates");
  },
};

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

/** A price as a fraction in lowest terms. */
function fractionOf(field: string, price: string): [numerator: number, denominator: number] {
  const { units, scale } = exact(price);
  const whole = 10n ** BigInt(scale);
  const divisor = greatestCommonDivisor(units, whole);
  const [numerator, denominator] = [Number(units / divisor), Number(whole / divisor)];
  if (units > 0n && Number.isSafeInteger(numerator) && Number.isSafeInteger(denominator))
    return [numerator, denominator];
  throw new SandboxRefusal("invalid_value", `${field} must be above zero, and a fraction of integers within 2^53`);
}

function greatestCommonDivisor(one: bigint, other: bigint): bigint {
  let [divisor, rest] = [one, other];
  while (rest !== 0n) [divisor, rest] = [rest, divisor % rest];
  return divisor;
}

function notFound(what: string): SandboxRefusal {
  return new SandboxRefusal("not_found", `there is no such ${what}`);
}

/** Reads and updates of withdrawals by the gateway that pays them out: the same records, as the gateway sees them. */
export const handleGatewayWithdrawal: Handler = (store, { operation, params, query, body }) => {
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
  const changed: Withdrawal = { ...row.record, ...body };
  const checked = rules.withdrawals?.(store, changed, row.owner) ?? changed;
  // No body has the gateway's transaction id. It appears when the gateway has paid.
  const isPaid = checked.status === "processed" && checked.paymentGatewayTransactionId === "";
  row.record = isPaid ? { ...checked, paymentGatewayTransactionId: newTransactionId() } : checked;
  return undefined;
};

function seenFromGateway({ owner, record }: Row<Withdrawal>): GatewayWithdrawal {
  const { id, paymentGatewayTransactionId, amount, fee, currency, blockchainTransactionId, status } = record;
  return {
    ...{ id, gatewayTransactionId: paymentGatewayTransactionId, liquidityProviderId: owner },
    ...{ amount, fee, currency, blockchainTransactionId, status },
  };
}
