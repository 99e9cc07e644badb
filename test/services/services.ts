import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import { fields as described } from "../contract/described-api.js";
import { kindsOfTokens, selectPage } from "../paging/select-page.js";
import { originOf } from "../support/origin-of.js";

export type StoredRecord = Record<string, unknown> & { readonly id: string | number };

/** How a plausible service fills in what the description leaves open. */
export interface ServiceTraits {
  /** `_after` and `_before` include the record whose token they are. */
  readonly isInclusive?: boolean;
  readonly tokenOf?: (place: number) => string | number;
  /** Which records have a paging token. The description shows it on payments. */
  readonly tokensOn?: "payments" | "all" | "none";
  readonly newestFirst?: boolean;
  /** The largest `_size`, and the size of a page that leaves it open. */
  readonly cap?: number;
  readonly sort?: "honored" | "refused" | "ignored";
  readonly mayListPayments?: boolean;
  /** A record is listed this long after it was made. */
  readonly lagMs?: number;
  readonly createdAt?: (ms: number) => string;
  /** Changes a record on its way out. */
  readonly shown?: (record: StoredRecord) => Record<string, unknown>;
  readonly compresses?: boolean;
  /** What the payer asks for instead of the usual. */
  readonly request?: Readonly<Record<string, string>>;
}

const iso = (ms: number) => new Date(ms).toISOString();
const amountFields = ["senderAmount", "receiverAmount", "receivingGatewayFee", "amount"];
const mapped = (record: StoredRecord, change: (value: unknown, field: string) => unknown) =>
  Object.fromEntries(Object.entries(record).map(([field, value]) => [field, change(value, field)]));
const amounts = (to: (amount: string) => unknown) => (record: StoredRecord) =>
  mapped(record, (value, field) => (amountFields.includes(field) ? to(String(value)) : value));

const changed = (changes: Readonly<Record<string, unknown>>) => (record: StoredRecord) =>
  mapped(record, (value, field) => (Object.hasOwn(changes, field) ? changes[field] : value));
const iban = { compact: "DE89370400440532013000", grouped: "DE89 3704 0044 0532 0130 00" };

/** Services that the description allows. Every feature must work with each of them, or say truthfully why it can't. */
export const services: Readonly<Record<string, ServiceTraits>> = {
  "as described": {},
  "inclusive bounds": { isInclusive: true },
  "tokens that are UUIDs": { tokenOf: kindsOfTokens.UUID },
  "tokens that are JSON numbers": { tokenOf: kindsOfTokens["JSON number"] },
  "inclusive bounds, tokens in Base64, newest first": {
    isInclusive: true,
    newestFirst: true,
    tokenOf: kindsOfTokens.base64,
  },
  "newest first": { newestFirst: true },
  "newest first, _sort ignored": { newestFirst: true, sort: "ignored" },
  "pages of 10 at most": { cap: 10 },
  "_sort refused": { sort: "refused" },
  "_sort ignored": { sort: "ignored" },
  "no right to list payments": { mayListPayments: false },
  "paging tokens on all records": { tokensOn: "all" },
  "no paging tokens": { tokensOn: "none" },
  "ids that are JSON numbers": { shown: (record) => ({ ...record, id: 1000 + Number(record.id) }) },
  "more fields": { shown: (record) => ({ ...record, memos: "fees", limits: { daily: [5, null] } }) },
  "no extras": { shown: ({ extras: _, ...record }) => record },
  "null in text fields": {
    shown: (record) =>
      mapped(record, (value, field) => (["memo", "email", "receiverName"].includes(field) ? null : value)),
  },
  "createdAt as SQL prints it": { createdAt: (ms) => `${iso(ms).slice(0, 19).replace("T", " ")}.123456` },
  "amounts with a zero more": { shown: amounts((amount) => Number(amount).toFixed(4)) },
  "amounts with an exponent": { shown: amounts((amount) => Number(amount).toExponential()) },
  "a fee as Java writes zero": { shown: changed({ receivingGatewayFee: "0E-7" }) },
  "amounts that are JSON numbers": { shown: amounts(Number) },
  "an account in groups": {
    shown: changed({ receiverAccount: iban.grouped }),
    request: { receiverAccount: iban.compact },
  },
  "an account without groups": {
    shown: changed({ receiverAccount: iban.compact }),
    request: { receiverAccount: iban.grouped },
  },
  "an account that is a JSON number": {
    shown: changed({ senderAccount: 1234567 }),
    request: { senderAccount: "1234567" },
  },
  "trimmed texts": {
    shown: (record) => mapped(record, (value) => (typeof value === "string" ? value.trim() : value)),
  },
  "keys in another order": { shown: (record) => Object.fromEntries(Object.entries(record).reverse()) },
  "lists that lag": { lagMs: 300 },
  "responses in gzip": { compresses: true },
};

