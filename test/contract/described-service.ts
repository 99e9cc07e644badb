import { http, type RequestHandler } from "msw";
import { describedOperations, fields, type Inspector, type Kind, type SeenRequest } from "./described-api.js";

type StoredRecord = Record<string, unknown> & { readonly id: string };

export interface DescribedServiceOptions {
  readonly inspector: Inspector;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly basePath: string;
  readonly credentials: { readonly username: string; readonly password: string; readonly clientId: string };
  readonly pageSize: number;
  readonly tokenLifetimeSeconds: number;
  readonly onRequest: (request: SeenRequest) => Response | Promise<Response | undefined> | undefined;
  readonly onResponse: (request: SeenRequest) => Response | undefined;
}

/** MSW handlers of the described API, which refuse requests that aren't as described, and a way to end all tokens. */
export function describedService(options: DescribedServiceOptions) {
  const { inspector, basePath, credentials, pageSize, tokenLifetimeSeconds, onRequest, onResponse } = options;
  const collections = new Map<string, StoredRecord[]>();
  const tokens = new Map<string, number>();
  let count = 0;

  function respond(seen: SeenRequest): Response {
    if (seen.name === undefined) return refuse(seen, "not_found", seen.problem ?? "", 404);
    if (seen.name === "token") {
      if (seen.problem !== undefined) return refuse(seen, "invalid_request", seen.problem);
      return grant(new URLSearchParams(seen.body));
    }
    const token = seen.headers.get("authorization")?.slice("Bearer ".length) ?? "";
    if ((tokens.get(token) ?? 0) <= Date.now()) return new Response(null, { status: 401 });
    if (seen.problem !== undefined) return refuse(seen, "not_as_described", seen.problem);
    const { kind, text } = describedOperations[seen.name] ?? { kind: "gateway", text: "" };
    const path = seen.path.slice(basePath.length);
    if (seen.method === "POST") return Response.json(create(kind, path, seen));
    const isSingle = text.endsWith("}");
    const records = recordsAt(isSingle ? path.slice(0, path.lastIndexOf("/")) : path);
    if (!isSingle) return Response.json(list(records, new URLSearchParams(seen.query)).map((each) => show(kind, each)));
    const record = records.find(({ id }) => path.endsWith(`/${encodeURIComponent(id)}`));
    if (record === undefined) return refuse(seen, "not_found", "there is no such record");
    if (seen.method === "GET") return Response.json(show(kind, record));
    Object.assign(record, JSON.parse(seen.body));
    return new Response();
  }

  function grant(form: URLSearchParams): Response {
    const isLogin = form.get("grant_type") === "password";
    const isRight = isLogin
      ? form.get("username") === credentials.username && form.get("password") === credentials.password
      : tokens.has(form.get("refresh_token") ?? "");
    if (!isRight || form.get("client_id") !== credentials.clientId) {
      return Response.json({ error: "invalid_grant", error_description: "Invalid credentials" }, { status: 401 });
    }
    count += 1;
    const [access_token, refresh_token] = [`access-${count}`, `refresh-${count}`];
    tokens.set(access_token, Date.now() + tokenLifetimeSeconds * 1000);
    const granted = { access_token, token_type: "Bearer", expires_in: tokenLifetimeSeconds };
    if (!isLogin) return Response.json({ ...granted, scope: "openid email" });
    tokens.set(refresh_token, Number.POSITIVE_INFINITY);
    return Response.json({ ...granted, refresh_token, id_token: "id" });
  }

  function create(kind: Kind, path: string, seen: SeenRequest): object {
    count += 1;
    const sent: Readonly<Record<string, string>> = JSON.parse(seen.body);
    const empty = Object.fromEntries(fields[kind].map((field) => [field, ""]));
    const record: StoredRecord = { ...empty, ...sent, ...added(kind, sent, seen), id: `${kind} ${count}` };
    recordsAt(path).push(record);
    return show(kind, record);
  }

  function added(kind: Kind, sent: Readonly<Record<string, string>>, { headers, path, body }: SeenRequest): object {
    const signature = headers.get("x-service-signature-base64");
    const keyOf = (gateway = "") =>
      recordsAt("/payment-gateways").find(({ institutionId }) => institutionId === gateway)?.rsaPublicKeyBase64;
    const now = new Date().toISOString().replace("Z", "123Z");
    switch (kind) {
      case "deposit":
        return {
          requestUri: path,
          requestBody: body,
          paymentGatewayPublicKeyBase64: keyOf(sent.paymentGatewayId),
          requestSignatureBase64: signature,
        };
      case "exchangeRate":
        return { buyPriceN: 150, buyPriceD: 1, sellPriceN: 151, sellPriceD: 1 };
      case "intent":
        return {
          senderAmount: "101.00",
          senderName: "Ada Sender",
          receiverName: "Baraka Receiver",
          receivingGatewayFee: "150",
          extras: null,
        };
      case "payment":
        return {
          createdAt: now,
          updatedAt: now,
          pagingToken: String(1000 + count),
          senderGatewayStatus: "processed",
          receiverGatewayStatus: "pending",
          blockchainTransactionId: `block ${count}`,
          creationRequestUrl: path,
          creationRequestBody: body,
          creationRequestPublicKeyBase64: keyOf(sent.senderGatewayId),
          creationRequestSignatureBase64: signature,
          extras: sent.extras ?? null,
        };
      default:
        return {};
    }
  }

  /** A gateway's withdrawals are those of all providers that name it. */
  function recordsAt(path: string): StoredRecord[] {
    const [, gatewayId] = /^\/payment-gateways\/([^/]+)\/withdrawals$/.exec(path) ?? [];
    if (gatewayId !== undefined) {
      const gateway = recordsAt("/payment-gateways").find(({ id }) => encodeURIComponent(id) === gatewayId);
      return [...collections]
        .filter(([each]) => /^\/liquidity-providers\/[^/]+\/withdrawals$/.test(each))
        .flatMap(([each, records]) => {
          const liquidityProviderId = decodeURIComponent(each.split("/")[2] ?? "");
          return records.map((record) => Object.assign(record, { liquidityProviderId }));
        })
        .filter(({ paymentGatewayId }) => paymentGatewayId === gateway?.institutionId);
    }
    const records = collections.get(path) ?? [];
    collections.set(path, records);
    return records;
  }

  /** The fields of this kind: a withdrawal has others on either side. */
  function show(kind: Kind, record: StoredRecord): object {
    return Object.fromEntries(fields[kind].map((field) => [field, record[field] ?? (field === "extras" ? null : "")]));
  }

  function list(records: readonly StoredRecord[], query: URLSearchParams): StoredRecord[] {
    const [size, after, before] = ["_size", "_after", "_before"].map((name) => query.get(name));
    const terms = (query.get("_sort") ?? "").split(",").map((term) => term.split("."));
    const tokenOf = ({ pagingToken }: StoredRecord) => Number(pagingToken);
    return records
      .filter((record) => after === null || tokenOf(record) > Number(after))
      .filter((record) => before === null || tokenOf(record) < Number(before))
      .filter((record) => [...query].every(([name, value]) => name.startsWith("_") || String(record[name]) === value))
      .sort((one, other) => {
        for (const [field = "", direction] of terms) {
          const [first, second] = [String(one[field] ?? ""), String(other[field] ?? "")];
          if (first !== second) return (first < second ? -1 : 1) * (direction === "desc" ? -1 : 1);
        }
        return 0;
      })
      .slice(0, Math.min(Number(size ?? pageSize), 2 * pageSize));
  }

  async function handle(request: Request): Promise<Response> {
    const { pathname: path, search } = new URL(request.url);
    const { method, headers } = request;
    const seen = inspector.request({ method, path, query: search.slice(1), headers, body: await request.text() });
    const instead = await onRequest(seen);
    if (instead !== undefined) return instead;
    const response = respond(seen);
    inspector.response(seen, response.status, await response.clone().text());
    return onResponse(seen) ?? response;
  }

  const origins = [new URL(options.baseUrl).origin, options.authUrl];
  const handlers: RequestHandler[] = origins.map((origin) => http.all(`${origin}/*`, ({ request }) => handle(request)));
  return { handlers, revokeTokens: () => tokens.clear() };
}

/** A refusal has `code` in place of `error` if one record was to be read. */
function refuse({ method, name = "" }: SeenRequest, error: string, message: string, status = 400): Response {
  const isSingleRead = method === "GET" && describedOperations[name]?.text.endsWith("}");
  return Response.json({ [isSingleRead ? "code" : "error"]: error, message }, { status });
}
