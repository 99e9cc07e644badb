import {
  ApiError,
  type ApiPromise,
  BrowserLogin,
  type ClientOptions,
  CrossBorderClient,
  type CrossBorderError,
  type Deposit,
  type Effect,
  type ExchangeRate,
  type Listing,
  OutcomeUnknownError,
  type Page,
  type Payment,
  type PaymentIntent,
  type PaymentRequest,
  paymentFromIntent,
  type RawRequest,
  ServerLogin,
  type ServerSession,
  type WithResponse,
} from "cross-border-payments";
import { describe, expectTypeOf, it } from "vitest";

declare const client: CrossBorderClient;
declare const intent: PaymentIntent;

const auth = { authUrl: "https://login.test", realm: "r", clientId: "c", username: "u", password: "p" };

describe("options", () => {
  it("take the password grant, or a token source of the caller's own", () => {
    expectTypeOf({ baseUrl: "https://a.test", auth }).toExtend<ClientOptions>();
    expectTypeOf({ baseUrl: "https://a.test", auth: { accessToken: async () => "t" } }).toExtend<ClientOptions>();
  });

  it("take a user who logs in", () => {
    expectTypeOf<BrowserLogin>().toExtend<ClientOptions["auth"]>();
    expectTypeOf<ServerSession>().toExtend<ClientOptions["auth"]>();
    expectTypeOf<BrowserLogin["redirect"]>().returns.resolves.toBeNever();
    expectTypeOf<ServerSession["claims"]["sub"]>().toEqualTypeOf<string>();
    const page = { authUrl: "https://a.test", realm: "r", clientId: "c", redirectUri: "https://b.test" };
    // @ts-expect-error a page keeps no secret
    new BrowserLogin({ ...page, clientSecret: "s" });
    // @ts-expect-error a login leads back somewhere
    new ServerLogin({ authUrl: "https://a.test", realm: "r", clientId: "c" });
  });

  it("refuse what there is not", () => {
    // @ts-expect-error there is no option `retries`
    new CrossBorderClient({ baseUrl: "https://a.test", auth, retries: 3 });
    // @ts-expect-error auth is needed
    new CrossBorderClient({ baseUrl: "https://a.test" });
    // @ts-expect-error there is no such operation
    new CrossBorderClient({ baseUrl: "https://a.test", auth, signedOperations: ["payments.delete"] });
    // @ts-expect-error there is no option `timeout`
    client.payments.list({}, { timeout: 1 });
    // @ts-expect-error a list takes filters in its query, not in the options
    client.payments.list({}, { query: {} });
    // @ts-expect-error an update takes no query
    client.liquidityProviders.update("1", {}, { query: {} });
  });
});

describe("bodies", () => {
  it("take undefined for a field that is left out, as filters do", () => {
    const text: string | undefined = Math.random() > 1 ? "x" : undefined;
    client.paymentGateways.create({ institutionId: "a", email: text });
    client.liquidityProviders.transfers("1").create({ from: undefined, gatewayId: text });
    client.payments.list({ filter: { memo: text, other: undefined } });
    client.paymentIntents.get("1", { query: { memo: text, extras: text } });
    expectTypeOf<PaymentRequest["id"]>().toEqualTypeOf<string | undefined>();
  });

  it("carry the described fields and no others", () => {
    const deposits = client.liquidityProviders.deposits("1");
    expectTypeOf(deposits.create).parameter(0).toExtend<{ amount?: string | undefined }>();
    // @ts-expect-error requestBody is response only
    deposits.create({ amount: "1", requestBody: "{}" });
    // @ts-expect-error amounts are strings
    deposits.create({ amount: 1 });
    // @ts-expect-error paymentGatewayTransactionId of a withdrawal is response only
    client.liquidityProviders.withdrawals("1").create({ paymentGatewayTransactionId: "x" });
    // @ts-expect-error a gateway's update of a withdrawal has no liquidityProviderId
    client.paymentGateways.withdrawals("1").update("2", { liquidityProviderId: "3" });
    // @ts-expect-error an intent has all eight fields
    client.paymentIntents.create({ memo: "" });
  });

  it("of a transfer name on creation the two ends that there are; an update takes any, as records do", async () => {
    const transfers = client.liquidityProviders.transfers("lp");
    expectTypeOf(transfers.create).toBeCallableWith({ from: "wallet", to: "exchange-rate" });
    expectTypeOf(transfers.update).toBeCallableWith("t", { from: "bank" });
    // @ts-expect-error a bank is no end of a new transfer
    transfers.create({ from: "bank" });
    // @ts-expect-error a transfer that was read may have other ends
    transfers.create(await transfers.get("t"));
  });

  it("of an update take the record as it was read, with what is changed", async () => {
    const lp = client.liquidityProviders;
    lp.update("1", { ...(await lp.get("1")), email: "a@b.test" });
    lp.deposits("1").update("2", { ...(await lp.deposits("1").get("2")), amount: "1" });
    lp.withdrawals("1").update("2", { ...(await lp.withdrawals("1").get("2")), status: "done" });
    const gateways = client.paymentGateways;
    gateways.update("1", { ...(await gateways.get("1")), email: "a@b.test" });
    gateways.withdrawals("1").update("2", { ...(await gateways.withdrawals("1").get("2")), status: "done" });
    // @ts-expect-error there is no such field
    lp.update("1", { ...(await lp.get("1")), emial: "a@b.test" });
  });

  it("of a payment are made from an intent", () => {
    expectTypeOf(paymentFromIntent(intent, "TX")).toEqualTypeOf<PaymentRequest>();
    // @ts-expect-error senderGatewayTransactionId is missing
    client.payments.create(intent);
  });
});

