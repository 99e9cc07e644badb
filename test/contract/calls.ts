import type {
  CrossBorderClient,
  DepositFields,
  ExchangeRateFields,
  GatewayWithdrawalFields,
  LiquidityProviderFields,
  OperationName,
  PaymentGatewayFields,
  PaymentIntentRequest,
  TransferFields,
  WithdrawalFields,
} from "cross-border-payments";
import { operationNames, paymentFromIntent } from "cross-border-payments";
import { intentRequest, openCorridor } from "../support/corridor.js";
import { signingKeysOf } from "../support/key-pairs.js";

/** A body with each field of its type: one field more or less doesn't compile. */
type Full<Body> = { [Field in keyof Body]-?: NonNullable<Body[Field]> };

const gatewayId = "beta-mobile";

export const bodies = {
  paymentGateways: {
    countryCode: "TZ",
    currency: "TZS",
    type: "bank",
    institutionId: gatewayId,
    name: "Gamma “Bank”",
    feeStructure: "flat",
    rsaPublicKeyBase64: signingKeysOf("gateway").publicKeyBase64,
    email: "g@example.com",
    website: "https://gamma.example.com/?a=b&c",
    accountVerificationEndpoint: "https://gamma.example.com/accounts",
    accountVerificationBearerToken: "s3cret",
  } satisfies Full<PaymentGatewayFields>,
  liquidityProviders: {
    firstName: "Zoë",
    lastName: "Quid",
    email: "zoe@example.com",
  } satisfies Full<LiquidityProviderFields>,
  "liquidityProviders.deposits": {
    paymentGatewayId: gatewayId,
    paymentGatewayTransactionId: "D-1",
    amount: "100.00",
    currency: "KES",
    blockchainTransactionId: "b-1",
  } satisfies Full<DepositFields>,
  "liquidityProviders.withdrawals": {
    paymentGatewayId: gatewayId,
    amount: "123456789012345678901234567890.123456789012345678901234567890",
    fee: "0.10",
    currency: "KES",
    blockchainTransactionId: "b-2",
    status: "requested",
  } satisfies Full<WithdrawalFields>,
  "liquidityProviders.exchangeRates": {
    baseGatewayId: gatewayId,
    counterGatewayId: "alpha-bank",
    baseCurrency: "KES",
    counterCurrency: "EUR",
    buyPrice: "0.0066",
    sellPrice: "0.0067",
  } satisfies Full<ExchangeRateFields>,
  "liquidityProviders.transfers": {
    from: "wallet",
    to: "wallet",
    exchangeRateId: "",
    gatewayId,
    currency: "KES",
    amount: "5.00",
  } satisfies Full<TransferFields>,
  "paymentGateways.withdrawals": {
    amount: "10.00",
    fee: "0.20",
    currency: "KES",
    blockchainTransactionId: "b-3",
    status: "processed",
  } satisfies Full<GatewayWithdrawalFields>,
  paymentIntents: intentRequest satisfies Full<PaymentIntentRequest>,
};

export interface Given {
  readonly client: CrossBorderClient;
  /** The record that the resource is nested under. */
  readonly owner: string;
  /** The record that is read or updated. */
  readonly id: string;
  readonly query: {
    readonly size?: number;
    readonly sort?: never;
    readonly after?: string;
    readonly before?: string;
    readonly filter?: object;
  };
  readonly transactionId: string;
}

type Call = (given: Given) => PromiseLike<unknown>;

interface Calls {
  readonly create: Call;
  readonly list: Call;
  readonly get: Call;
  readonly update: Call;
}

/** The four calls of a resource, each with its full body. */
function callsOf<Body extends object>(
  body: Body,
  resourceOf: (given: Given) => {
    create?(body: Body): PromiseLike<unknown>;
    list?(query: Given["query"]): PromiseLike<unknown>;
    get(id: string, options: { readonly query: object }): PromiseLike<unknown>;
    update?(id: string, body: Body): PromiseLike<unknown>;
  },
): Calls {
  const missing = () => Promise.reject(new TypeError("the resource has no such call"));
  return {
    create: (given) => resourceOf(given).create?.(body) ?? missing(),
    list: (given) => resourceOf(given).list?.(given.query) ?? missing(),
    get: (given) => resourceOf(given).get(given.id, { query: given.query.filter ?? {} }),
    update: (given) => resourceOf(given).update?.(given.id, body) ?? missing(),
  };
}