export interface Service extends AsyncDisposable {
  readonly origin: string;
  readonly baseUrl: string;
  readonly payments: StoredRecord[];
  readonly providers: StoredRecord[];
  /** As they were returned. */
  readonly intents: object[];
  readonly requests: { readonly method: string; readonly path: string; readonly body: string }[];
  /** Breaks the connection instead of the next response to `POST /payments`, which is made. */
  losesNextResponse: boolean;
}

/** What payers ask for. */
export const usual = {
  ...{ senderGatewayId: "alpha-bank", senderCurrency: "EUR", senderAccount: "DE-1" },
  ...{ receiverGatewayId: "beta-mobile", receiverCurrency: "KES", receiverAccount: "KE-1" },
  ...{ receiverAmount: "100.00", memo: "rent " },
};
const initialStatus = { senderGatewayStatus: "processed", receiverGatewayStatus: "pending" };

/** When the first of the payments that a service begins with was made; one a minute follows. */
export const firstMs = Date.UTC(2026, 0, 31, 23);

export interface SeededCounts {
  readonly payments: number;
  readonly providers: number;
}

/** No test here looks at most fields of a payment. */
const { pagingToken: _, ...blank } = Object.fromEntries(described.payment.map((field) => [field, ""]));

/** Serves the part of the description that the table of services needs, over a socket. */
export async function openService(traits: ServiceTraits, seeded: SeededCounts): Promise<Service> {
  const { cap = 20, createdAt = iso, lagMs = 0, mayListPayments = true, shown = (record) => record } = traits;
  const { sort = "honored", tokensOn = "payments" } = traits;
  const tokenOf = traits.tokenOf ?? kindsOfTokens.number;
  const payments: StoredRecord[] = [];
  const providers: StoredRecord[] = [];
  const intents: object[] = [];
  const places = new Map<object, { readonly place: number; readonly madeMs: number; readonly listedMs: number }>();
  let made = 0;

  function store(records: StoredRecord[], fields: Record<string, unknown>, ms: number, listedMs: number): StoredRecord {
    const place = made++;
    const hasToken = tokensOn === "all" || (tokensOn === "payments" && records === payments);
    const times = records === payments && { ...blank, createdAt: createdAt(ms), updatedAt: createdAt(ms) };
    const record = { ...times, id: String(place + 1), ...(hasToken && { pagingToken: tokenOf(place) }), ...fields };
    places.set(record, { place, madeMs: ms, listedMs });
    records.push(record);
    return record;
  }

  function list(records: readonly StoredRecord[], query: URLSearchParams) {
    if (query.has("_sort") && sort === "refused") return refuse(400, "unknown_parameter");
    const placeOf = (record: object) => places.get(record)?.place ?? 0;
    const filters = [...query].filter(([name]) => !name.startsWith("_"));
    const listed = records
      .filter((record) => (places.get(record)?.listedMs ?? 0) <= Date.now())
      .filter((record) => filters.every(([name, value]) => String(record[name]) === value));
    const { _size = 20, ...paging } = Object.fromEntries(query);
    const page = selectPage(
      listed,
      { ...paging, _size: Number(_size) },
      {
        ...{ cap, isInclusive: traits.isInclusive, newestFirst: traits.newestFirst, placeOf },
        sort: sort === "ignored" ? sort : undefined,
        placesOf: (token) => records.filter(({ pagingToken }) => String(pagingToken) === token).map(placeOf),
        keyOf(record, field = "id") {
          if (field === "createdAt" || field === "updatedAt") return places.get(record)?.madeMs ?? 0;
          return field === "pagingToken" || field === "id" ? placeOf(record) : String(record[field]);
        },
      },
    );
    return { status: 200, body: page.map(shown) };
  }

  const refuse = (status: number, error: string) => ({ status, body: { error, message: "refused" } });

  function respond(method: string, url: URL, body: string) {
    if (url.pathname.endsWith("/protocol/openid-connect/token")) {
      return { status: 200, body: { access_token: "token", expires_in: 3600, token_type: "Bearer" } };
    }
    const [resource = "", id] = url.pathname.replace("/api/", "").split("/");
    const sent = body === "" ? {} : (JSON.parse(body) as Record<string, unknown>);
    const now = Date.now();
    switch (`${method} ${resource}`) {
      case "POST payment-intents": {
        const intent: StoredRecord = {
          ...sent,
          ...{ id: `${intents.length + 1}`, senderAmount: "110.50", senderName: "Ada", receiverName: "Bo" },
          ...{ receivingGatewayFee: "1.50", extras: null },
        };
        const body = shown(intent);
        intents.push(body);
        return { status: 200, body };
      }
      case "POST payments": {
        const { id: _, ...fields } = sent;
        const request = { creationRequestBody: body, creationRequestUrl: url.pathname };
        const payment = store(payments, { ...fields, ...initialStatus, ...request }, now, now + lagMs);
        return { status: 200, body: shown(payment) };
      }
      case "GET payments":
        return mayListPayments ? list(payments, url.searchParams) : refuse(403, "forbidden");
      case "GET liquidity-providers":
        if (id === undefined) return list(providers, url.searchParams);
        return { status: 200, body: shown(find(providers, id)) };
      case "PUT liquidity-providers":
        Object.assign(find(providers, id ?? ""), sent);
        return { status: 200, body: {} };
      default:
        return refuse(404, "not_found");
    }
  }

  /** By the id as it is shown. */
  function find(records: readonly StoredRecord[], id: string): StoredRecord {
    const found = records.find((record) => String(shown(record).id) === id);
    if (found === undefined) throw new Error(`there is no record ${id}`);
    return found;
  }

  for (let index = 0; index < seeded.payments; index++) {
    const fields = {
      ...{ ...usual, senderAmount: "110.50", senderName: `sender ${index}`, receiverName: `receiver ${index}` },
      ...{ receivingGatewayFee: "1.50", senderGatewayTransactionId: `TX-${index}`, ...initialStatus },
    };
    store(payments, fields, firstMs + index * 60_000, 0);
  }
  for (let index = 0; index < seeded.providers; index++) {
    store(providers, { firstName: "Lina", lastName: `Quo ${index}`, email: "lina@quo.test" }, firstMs, 0);
  }

  const server = createServer((request, response) => void serve(request, response));
  const service: Service = {
    origin: "",
    baseUrl: "",
    payments,
    providers,
    intents,
    requests: [],
    losesNextResponse: false,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "" } = request;
    const url = new URL(request.url ?? "", "http://localhost");
    const body = await text(request);
    service.requests.push({ method, path: url.pathname, body });
    const answer = respond(method, url, body);
    if (method === "POST" && url.pathname === "/api/payments") {
      const signature = { creationRequestSignatureBase64: request.headers["x-service-signature-base64"] };
      Object.assign(payments.at(-1) ?? {}, signature);
      Object.assign(answer.body, signature);
      if (service.losesNextResponse) {
        service.losesNextResponse = false;
        request.socket.destroy();
        return;
      }
    }
    const json = JSON.stringify(answer.body);
    const isCompressed = traits.compresses === true && /gzip/.test(String(request.headers["accept-encoding"]));
    response.writeHead(answer.status, {
      "content-type": "application/json",
      ...(isCompressed && { "content-encoding": "gzip" }),
    });
    response.end(isCompressed ? gzipSync(json) : json);
  }

  const origin = await originOf(server);
  return Object.assign(service, { origin, baseUrl: `${origin}/api` });
}
