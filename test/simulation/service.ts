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
export class ModelService {
  /** In the order in which they were made. */
  readonly made: Made[] = [];
  readonly #world: World;
  readonly #options: ServiceOptions;
  #intents = 0;

  constructor(world: World, options: ServiceOptions) {
    this.#world = world;
    this.#options = options;
    for (let i = 0; i < options.others; i += 1) {
      this.#make(
        { ...intentOf({ memo: `other-${i}` }, `pi-other-${i}`), senderGatewayTransactionId: `other-${i}` },
        "b3RoZXI=",
        0,
      );
    }
  }

  paymentsOf(key: string): readonly Made[] {
    return this.made.filter((one) => one.key === key);
  }

  isListed(key: string): boolean {
    return (
      !this.#options.isListForbidden && this.paymentsOf(key).some((one) => one.listedAtMs <= this.#world.time.nowMs)
    );
  }

  handle(request: Request): Response {
    const { method, url } = request;
    if (method === "GET") return this.#list(url.searchParams);
    return url.pathname === "/payments" ? this.#pay(request) : this.#createIntent(request);
  }

  #createIntent({ body }: Request): Response {
    if (this.#world.meets("refused")) return json(400, refusal);
    if (this.#world.meets("throttled")) return this.#throttled();
    if (this.#world.meets("unavailable")) return this.#unavailable();
    this.#intents += 1;
    return json(200, intentOf(JSON.parse(body), `pi-${this.#intents}`));
  }

  #pay({ body, signature, sentAtMs }: Request): Response {
    const { listedWithinMs, singleUseIntents } = this.#options.facts;
    const payment = JSON.parse(body) as Record<string, string>;
    const { nowMs } = this.#world.time;
    // It keeps its promise: what comes too late is dropped.
    if (listedWithinMs !== undefined && nowMs > sentAtMs + listedWithinMs) return this.#unavailable();
    if (singleUseIntents && this.made.some((one) => one.body.id === payment.id))
      return json(400, { ...refusal, error: "intent_used" });
    if (this.#world.meets("refused")) return json(400, refusal);
    if (this.#world.meets("unauthorized")) return json(401, { error: "unauthorized", message: "unknown token" });
    if (this.#world.meets("throttled")) return this.#throttled();
    if (this.#world.meets("unavailable")) return this.#unavailable();
    const isAnothers = this.#world.meets("another");
    if (isAnothers && this.#world.random() < 0.5) return json(200, anothers(payment));
    const latestMs = listedWithinMs === undefined ? Number.POSITIVE_INFINITY : sentAtMs + listedWithinMs;
    const { record, key } = this.#make(
      payment,
      signature,
      Math.min(latestMs, nowMs + this.#world.upTo(this.#options.lagMs + 1)),
    );
    this.#world.note(`the service makes ${record.id} of ${key}`);
    if (this.#world.meets("unconfirmed")) return this.#unavailable();
    return json(200, isAnothers ? anothers(payment) : record);
  }

  #make(body: Record<string, string>, signature: string, listedAtMs: number): Made {
    const number = this.made.length + 1;
    const createdAt = new Date(epochMs + this.#world.time.nowMs + this.#options.aheadMs).toISOString();
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
    const made: Made = { key: body.memo ?? "", record, body, listedAtMs };
    this.made.push(made);
    return made;
  }

  #list(query: URLSearchParams): Response {
    if (this.#options.isListForbidden) return json(403, { error: "forbidden", message: "no right to list payments" });
    if (this.#world.meets("throttled")) return this.#throttled();
    if (this.#world.meets("unreadable")) return this.#unavailable();
    const [field = "pagingToken", direction] = (query.get("_sort") ?? "pagingToken.asc").split(".");
    const after = Number(query.get("_after") ?? 0);
    const before = Number(query.get("_before") ?? Number.POSITIVE_INFINITY);
    const listed = this.made
      .filter(({ listedAtMs }) => listedAtMs <= this.#world.time.nowMs)
      .map(({ record }) => record)
      .filter(({ pagingToken }) => Number(pagingToken) > after && Number(pagingToken) < before)
      .sort((one, other) => (String(one[field]) < String(other[field]) ? -1 : 1));
    if (direction === "desc") listed.reverse();
    return json(200, listed.slice(0, Number(query.get("_size") ?? 50)));
  }

  #throttled(): Response {
    const seconds = [0, 1, 5, 60][this.#world.upTo(4)];
    return json(429, { error: "throttled", message: "too many requests" }, { "retry-after": String(seconds) });
  }

  /** Sometimes a proxy's page. */
  #unavailable(): Response {
    return this.#world.random() < 0.5
      ? json(500, { error: "internal" })
      : new Response("<h1>Bad gateway</h1>", { status: 502 });
  }
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
