import { type CrossBorderClient, type OperationName, operationNames, paymentFromIntent } from "cross-border-payments";
import { intentRequest } from "../support/corridor.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { type Harness, prepareCorridor } from "./harness.js";

/** What a call needs. */
interface Context {
  readonly client: CrossBorderClient;
  /** The record that the resource is nested under. */
  readonly owner: string;
  /** The record that is read or updated. */
  readonly id: string;
  readonly query: ListedAs;
  /** How many records were created before: no two are equal. */
  readonly number: number;
  /** By which payments and deposits are known to belong to their requests. */
  readonly transactionId: string;
}

export interface ListedAs {
  readonly size?: number | undefined;
  readonly sort?: "id.asc" | "id.desc";
}

interface Identified {
  readonly id: string;
}

interface Results {
  readonly create: PromiseLike<Identified>;
  readonly get: PromiseLike<object>;
  readonly update: PromiseLike<void>;
  readonly list: PromiseLike<object> & AsyncIterable<Identified>;
}

interface DescribedOperation<Result> {
  /** Method and path, as the description has them. */
  readonly text: `${string} /${string}`;
  /** Whether the description says that it is signed. */
  readonly isSigned?: true;
  /** Whether the description shows a `pagingToken` in the records of the list. */
  readonly hasPagingTokens?: true;
  readonly call: (context: Context) => Result;
}

type Verb = keyof Results;
/** `create` of `liquidityProviders.deposits.create`. */
type VerbOf<Name> = Name extends `${string}.${infer Rest}` ? VerbOf<Rest> : Name;
type DescribedOperations = {
  readonly [Name in OperationName]: DescribedOperation<Results[VerbOf<Name> & Verb]>;
};

const gatewayId = "beta-mobile";
const { publicKeyBase64: rsaPublicKeyBase64 } = signingKeysOf("gateway");
const person = { lastName: "Quid", email: "quid@example.com" };
const sum = { amount: "10.00", fee: "0.10", currency: "KES" };
export const withdrawal = { paymentGatewayId: gatewayId, ...sum, status: "requested" };
const prices = { buyPrice: "0.0066", sellPrice: "0.0067" };
const rate = { baseGatewayId: gatewayId, counterGatewayId: "alpha-bank", baseCurrency: "KES", counterCurrency: "EUR" };
const transfer = { from: "wallet", to: "wallet", exchangeRateId: "", gatewayId, currency: "KES" } as const;

const amountOf = ({ number }: Context) => `${number + 1}.00`;
const deposit = (context: Context) => ({
  paymentGatewayId: gatewayId,
  paymentGatewayTransactionId: context.transactionId,
  amount: amountOf(context),
  currency: "KES",
});
const depositsOf = ({ client, owner }: Context) => client.liquidityProviders.deposits(owner);
const withdrawalsOf = ({ client, owner }: Context) => client.liquidityProviders.withdrawals(owner);
const ratesOf = ({ client, owner }: Context) => client.liquidityProviders.exchangeRates(owner);
const transfersOf = ({ client, owner }: Context) => client.liquidityProviders.transfers(owner);
const gatewayWithdrawalsOf = ({ client, owner }: Context) => client.paymentGateways.withdrawals(owner);

