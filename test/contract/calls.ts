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

export interface Query {
  readonly size?: number;
  readonly sort?: string | readonly string[];
  readonly after?: string;
  readonly before?: string;
  readonly filter?: object;
}

interface Listed {
  readonly id: string;
  readonly pagingToken?: string;
}

export interface PreparedCalls {
  /** @param by another client of the same service. */
  call(name: OperationName, query?: Query, by?: CrossBorderClient): Promise<unknown>;
  list(name: OperationName, query?: Query): AsyncIterable<Listed>;
}

export const resourceOf = (name: string): string => name.slice(0, Math.max(name.lastIndexOf("."), 0));
export const namesOf = (verb: string) => operationNames.filter((name) => name.endsWith(`.${verb}`));

/** Opens the corridor and creates a record of each resource, with which any operation can be called. */
export async function prepareCalls(client: CrossBorderClient, transactionId?: string): Promise<PreparedCalls> {
  const ids = new Map<string, string>();
  ids.set("liquidityProviders", await openCorridor(client, bodies.paymentGateways.rsaPublicKeyBase64));
  const gateways = await client.paymentGateways.list({ filter: { institutionId: gatewayId } });
  ids.set("paymentGateways", gateways.items[0]?.id ?? "");
  let count = 0;

  /** A method of the client, by its name, with the ids of the records above. */
  function start(name: OperationName, query: Query = {}, by = client, body?: object): unknown {
    const resource = resourceOf(name);
    const [first = "", nested] = resource.split(".");
    const parent: unknown = Reflect.get(by, first);
    const target = nested === undefined ? parent : Reflect.get(Object(parent), nested).call(parent, ids.get(first));
    const parameters = {
      create: [body ?? bodies[resource as keyof typeof bodies]],
      list: [query],
      get: [ids.get(resource), { query: query.filter ?? {} }],
      update: [ids.get(resource), bodies[resource as keyof typeof bodies]],
    };
    const verb = name.slice(resource.length + 1) as keyof typeof parameters;
    return Reflect.get(target, verb).apply(target, parameters[verb]);
  }

  const call: PreparedCalls["call"] = async (name, query, by) => {
    count += 1;
    const transaction = transactionId ?? `TX-${count}`;
    if (name === "paymentGateways.create") {
      return await start(name, query, by, { ...bodies.paymentGateways, institutionId: transaction });
    }
    if (name === "liquidityProviders.deposits.create") {
      const deposit = { ...bodies["liquidityProviders.deposits"], paymentGatewayTransactionId: transaction };
      return await start(name, query, by, deposit);
    }
    if (name !== "payments.create") return await start(name, query, by);
    const intent = await client.paymentIntents.create(intentRequest);
    return await start(name, query, by, paymentFromIntent(intent, transaction));
  };

  for (const name of namesOf("create")) {
    const { id } = (await call(name)) as Listed;
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
