import { createPublicKey, verify } from "node:crypto";

/**
 * Interface description 0.0.1, transcribed by hand: operations, parameters, fields, types, statuses, errors, grants, and signatures.
 * Nothing here reads the client's own tables, so that both can be compared.
 */

export type Kind = keyof typeof fields;

export interface DescribedOperation {
  readonly text: `${"GET" | "POST" | "PUT"} /${string}`;
  /** The record that it creates, returns, or updates. */
  readonly kind: Kind;
  readonly sends?: readonly string[];
  /** Fields that the body must have. For most bodies, the description doesn't show which. */
  readonly mustSend?: readonly string[];
  /** Query parameters named after fields. */
  readonly filters?: readonly string[];
  readonly mustBeSigned?: boolean;
}

const words = (text: string) => text.split(" ");

/** "Resources and their fields": the fields of each stored record. */
export const fields = {
  gateway: words(
    "id countryCode currency type institutionId name feeStructure rsaPublicKeyBase64 email website accountVerificationEndpoint accountVerificationBearerToken",
  ),
  provider: words("id firstName lastName email"),
  deposit: words(
    "id paymentGatewayId paymentGatewayTransactionId amount currency blockchainTransactionId requestUri requestBody paymentGatewayPublicKeyBase64 requestSignatureBase64",
  ),
  withdrawal: words(
    "id paymentGatewayId paymentGatewayTransactionId amount fee currency blockchainTransactionId status",
  ),
  gatewayWithdrawal: words(
    "id gatewayTransactionId liquidityProviderId amount fee currency blockchainTransactionId status",
  ),
  exchangeRate: words(
    "id baseGatewayId counterGatewayId baseCurrency counterCurrency buyPrice sellPrice buyPriceN buyPriceD sellPriceN sellPriceD",
  ),
  transfer: words("id from to exchangeRateId gatewayId currency amount"),
  intent: words(
    "id senderGatewayId senderAmount senderCurrency senderAccount senderName receiverGatewayId receiverAmount receiverCurrency receiverAccount receiverName receivingGatewayFee memo extras",
  ),
  payment: words(
    "id createdAt updatedAt pagingToken senderGatewayId senderAmount senderCurrency senderAccount senderName receiverGatewayId receiverProcessingGatewayId receiverAmount receiverCurrency receiverAccount receiverName receivingGatewayFee memo senderGatewayTransactionId receiverGatewayTransactionId senderGatewayStatus receiverGatewayStatus senderGatewayPublicKey receiverGatewayPublicKey senderGatewaySignature receiverGatewaySignature blockchainTransactionId creationRequestUrl creationRequestBody creationRequestPublicKeyBase64 creationRequestSignatureBase64 extras",
  ),
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** "All fields are strings unless stated." */
const integers = new Set(words("buyPriceN buyPriceD sellPriceN sellPriceD"));
const decimals = new Set(words("amount fee buyPrice sellPrice senderAmount receiverAmount receivingGatewayFee"));

/** The bodies of create and update. */
const bodies = {
  gateway: words(
    "countryCode currency type institutionId name feeStructure rsaPublicKeyBase64 email website accountVerificationEndpoint accountVerificationBearerToken",
  ),
  provider: words("firstName lastName email"),
  deposit: words("paymentGatewayId paymentGatewayTransactionId amount currency blockchainTransactionId"),
  withdrawal: words("paymentGatewayId amount fee currency blockchainTransactionId status"),
  gatewayWithdrawal: words("amount fee currency blockchainTransactionId status"),
  exchangeRate: words("baseGatewayId counterGatewayId baseCurrency counterCurrency buyPrice sellPrice"),
  transfer: words("from to exchangeRateId gatewayId currency amount"),
  intent: words(
    "senderGatewayId senderCurrency senderAccount receiverGatewayId receiverAccount receiverCurrency receiverAmount memo",
  ),
  payment: words(
    "senderGatewayId senderAmount senderCurrency senderAccount senderName receiverGatewayId receiverAmount receiverCurrency receiverAccount receiverName receivingGatewayFee memo senderGatewayTransactionId",
  ),
};

/** The table "Operations", with the client's names. */
const operations: Readonly<Record<string, DescribedOperation["text"]>> = {
  "paymentGateways.create": "POST /payment-gateways",
  "paymentGateways.list": "GET /payment-gateways",
  "paymentGateways.get": "GET /payment-gateways/{PG}",
  "paymentGateways.update": "PUT /payment-gateways/{PG}",
  "liquidityProviders.create": "POST /liquidity-providers",
  "liquidityProviders.list": "GET /liquidity-providers",
  "liquidityProviders.get": "GET /liquidity-providers/{LP}",
  "liquidityProviders.update": "PUT /liquidity-providers/{LP}",
  "liquidityProviders.deposits.create": "POST /liquidity-providers/{LP}/deposits",
  "liquidityProviders.deposits.list": "GET /liquidity-providers/{LP}/deposits",
  "liquidityProviders.deposits.get": "GET /liquidity-providers/{LP}/deposits/{DEP}",
  "liquidityProviders.deposits.update": "PUT /liquidity-providers/{LP}/deposits/{DEP}",
  "liquidityProviders.withdrawals.create": "POST /liquidity-providers/{LP}/withdrawals",
  "liquidityProviders.withdrawals.list": "GET /liquidity-providers/{LP}/withdrawals",
  "liquidityProviders.withdrawals.get": "GET /liquidity-providers/{LP}/withdrawals/{WD}",
  "liquidityProviders.withdrawals.update": "PUT /liquidity-providers/{LP}/withdrawals/{WD}",
  "liquidityProviders.exchangeRates.create": "POST /liquidity-providers/{LP}/exchange-rates",
  "liquidityProviders.exchangeRates.list": "GET /liquidity-providers/{LP}/exchange-rates",
  "liquidityProviders.exchangeRates.get": "GET /liquidity-providers/{LP}/exchange-rates/{ER}",
  "liquidityProviders.exchangeRates.update": "PUT /liquidity-providers/{LP}/exchange-rates/{ER}",
  "liquidityProviders.transfers.create": "POST /liquidity-providers/{LP}/transfers",
  "liquidityProviders.transfers.list": "GET /liquidity-providers/{LP}/transfers",
  "liquidityProviders.transfers.get": "GET /liquidity-providers/{LP}/transfers/{TR}",
  "liquidityProviders.transfers.update": "PUT /liquidity-providers/{LP}/transfers/{TR}",
  "paymentGateways.withdrawals.list": "GET /payment-gateways/{PG}/withdrawals",
  "paymentGateways.withdrawals.get": "GET /payment-gateways/{PG}/withdrawals/{WD}",
  "paymentGateways.withdrawals.update": "PUT /payment-gateways/{PG}/withdrawals/{WD}",
  "paymentIntents.create": "POST /payment-intents",
  "paymentIntents.get": "GET /payment-intents/{PI}",
  "payments.create": "POST /payments",
  "payments.list": "GET /payments",
};

const kinds: Readonly<Record<string, Kind>> = {
  paymentGateways: "gateway",
  liquidityProviders: "provider",
  "liquidityProviders.deposits": "deposit",
  "liquidityProviders.withdrawals": "withdrawal",
  "liquidityProviders.exchangeRates": "exchangeRate",
  "liquidityProviders.transfers": "transfer",
  "paymentGateways.withdrawals": "gatewayWithdrawal",
  paymentIntents: "intent",
  payments: "payment",
};

/** What isn't the same for each operation. */
const exceptions: Readonly<Record<string, Partial<DescribedOperation>>> = {
  "liquidityProviders.deposits.create": { mustBeSigned: true },
  "liquidityProviders.deposits.list": { filters: fields.deposit.slice(1) },
  // "The same field names" as the list.
  "liquidityProviders.deposits.get": { filters: fields.deposit.slice(1) },
  "liquidityProviders.transfers.create": { mustSend: ["from", "to"] },
  "paymentIntents.create": { mustSend: bodies.intent },
  // "intent id and extras may also be present"
  "payments.create": { sends: [...bodies.payment, "id", "extras"], mustSend: bodies.payment, mustBeSigned: true },
  // "Remaining filters of GET /payments: not shown."
  "payments.list": { filters: [] },
};

export const describedOperations: Readonly<Record<string, DescribedOperation>> = Object.fromEntries(
  Object.entries(operations).map(([name, text]) => {
    const kind = kinds[name.slice(0, name.lastIndexOf("."))] ?? "gateway";
    const usual = text.startsWith("GET") ? { filters: fields[kind] } : { sends: bodies[kind] };
    return [name, { text, kind, ...usual, ...exceptions[name] }];
  }),
);

const tokenPath = (realm: string) => `/auth/realms/${encodeURIComponent(realm)}/protocol/openid-connect/token`;
/** "Authentication", 2 to 4: what each grant sends, and the types of what it returns. */
const grants: Readonly<Record<string, { readonly sends: readonly string[]; readonly returns: object }>> = {
  password: {
    sends: words("grant_type username password client_id client_secret"),
    returns: { access_token: "a", refresh_token: "a", id_token: "a", token_type: "Bearer", expires_in: 1 },
  },
  refresh_token: {
    sends: words("grant_type client_id refresh_token"),
    returns: { access_token: "a", expires_in: 1, scope: "a", token_type: "Bearer" },
  },
};

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly body: string;
}