/** The "Operations" table of the interface description 0.0.1, each with a call. The client has to have these, no more and no less. */
export const describedOperations: DescribedOperations = {
  "paymentGateways.create": {
    text: "POST /payment-gateways",
    call: ({ client, number }) =>
      client.paymentGateways.create({ institutionId: `bank-${number}`, currency: "TZS", rsaPublicKeyBase64 }),
  },
  "paymentGateways.list": {
    text: "GET /payment-gateways",
    call: ({ client, query }) => client.paymentGateways.list(query),
  },
  "paymentGateways.get": {
    text: "GET /payment-gateways/{}",
    call: ({ client, id }) => client.paymentGateways.get(id, { query: { institutionId: gatewayId } }),
  },
  "paymentGateways.update": {
    text: "PUT /payment-gateways/{}",
    call: ({ client, id }) =>
      client.paymentGateways.update(id, {
        institutionId: gatewayId,
        currency: "KES",
        rsaPublicKeyBase64,
        name: "Beta",
      }),
  },
  "liquidityProviders.create": {
    text: "POST /liquidity-providers",
    call: ({ client, number }) => client.liquidityProviders.create({ ...person, firstName: `P${number}` }),
  },
  "liquidityProviders.list": {
    text: "GET /liquidity-providers",
    call: ({ client, query }) => client.liquidityProviders.list(query),
  },
  "liquidityProviders.get": {
    text: "GET /liquidity-providers/{}",
    call: ({ client, id }) => client.liquidityProviders.get(id),
  },
  "liquidityProviders.update": {
    text: "PUT /liquidity-providers/{}",
    call: ({ client, id }) => client.liquidityProviders.update(id, { ...person, firstName: "New" }),
  },
  "liquidityProviders.deposits.create": {
    text: "POST /liquidity-providers/{}/deposits",
    isSigned: true,
    call: (context) => depositsOf(context).create(deposit(context)),
  },
  "liquidityProviders.deposits.list": {
    text: "GET /liquidity-providers/{}/deposits",
    call: (context) => depositsOf(context).list(context.query),
  },
  "liquidityProviders.deposits.get": {
    text: "GET /liquidity-providers/{}/deposits/{}",
    call: (context) => depositsOf(context).get(context.id, { query: { currency: "KES" } }),
  },
  "liquidityProviders.deposits.update": {
    text: "PUT /liquidity-providers/{}/deposits/{}",
    call: (context) => depositsOf(context).update(context.id, deposit(context)),
  },
  "liquidityProviders.withdrawals.create": {
    text: "POST /liquidity-providers/{}/withdrawals",
    call: (context) => withdrawalsOf(context).create({ ...withdrawal, amount: amountOf(context) }),
  },
  "liquidityProviders.withdrawals.list": {
    text: "GET /liquidity-providers/{}/withdrawals",
    call: (context) => withdrawalsOf(context).list(context.query),
  },
  "liquidityProviders.withdrawals.get": {
    text: "GET /liquidity-providers/{}/withdrawals/{}",
    call: (context) => withdrawalsOf(context).get(context.id),
  },
  "liquidityProviders.withdrawals.update": {
    text: "PUT /liquidity-providers/{}/withdrawals/{}",
    call: (context) => withdrawalsOf(context).update(context.id, withdrawal),
  },
  "liquidityProviders.exchangeRates.create": {
    text: "POST /liquidity-providers/{}/exchange-rates",
    call: (context) => ratesOf(context).create({ ...rate, ...prices }),
  },
  "liquidityProviders.exchangeRates.list": {
    text: "GET /liquidity-providers/{}/exchange-rates",
    call: (context) => ratesOf(context).list(context.query),
  },
  "liquidityProviders.exchangeRates.get": {
    text: "GET /liquidity-providers/{}/exchange-rates/{}",
    call: (context) => ratesOf(context).get(context.id),
  },
  "liquidityProviders.exchangeRates.update": {
    text: "PUT /liquidity-providers/{}/exchange-rates/{}",
    call: (context) => ratesOf(context).update(context.id, { ...rate, ...prices }),
  },
  "liquidityProviders.transfers.create": {
    text: "POST /liquidity-providers/{}/transfers",
    call: (context) => transfersOf(context).create({ ...transfer, amount: amountOf(context) }),
  },
  "liquidityProviders.transfers.list": {
    text: "GET /liquidity-providers/{}/transfers",
    call: (context) => transfersOf(context).list(context.query),
  },
  "liquidityProviders.transfers.get": {
    text: "GET /liquidity-providers/{}/transfers/{}",
    call: (context) => transfersOf(context).get(context.id),
  },
  "liquidityProviders.transfers.update": {
    text: "PUT /liquidity-providers/{}/transfers/{}",
    call: (context) => transfersOf(context).update(context.id, { ...transfer, amount: "6.00" }),
  },
  "paymentGateways.withdrawals.list": {
    text: "GET /payment-gateways/{}/withdrawals",
    call: (context) => gatewayWithdrawalsOf(context).list(context.query),
  },
  "paymentGateways.withdrawals.get": {
    text: "GET /payment-gateways/{}/withdrawals/{}",
    call: (context) => gatewayWithdrawalsOf(context).get(context.id),
  },
  "paymentGateways.withdrawals.update": {
    text: "PUT /payment-gateways/{}/withdrawals/{}",
    call: (context) =>
      gatewayWithdrawalsOf(context).update(context.id, { ...sum, status: "processed", blockchainTransactionId: "b" }),
  },
  "paymentIntents.create": {
    text: "POST /payment-intents",
    call: ({ client }) => client.paymentIntents.create(intentRequest),
  },
  "paymentIntents.get": {
    text: "GET /payment-intents/{}",
    call: ({ client, id }) => client.paymentIntents.get(id, { query: { memo: "school fees" } }),
  },
  "payments.create": {
    text: "POST /payments",
    isSigned: true,
    call: async ({ client, transactionId }) =>
      client.payments.create(paymentFromIntent(await client.paymentIntents.create(intentRequest), transactionId)),
  },
  "payments.list": {
    text: "GET /payments",
    hasPagingTokens: true,
    call: ({ client, query }) => client.payments.list(query),
  },
};