const providers = ({ client }: Given) => client.liquidityProviders;
const resources: Readonly<Record<string, Partial<Calls>>> = {
  paymentGateways: {
    ...callsOf(bodies.paymentGateways, ({ client }) => client.paymentGateways),
    create: ({ client, transactionId }) =>
      client.paymentGateways.create({ ...bodies.paymentGateways, institutionId: `bank of ${transactionId}` }),
  },
  liquidityProviders: callsOf(bodies.liquidityProviders, providers),
  "liquidityProviders.deposits": {
    ...callsOf(bodies["liquidityProviders.deposits"], (given) => providers(given).deposits(given.owner)),
    create: (given) =>
      providers(given)
        .deposits(given.owner)
        .create({ ...bodies["liquidityProviders.deposits"], paymentGatewayTransactionId: given.transactionId }),
  },
  "liquidityProviders.withdrawals": callsOf(bodies["liquidityProviders.withdrawals"], (given) =>
    providers(given).withdrawals(given.owner),
  ),
  "liquidityProviders.exchangeRates": callsOf(bodies["liquidityProviders.exchangeRates"], (given) =>
    providers(given).exchangeRates(given.owner),
  ),
  "liquidityProviders.transfers": callsOf(bodies["liquidityProviders.transfers"], (given) =>
    providers(given).transfers(given.owner),
  ),
  "paymentGateways.withdrawals": callsOf(bodies["paymentGateways.withdrawals"], ({ client, owner }) =>
    client.paymentGateways.withdrawals(owner),
  ),
  paymentIntents: callsOf(bodies.paymentIntents, ({ client }) => client.paymentIntents),
  payments: {
    create: async ({ client, transactionId }) =>
      client.payments.create(paymentFromIntent(await client.paymentIntents.create(intentRequest), transactionId)),
    list: ({ client, query }) => client.payments.list(query),
  },
};

export const resourceOf = (name: string): string => name.slice(0, Math.max(name.lastIndexOf("."), 0));

interface Listed {
  readonly id: string;
  readonly pagingToken?: string;
}

export interface PreparedCalls {
  /** @param by another client of the same service. */
  call(name: OperationName, query?: Given["query"], by?: CrossBorderClient): Promise<unknown>;
  list(name: OperationName, query?: Given["query"]): AsyncIterable<Listed>;
}

/** Opens the corridor and creates a record of each resource, with which any operation can be called. */
export async function prepareCalls(client: CrossBorderClient, transactionId?: string): Promise<PreparedCalls> {
  const ids = new Map<string, string>();
  const provider = await openCorridor(client, bodies.paymentGateways.rsaPublicKeyBase64);
  const gateways = await client.paymentGateways.list({ filter: { institutionId: gatewayId } });
  ids.set("liquidityProviders", provider);
  ids.set("paymentGateways", gateways.items[0]?.id ?? "");
  let count = 0;
  const start = (name: OperationName, query: Given["query"] = {}, by = client): unknown => {
    const resource = resourceOf(name);
    const verb = name.slice(resource.length + 1) as keyof Calls;
    const [owner = "", id = ""] = [ids.get(resourceOf(resource)), ids.get(resource)];
    count += 1;
    return resources[resource]?.[verb]?.({
      client: by,
      owner,
      id,
      query,
      transactionId: transactionId ?? `TX-${count}`,
    });
  };
  const call: PreparedCalls["call"] = async (name, query, by) => await start(name, query, by);
  for (const name of operationNames.filter((each) => each.endsWith(".create"))) {
    const { id } = (await call(name)) as { readonly id: string };
    if (!ids.has(resourceOf(name))) ids.set(resourceOf(name), id);
  }
  ids.set("paymentGateways.withdrawals", ids.get("liquidityProviders.withdrawals") ?? "");
  return { call, list: (name, query) => start(name, query) as AsyncIterable<Listed> };
}

/** Calls every operation at least once. */
export async function callEverything(client: CrossBorderClient, transactionId?: string): Promise<void> {
  const { call } = await prepareCalls(client, transactionId);
  for (const name of operationNames.filter((each) => !each.endsWith(".create"))) await call(name);
}