export interface SeenRequest extends ReceivedRequest {
  /** The client's name of the operation, `token`, or nothing. */
  readonly name: string | undefined;
  readonly isSigned: boolean;
  /** Why it is not as described. */
  readonly problem: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares traffic with the description. It holds what it saw, and why it was wrong. */
export class Inspector {
  readonly requests: SeenRequest[] = [];
  readonly problems: string[] = [];
  readonly #basePath: string;
  readonly #realm: string;
  readonly #tokens = new Set<string>();
  /** The registered key of each gateway, by the names that it has. */
  readonly #keys = new Map<string, string>();

  constructor({ basePath = "", realm }: { readonly basePath?: string | undefined; readonly realm: string }) {
    this.#basePath = basePath;
    this.#realm = realm;
  }

  request(received: ReceivedRequest): SeenRequest {
    const { name, problem = name && this.#problemOf(name, received) } = this.#find(received);
    const seen = { ...received, name, isSigned: received.headers.has("x-service-signature-base64"), problem };
    this.requests.push(seen);
    if (problem !== undefined) this.problems.push(`${received.method} ${received.path}: ${problem}`);
    return seen;
  }

  /** Checks the response of a service that received this request. */
  response({ name = "", body, path, headers, method }: SeenRequest, status: number, text: string): void {
    const problem =
      name === "token"
        ? this.#problemOfGrant(body, status, text)
        : problemOfResponse(name, status, text, { body, path, headers });
    if (problem !== undefined) this.problems.push(`${status} of ${method} ${path}: ${problem}`);
    // A gateway is known by its id, too.
    const { id, institutionId, rsaPublicKeyBase64: key } = parse(text) ?? {};
    if (name === "paymentGateways.create" && status === 200) {
      for (const known of [id, institutionId]) this.#keys.set(String(known), String(key));
    }
  }

  /** The operation of a request, or why there is none. */
  #find({ method, path }: ReceivedRequest): { readonly name?: string; readonly problem?: string } {
    if (path === tokenPath(this.#realm) && method === "POST") return { name: "token" };
    const templates = Object.entries(describedOperations).filter(([, { text }]) => {
      const pattern = text.slice(text.indexOf("/")).replace(/\{\w+\}/g, "[^/]+");
      return new RegExp(`^${this.#basePath}${pattern}$`).test(path);
    });
    const [name] = templates.find(([, { text }]) => text.startsWith(`${method} `)) ?? [];
    if (name !== undefined) return { name };
    return { problem: templates.length > 0 ? `the path has no ${method}` : "there is no such path" };
  }

  #problemOf(name: string, received: ReceivedRequest): string | undefined {
    if (name === "token") return problemOfForm(received);
    const operation = describedOperations[name];
    if (operation === undefined) return "there is no such operation";
    return (
      this.#problemOfToken(received.headers.get("authorization")) ??
      problemOfQuery(operation, new URLSearchParams(received.query)) ??
      problemOfBody(name, operation, received) ??
      this.#problemOfSignature(operation, received)
    );
  }

  #problemOfToken(authorization: string | null): string | undefined {
    if (!authorization) return "the header Authorization is missing";
    const [, token] = /^Bearer ([\w.~+/=-]+)$/.exec(authorization) ?? [];
    if (token === undefined) return "the header Authorization has no bearer token";
    return this.#tokens.has(token) ? undefined : "no grant returned this access token";
  }

