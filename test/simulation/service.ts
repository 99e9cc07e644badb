import { epochMs } from "./virtual-time.js";
import type { World } from "./world.js";

export interface ServiceOptions {
  /** How long the list lags behind. */
  readonly lagMs: number;
  readonly isListForbidden: boolean;
  readonly facts: { readonly listedWithinMs?: number; readonly singleUseIntents?: boolean };
  /** How far its clock is ahead. */
  readonly aheadMs: number;
  /** Payments of others that are listed already. */
  readonly others: number;
}

export interface Request {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  readonly signature: string;
  readonly sentAtMs: number;
}

interface Made {
  readonly key: string;
  readonly record: Readonly<Record<string, string | null>>;
  readonly body: Readonly<Record<string, string>>;
  readonly listedAtMs: number;
}

/** The service as it is described: intents, payments, and the list of payments. It keeps its operators' promises. */
export function modelService(world: World, options: ServiceOptions) {
  const { listedWithinMs, singleUseIntents } = options.facts;
  /** In the order in which they were made. */
  const made: Made[] = [];
  let intents = 0;

  function createIntent({ body }: Request): Response {
    if (world.meets("refused")) return json(400, refusal);
    if (world.meets("throttled")) return throttled();
    if (world.meets("unavailable")) return unavailable();
    intents += 1;
    return json(200, intentOf(JSON.parse(body), `pi-${intents}`));
  }

  function pay({ body, signature, sentAtMs }: Request): Response {
    const payment = JSON.parse(body) as Record<string, string>;
    const { nowMs } = world.time;
    // It keeps its promise: what comes too late is dropped.
    if (listedWithinMs !== undefined && nowMs > sentAtMs + listedWithinMs) return unavailable();
    if (singleUseIntents && made.some((one) => one.body.id === payment.id))
      return json(400, { ...refusal, error: "intent_used" });
    if (world.meets("refused")) return json(400, refusal);
    if (world.meets("unauthorized")) return json(401, { error: "unauthorized", message: "unknown token" });
    if (world.meets("throttled")) return throttled();
    if (world.meets("unavailable")) return unavailable();
    const isAnothers = world.meets("another");
    if (isAnothers && world.random() < 0.5) return json(200, anothers(payment));
    const latestMs = listedWithinMs === undefined ? Number.POSITIVE_INFINITY : sentAtMs + listedWithinMs;
    const { record, key } = make(payment, signature, Math.min(latestMs, nowMs + world.upTo(options.lagMs + 1)));
    world.note(`the service makes ${record.id} of ${key}`);
    if (world.meets("unconfirmed")) return unavailable();
    return json(200, isAnothers ? anothers(payment) : record);
  }

  function make(body: Record<string, string>, signature: string, listedAtMs: number): Made {
    const number = made.length + 1;
    const createdAt = new Date(epochMs + world.time.nowMs + options.aheadMs).toISOString();
    const record = {
      ...body,
      id: `p-${number}`,
      createdAt,
      updatedAt: createdAt,
      pagingToken: String(1000 + number),
      receiverGatewayTransactionId: "",
      senderGatewayStatus: "processed",
      receiverGatewayStatus: "pending",
      creationRequestBody: JSON.stringify(body),
      creationRequestSignatureBase64: signature,
    };
    const one: Made = { key: body.memo ?? "", record, body, listedAtMs };
    made.push(one);
    return one;
  }

  function list(query: URLSearchParams): Response {
    if (options.isListForbidden) return json(403, { error: "forbidden", message: "no right to list payments" });
    if (world.meets("throttled")) return throttled();
    if (world.meets("unreadable")) return unavailable();
    const [field = "pagingToken", direction] = (query.get("_sort") ?? "pagingToken.asc").split(".");
    const after = Number(query.get("_after") ?? 0);
    const before = Number(query.get("_before") ?? Number.POSITIVE_INFINITY);
    const listed = made
      .filter(({ listedAtMs }) => listedAtMs <= world.time.nowMs)
      .map(({ record }) => record)
      .filter(({ pagingToken }) => Number(pagingToken) > after && Number(pagingToken) < before)
      .sort((one, other) => (String(one[field]) < String(other[field]) ? -1 : 1));
    if (direction === "desc") listed.reverse();
    return json(200, listed.slice(0, Number(query.get("_size") ?? 50)));
  }

  function throttled(): Response {
    const seconds = [0, 1, 5, 60][world.upTo(4)];
    return json(429, { error: "throttled", message: "too many requests" }, { "retry-after": String(seconds) });
  }

  /** Sometimes a proxy's page. */
  function unavailable(): Response {
    return world.random() < 0.5
      ? json(500, { error: "internal" })
      : new Response("<h1>Bad gateway</h1>", { status: 502 });
  }

  for (let i = 0; i < options.others; i += 1) {
    const intent = intentOf({ memo: `other-${i}` }, `pi-other-${i}`);
    make({ ...intent, senderGatewayTransactionId: `other-${i}` }, "b3RoZXI=", 0);
  }
  const paymentsOf = (key: string): readonly Made[] => made.filter((one) => one.key === key);
  return {
    paymentsOf,
    isListed: (key: string): boolean =>
      !options.isListForbidden && paymentsOf(key).some((one) => one.listedAtMs <= world.time.nowMs),
    handle(request: Request): Response {
      const { method, url } = request;
      if (method === "GET") return list(url.searchParams);
      return url.pathname === "/payments" ? pay(request) : createIntent(request);
    },
  };
}

const refusal = { error: "limit_exceeded", message: "the limit is exceeded" };

function json(status: number, body: unknown, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", ...headers } });
}

/** The record of another payment, which a proxy confused with this one. */
function anothers(payment: Record<string, string>) {
  return {
    ...payment,
    id: "p-another",
    creationRequestBody: '{"id":"pi-another"}',
    creationRequestSignatureBase64: btoa("another"),
  };
}

function intentOf(request: Record<string, string>, id: string): Record<string, string> {
  return {
    ...request,
    id,
    senderAmount: "100.00",
    senderName: "Erika",
    receiverName: "Rob",
    receivingGatewayFee: "0.10",
  };
}
