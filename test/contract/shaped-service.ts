import { type ClientOptions, CrossBorderClient, type PaymentIntentRequest } from "cross-border-payments";
import { intentRequest } from "../support/corridor.js";
import { signingKeysOf } from "../support/key-pairs.js";

type Fields = Readonly<Record<string, unknown>>;

/** An ordinary service whose records differ from the description. */
export interface Shape {
  readonly name: string;
  /** What it makes of the records that it returns. */
  readonly shape: (record: Fields) => Fields;
  readonly request?: Partial<PaymentIntentRequest>;
}

const reversed = (record: Fields) => Object.fromEntries(Object.entries(record).reverse());
const change = (changes: Fields) => (record: Fields) => {
  const own = Object.entries(changes).filter(([field]) => Object.hasOwn(record, field));
  return { ...record, ...Object.fromEntries(own) };
};
const iban = { compact: "DE89370400440532013000", grouped: "DE89 3704 0044 0532 0130 00" };

export const shapes: readonly Shape[] = [
  { name: "as described", shape: (record) => record },
  { name: "one more field", shape: (record) => ({ ...record, createdAt: "today", limits: { daily: [5, null] } }) },
  {
    name: "nulls in text fields",
    shape: change({ memo: null, receiverName: null, senderName: null, email: null, lastName: null, extras: null }),
  },
  { name: "a fee as Java writes zero", shape: change({ receivingGatewayFee: "0E-7", fee: "0E-7" }) },
  { name: "no extras", shape: change({ extras: undefined }) },
  { name: "numbers for ids", shape: change({ id: 17, paymentGatewayId: 9_007_199_254_740_991 }) },
  {
    name: "numbers for amounts",
    shape: change({ senderAmount: 100.25, receiverAmount: 15_000, receivingGatewayFee: 0.1, amount: 12.5, fee: 0 }),
  },
  { name: "amounts with one digit after the point", shape: change({ receiverAmount: "15000.0", amount: "12.5" }) },
  { name: "whole amounts", shape: change({ receiverAmount: "15000" }) },
  { name: "amounts with an exponent", shape: change({ receiverAmount: "1.5E+4", senderAmount: "1E2" }) },
  {
    name: "an account in groups",
    shape: change({ receiverAccount: iban.grouped }),
    request: { receiverAccount: iban.compact },
  },
  {
    name: "an account without groups",
    shape: change({ receiverAccount: iban.compact }),
    request: { receiverAccount: iban.grouped },
  },
  { name: "an account as a number", shape: change({ senderAccount: 1234567 }), request: { senderAccount: "1234567" } },
  {
    name: "texts trimmed",
    shape: change({ memo: "fees", senderAccount: "A 1" }),
    request: { memo: " fees ", senderAccount: " A 1 " },
  },
  { name: "keys in another order", shape: reversed },
];

interface Handled {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** What the service does beside shaping its records. */
export interface ServiceFaults {
  /** The statuses of created payments. */
  readonly statuses?: Fields;
  /** Loses the response to a payment that it has made. */
  readonly losesPayments?: boolean;
}

/** The service in memory, with records of one shape, and a client of it. */
export function shapedService({ shape, request }: Pick<Shape, "shape" | "request">, faults: ServiceFaults = {}) {
  const handled: Handled[] = [];
  const payments: Fields[] = [];
  const mismatches: { readonly field: string; readonly found: string }[] = [];
  const provider = { id: "lp-1", firstName: "Lina", lastName: "Quid", email: "l@example.com" };
  const deposit = {
    id: "d-1",
    paymentGatewayId: "beta-mobile",
    paymentGatewayTransactionId: "D-1",
    amount: "12.50",
    currency: "KES",
    blockchainTransactionId: "b-1",
    requestUri: "/x",
    requestBody: "{}",
    paymentGatewayPublicKeyBase64: "a2V5",
    requestSignatureBase64: "c2ln",
  };
  const intentOf = (sent: Fields) => ({
    id: "pi-1",
    ...sent,
    senderAmount: "100.25",
    senderName: "Ada Sender",
    receiverName: "Baraka Receiver",
    receivingGatewayFee: "0.10",
    extras: { quote: 7 },
  });
  const paymentOf = (body: string, signature: string | null) => ({
    ...JSON.parse(body),
    id: `p-${payments.length + 1}`,
    pagingToken: String(payments.length + 1),
    createdAt: new Date().toISOString(),
    updatedAt: new Date().toISOString(),
    receiverGatewayTransactionId: "",
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    creationRequestUrl: "/payments",
    creationRequestBody: body,
    creationRequestSignatureBase64: signature,
    ...faults.statuses,
  });
  const respond = ({ method, path, body }: Handled, signature: string | null): unknown => {
    if (method === "PUT") return null;
    if (path.startsWith("/liquidity-providers/") && path.includes("deposits/")) return shape(deposit);
    if (path.startsWith("/liquidity-providers/")) return shape(provider);
    if (path === "/payment-intents") return shape(intentOf(JSON.parse(body)));
    if (method === "GET") return payments.toReversed();
    const payment = paymentOf(body, signature);
    payments.push(shape(payment));
    return faults.losesPayments ? undefined : shape(payment);
  };
  const fetch: ClientOptions["fetch"] = async (url, init) => {
    const { pathname: path, search } = new URL(String(url));
    const call = { method: init?.method ?? "GET", path, body: new TextDecoder().decode(init?.body as Uint8Array) };
    handled.push(call);
    const isLater = /_after|_before/.test(search);
    const data = respond(call, new Headers(init?.headers).get("x-service-signature-base64"));
    return data === undefined ? Response.error() : Response.json(isLater ? [] : data);
  };
  const client = (options: Partial<ClientOptions> = {}) =>
    new CrossBorderClient({
      baseUrl: "https://service.test",
      auth: { accessToken: () => "token" },
      signingKey: signingKeysOf("gateway").privateKey,
      fetch,
      on: { mismatch: (event) => void mismatches.push(event) },
      ...options,
    });
  return {
    client,
    mismatches,
    payments,
    request: { ...intentRequest, ...request },
    provider: shape(provider),
    deposit: shape(deposit),
    intent: shape(intentOf({ ...intentRequest, ...request })),
    /** Bodies that came to a path, as they were parsed. */
    bodies: (wanted: string): Fields[] =>
      handled.filter(({ path, body }) => path === wanted && body !== "").map(({ body }) => JSON.parse(body)),
  };
}