  #problemOfSignature({ mustBeSigned }: DescribedOperation, received: ReceivedRequest): string | undefined {
    const signature = received.headers.get("x-service-signature-base64");
    if (signature === null) return mustBeSigned ? "X-SERVICE-SIGNATURE-BASE64 is missing" : undefined;
    if (!/^[A-Za-z0-9+/]+={0,2}$/.test(signature)) return "the signature is not Base64 on a single line";
    const { senderGatewayId, paymentGatewayId } = parse(received.body) ?? {};
    const key = this.#keys.get(String(paymentGatewayId ?? senderGatewayId));
    if (key === undefined) return "no gateway with a key is named";
    const pem = createPublicKey(Buffer.from(key, "base64").toString());
    const text = Buffer.from(received.path + received.body);
    const isValid = verify("RSA-SHA256", text, pem, Buffer.from(signature, "base64"));
    return isValid ? undefined : "the signature is not the gateway's over path and body";
  }

  #problemOfGrant(form: string, status: number, text: string): string | undefined {
    if (status !== 200) return undefined;
    const returned = parse(text) ?? {};
    const described = grants[new URLSearchParams(form).get("grant_type") ?? ""]?.returns ?? {};
    this.#tokens.add(String(returned.access_token));
    const wrong = Object.entries(described).find(([name, value]) => typeof returned[name] !== typeof value);
    return wrong && `${wrong[0]} must be a ${typeof wrong[1]}`;
  }
}