type NameOf<Verb extends string> = Extract<OperationName, `${string}.${Verb}`>;
const namesOf = <const Verb extends string>(verb: Verb) =>
  operationNames.filter((name): name is NameOf<Verb> => name.endsWith(`.${verb}`));
const creates = namesOf("create");
export const lists = namesOf("list");

const parentOf = (name: string): string => name.slice(0, Math.max(name.lastIndexOf("."), 0));

export interface Calls {
  /** Makes a record that this operation gets, updates or lists, and gives its id. */
  create(name: OperationName): Promise<string>;
  list(name: (typeof lists)[number], query: ListedAs): AsyncIterable<Identified>;
  /** Any operation, with a record for it where it needs one. */
  call(name: OperationName): Promise<void>;
}

/** Calls by their names, each with the ids of records that there are. */
export async function prepareCalls(harness: Harness, transactionId?: string): Promise<Calls> {
  const { client, liquidityProviderId } = await prepareCorridor(harness);
  const [gateway] = (await client.paymentGateways.list({ filter: { institutionId: gatewayId } })).items;
  const ids = new Map([
    ["liquidityProviders", liquidityProviderId],
    ["paymentGateways", gateway?.id ?? ""],
  ]);
  let number = 0;

  async function contextOf(name: OperationName, query: ListedAs = {}): Promise<Context> {
    const owner = parentOf(parentOf(name));
    const id = ids.get(parentOf(name)) ?? "";
    return {
      ...{ client, id, query, number, transactionId: transactionId ?? `TX-${number}` },
      owner: owner === "" ? "" : (ids.get(owner) ?? (await create(`${owner}.list` as OperationName))),
    };
  }

  async function create(name: OperationName): Promise<string> {
    const resource = parentOf(name);
    // A gateway's withdrawals are created by providers.
    const last = resource.slice(resource.lastIndexOf(".") + 1);
    const creating = creates.find((each) => `.${each}`.endsWith(`.${last}.create`));
    if (creating === undefined) throw new TypeError(`nothing creates a record for ${name}`);
    const { id } = await describedOperations[creating].call(await contextOf(creating));
    number++;
    if (!ids.has(resource)) ids.set(resource, id);
    return id;
  }

  return {
    create,
    async *list(name, query) {
      yield* describedOperations[name].call(await contextOf(name, query));
    },
    async call(name) {
      if (name.endsWith(".create")) return void (await create(name));
      if (!ids.has(parentOf(name))) await create(name);
      await describedOperations[name].call(await contextOf(name, { size: 10, sort: "id.asc" }));
    },
  };
}

/** Calls every operation at least once. */
export async function callEverything(harness: Harness, transactionId?: string): Promise<void> {
  const calls = await prepareCalls(harness, transactionId);
  for (const name of operationNames) await calls.call(name);
}