describe("calls that are not described", () => {
  it("take an id for each parameter of the path, and give what nobody knows", () => {
    const made = client.request({ method: "POST", path: "/refunds/{refundId}/approve", ids: ["1"], body: {} });
    expectTypeOf(made).toEqualTypeOf<ApiPromise<unknown>>();
    client.request({ method: "GET", path: "/refunds", query: { size: 1, all: true, after: undefined } });
    // @ts-expect-error an id is missing
    client.request({ method: "GET", path: "/refunds/{refundId}" });
    // @ts-expect-error there is no parameter for this one
    client.request({ method: "GET", path: "/refunds", ids: ["1"] });
    const named: RawRequest = { method: "GET", path: "/refunds/{refundId}", ids: ["1"] };
    client.request(named);
  });
});

describe("responses", () => {
  it("are promises of records that know the response around them", () => {
    expectTypeOf(client.paymentIntents.get("1")).toEqualTypeOf<ApiPromise<PaymentIntent>>();
    expectTypeOf(client.paymentIntents.get("1").withResponse()).toEqualTypeOf<Promise<WithResponse<PaymentIntent>>>();
    expectTypeOf(client.liquidityProviders.update("1", {})).toEqualTypeOf<ApiPromise<void>>();
    expectTypeOf(client.payments.list()).toEqualTypeOf<Listing<Payment>>();
    expectTypeOf<Awaited<Listing<Deposit>>>().toEqualTypeOf<Page<Deposit>>();
  });

  it("keep statuses open, amounts strings and companions numbers", () => {
    expectTypeOf<"pending">().toExtend<Payment["senderGatewayStatus"]>();
    expectTypeOf<"a status of next year">().toExtend<Payment["senderGatewayStatus"]>();
    expectTypeOf<Payment["senderAmount"]>().toEqualTypeOf<string>();
    expectTypeOf<ExchangeRate["buyPriceN"]>().toEqualTypeOf<number>();
    expectTypeOf<Payment["extras"]>().toEqualTypeOf<unknown>();
  });

  it("of a payment in two steps are told apart by their status", async () => {
    const outcome = await client.pay(intent, () => null);
    expectTypeOf(outcome.status).toEqualTypeOf<"paid" | "declined">();
    if (outcome.status === "paid") expectTypeOf(outcome.payment).toEqualTypeOf<Payment>();
    // @ts-expect-error a declined payment has no record
    else outcome.payment;
  });
});

describe("lists", () => {
  it("sort and filter by the record's own fields", () => {
    client.payments.list({ sort: "createdAt.desc,id.asc" });
    client.payments.list({ sort: ["createdAt.desc", "id.asc"], size: 10, after: "1", filter: { memo: "x" } });
    // @ts-expect-error a term of an array is one term
    client.payments.list({ sort: ["createdAt.desc,id.asc"] });
    // @ts-expect-error options stand behind the query
    client.payments.list({ signal: new AbortController().signal });
    // @ts-expect-error there is no such field
    client.payments.list({ sort: "created.desc" });
    client.payments.list({ filter: { receiverGatewayStatus: "error", other: { region: "east" } } });
    // @ts-expect-error a field that is misspelt: the compiler names receiverGatewayStatus
    client.payments.list({ filter: { recieverGatewayStatus: "error" } });
    // @ts-expect-error deposits do not filter by id
    client.liquidityProviders.deposits("1").list({ filter: { id: "1" } });
    // @ts-expect-error N and D are integers
    client.liquidityProviders.exchangeRates("1").list({ filter: { buyPriceN: "3" } });
    // @ts-expect-error toArray needs a maximum
    client.payments.list().toArray();
  });

  it("give records and pages", () => {
    expectTypeOf(client.payments.list().pages()).toEqualTypeOf<AsyncGenerator<Page<Payment>, void, undefined>>();
    expectTypeOf(client.payments.list().toArray({ max: 1 })).toEqualTypeOf<Promise<Payment[]>>();
  });
});

describe("errors", () => {
  it("say what the call did", () => {
    expectTypeOf<CrossBorderError["effect"]>().toEqualTypeOf<Effect>();
    expectTypeOf<Effect>().toEqualTypeOf<"none" | "possible" | "done">();
    const error: unknown = undefined;
    if (error instanceof OutcomeUnknownError) expectTypeOf(error.request.body).toEqualTypeOf<string>();
    if (error instanceof ApiError) expectTypeOf(error.status).toEqualTypeOf<number>();
  });
});