function parse(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
  } catch {
    return undefined;
  }
}

function problemOfForm({ headers, body }: ReceivedRequest): string | undefined {
  if (!headers.get("content-type")?.startsWith("application/x-www-form-urlencoded")) return "the form is not a form";
  const form = new URLSearchParams(body);
  const grant = grants[form.get("grant_type") ?? ""];
  if (grant === undefined) return "there is no such grant_type";
  const sent = [...form.keys()].sort().join(" ");
  const described = grant.sends.toSorted().join(" ");
  return sent === described ? undefined : `the form has ${sent}, and not ${described}`;
}

function problemOfQuery({ text, kind, filters = [] }: DescribedOperation, query: URLSearchParams): string | undefined {
  const isList = text.startsWith("GET") && !text.endsWith("}");
  const sort = new RegExp(`^(?:(?:${fields[kind].join("|")})\\.(?:asc|desc)(?:,(?!$)|$))+$`);
  const paging = { _size: /^[1-9]\d*$/, _before: /^.+$/, _after: /^.+$/, _sort: sort };
  const described: Readonly<Record<string, RegExp>> = {
    ...(isList && paging),
    ...Object.fromEntries(filters.map((field) => [field, integers.has(field) ? /^-?\d+$/ : /^/])),
  };
  for (const [name, value] of query) {
    if (!Object.hasOwn(described, name)) return `the query parameter ${name} is not described`;
    if (query.getAll(name).length > 1) return `the query parameter ${name} comes twice`;
    if (!described[name]?.test(value)) return `the query parameter ${name} can't be "${value}"`;
  }
  return undefined;
}

function problemOfBody(
  name: string,
  { sends, mustSend = [] }: DescribedOperation,
  { headers, body }: ReceivedRequest,
): string | undefined {
  if (sends === undefined) return body === "" ? undefined : "a GET has no body";
  if (headers.get("content-type") !== "application/json") return "Content-Type must be application/json";
  const sent = parse(body);
  if (sent === undefined) return "the body is not a JSON object";
  const missing = mustSend.find((field) => !Object.hasOwn(sent, field));
  if (missing !== undefined) return `the field ${missing} is missing`;
  if (name === "liquidityProviders.transfers.create") {
    const wrong = ["from", "to"].find((field) => !["wallet", "exchange-rate"].includes(String(sent[field])));
    if (wrong !== undefined) return `the field ${wrong} must be wallet or exchange-rate`;
  }
  return problemOfFields(sends, sent);
}

function problemOfFields(described: readonly string[], given: Fields): string | undefined {
  for (const [field, value] of Object.entries(given)) {
    if (!described.includes(field)) return `the field ${field} is not described`;
    const isRight =
      field === "extras" || (integers.has(field) ? Number.isSafeInteger(value) : typeof value === "string");
    if (!isRight) return `the field ${field} must be ${integers.has(field) ? "an integer" : "a string"}`;
    if (decimals.has(field) && value !== "" && !/^\d+(?:\.\d+)?$/.test(String(value)))
      return `the field ${field} must be a decimal numeral`;
  }
  return undefined;
}

function problemOfRecord(kind: Kind, record: unknown): string | undefined {
  const given = parse(JSON.stringify(record));
  if (given === undefined) return "there is no record";
  const missing = fields[kind].find((field) => !Object.hasOwn(given, field));
  return missing === undefined ? problemOfFields(fields[kind], given) : `the field ${missing} is missing`;
}

type Creation = Pick<SeenRequest, "body" | "path" | "headers">;

function problemOfResponse(name: string, status: number, text: string, request: Creation): string | undefined {
  const operation = describedOperations[name];
  if (operation === undefined || status === 401) return undefined;
  const [method] = operation.text.split(" ");
  const isSingle = operation.text.endsWith("}");
  if (status === 400) {
    const { error, code, message } = parse(text) ?? {};
    const isDescribed = typeof (method === "GET" && isSingle ? code : error) === "string";
    return isDescribed && typeof message === "string" ? undefined : "the error has another form";
  }
  if (status !== 200) return "the status is not described";
  if (method === "PUT") return undefined;
  const records: unknown = method === "GET" && !isSingle ? JSON.parse(text) : [parse(text)];
  if (!Array.isArray(records)) return "a list must be an array";
  for (const record of records) {
    const problem = problemOfRecord(operation.kind, record);
    if (problem !== undefined) return problem;
  }
  return name === "payments.create" ? problemOfNewPayment(records[0], request) : undefined;
}

/** "States and transitions", and what the service stores of a signed request. */
function problemOfNewPayment(payment: Fields, { body, path, headers }: Creation): string | undefined {
  const expected: Fields = {
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    receiverGatewayTransactionId: "",
    creationRequestUrl: path,
    creationRequestBody: body,
    creationRequestSignatureBase64: headers.get("x-service-signature-base64"),
  };
  const wrong = Object.keys(expected).find((field) => payment[field] !== expected[field]);
  if (wrong !== undefined) return `the field ${wrong} has another value`;
  if (payment.blockchainTransactionId === "") return "blockchainTransactionId is not set";
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/;
  return isTime.test(String(payment.createdAt)) ? undefined : "createdAt is not ISO 8601 with sub-second digits";
}
