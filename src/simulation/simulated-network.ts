import { parseJsonObject } from "../wire/parse-json-object.js";
import type { Transport, WireRequest, WireResponse } from "../wire/transport.js";
import { WireFailure } from "../wire/wire-failure.js";
import type { Happening } from "./marks.js";
import type { SimulatedProcess } from "./simulated-process.js";
import { jsonResponse, refusal, type SimulatedService } from "./simulated-service.js";
import type { Truth } from "./truth.js";
import type { World } from "./world.js";

/** What becomes of a request and its response. */
type Fate =
  | "arrives"
  | "is lost"
  | "arrives, and its response is lost"
  | "arrives late"
  | "is sent twice by a proxy"
  | "is sent twice by a proxy, the second time late"
  | "is refused"
  | "is refused for now"
  | "arrives, and something else responds"
  | "arrives late, and something else responds before"
  | "does not arrive, and something else responds"
  | "arrives, and a proxy refuses it";

type Kind = "list" | "intent" | "payment";

/** What lies between the processes and the service. */
export class SimulatedNetwork {
  readonly #world: World;
  readonly #service: SimulatedService;
  readonly #truth: Truth;

  constructor(world: World, service: SimulatedService, truth: Truth) {
    this.#world = world;
    this.#service = service;
    this.#truth = truth;
  }

  /** The transport of one process's client. */
  of(process: SimulatedProcess): Transport {
    return {
      send: async (request, deadline) => {
        const stopListening: (() => void)[] = [];
        try {
          await this.#connect(process, request, deadline);
          deadline.assertMaySend();
          return await new Promise<WireResponse>((resolve, reject) => {
            stopListening.push(deadline.onEnd(() => reject(deadline.failure(true))));
            this.#send(process, request, resolve, () => reject(new WireFailure({ sent: true, reason: "ECONNRESET" })));
          });
        } finally {
          for (const stop of stopListening) stop();
        }
      },
      close: async () => {},
    };
  }

  #connect(
    process: SimulatedProcess,
    request: WireRequest,
    deadline: Parameters<Transport["send"]>[1],
  ): Promise<void> | undefined {
    const { choices, profile } = this.#world;
    if (this.#isSpared(kindOf(request)) || !choices.chance(profile.unsent)) return undefined;
    const delayMs = choices.below(profile.slowMs);
    const isRefused = choices.chance(500);
    if (kindOf(request) === "payment") {
      this.#world.marks.happened(keyOf(request), isRefused ? "the connection is refused" : "the connection is slow");
    }
    return new Promise((resolve, reject) => {
      const stop = deadline.onEnd(() => reject(deadline.failure(false)));
      this.#world.plan(delayMs, isRefused ? "a refused connection" : "a slow connection", process, () => {
        stop();
        if (isRefused) reject(new WireFailure({ sent: false, reason: "ECONNREFUSED" }));
        else resolve();
      });
    });
  }

  /** The request has left the process: nothing can stop it any more. */
  #send(
    process: SimulatedProcess,
    request: WireRequest,
    resolve: (response: WireResponse) => void,
    reset: () => void,
  ): void {
    const kind = kindOf(request);
    const { choices, profile } = this.#world;
    const key = kind === "list" ? "" : keyOf(request);
    const sending = kind === "payment" ? this.#truth.sent(key) : 0;
    if (kind === "payment") this.#world.recorder?.note({ type: "sent", key, process: process.name, sending });
    const fate = this.#fateOf(kind);
    this.#world.note(`${describe(request, kind, key)} ${fate}`);
    const what = meanings[kind][fate];
    if (what !== undefined && kind === "list") this.#world.marks.happenedTo(process.name, what);
    else if (what !== undefined) this.#world.marks.happened(key, what);
    const latencyMs = choices.below(profile.latencyMs);
    const responds = (response: WireResponse) =>
      this.#world.plan(latencyMs, `response ${response.status} to ${kind}`, process, () => resolve(response));
    const isLost = () => {
      // Either the connection breaks, or nothing comes at all.
      if (choices.chance(500)) this.#world.plan(latencyMs, "a reset", process, reset);
    };
    const arrives = () => this.#service.respond(request, sending, process);
    const later = (work: () => void) => {
      this.#world.plan(this.#lateMs(), `a late ${kind}`, undefined, work);
    };
    const done = () => {
      if (kind === "payment") this.#truth.of(key).open -= 1;
    };
    switch (fate) {
      case "arrives late":
        later(() => {
          responds(arrives());
          done();
        });
        return;
      case "arrives late, and something else responds before":
        responds(this.#foreign(jsonResponse(201, "")));
        later(() => {
          arrives();
          done();
        });
        return;
      case "is sent twice by a proxy, the second time late":
        responds(arrives());
        later(() => {
          arrives();
          done();
        });
        return;
      case "arrives":
        responds(arrives());
        break;
      case "is lost":
        isLost();
        break;
      case "arrives, and its response is lost":
        arrives();
        isLost();
        break;
      case "is sent twice by a proxy":
        arrives();
        responds(arrives());
        break;
      case "is refused":
        responds(refusal(choices.of([400, 403, 422]), "refused"));
        break;
      case "is refused for now":
        responds(this.#notNow());
        break;
      case "arrives, and something else responds":
        responds(this.#foreign(arrives()));
        break;
      case "does not arrive, and something else responds":
        responds(this.#foreign(jsonResponse(201, '{"id":"payment-0","amount":"1')));
        break;
      case "arrives, and a proxy refuses it":
        arrives();
        responds(this.#foreignRefusal());
        break;
    }
    done();
  }

  #fateOf(kind: Kind): Fate {
    const { choices, profile } = this.#world;
    if (this.#isSpared(kind)) return "arrives";
    if (kind === "list") {
      if (!choices.chance(profile.listFailures)) return "arrives";
      return choices.of(["does not arrive, and something else responds", "is refused for now", "is lost"]);
    }
    if (choices.chance(profile.lostRequests)) return "is lost";
    if (choices.chance(profile.lostResponses)) return "arrives, and its response is lost";
    if (choices.chance(profile.refusals)) return "is refused";
    if (choices.chance(profile.passingRefusals)) return "is refused for now";
    if (choices.chance(profile.foreignResponses)) {
      return choices.of([
        "arrives, and something else responds",
        "does not arrive, and something else responds",
        kind === "payment" ? "arrives late, and something else responds before" : "is lost",
      ]);
    }
    if (kind === "intent") return "arrives";
    if (choices.chance(profile.lateRequests)) return "arrives late";
    if (choices.chance(profile.duplicates)) {
      return choices.of(["is sent twice by a proxy", "is sent twice by a proxy, the second time late"]);
    }
    return choices.chance(profile.foreignRefusals) ? "arrives, and a proxy refuses it" : "arrives";
  }

  #isSpared(kind: Kind): boolean {
    return this.#world.profile.sparesOthers && kind !== "payment";
  }

  /** How long a late request is on its way: within what the service's operators promise, where they do. */
  #lateMs(): number {
    const { choices, profile } = this.#world;
    const { listedWithinMs, listLagMs, leaseMs } = profile;
    if (listedWithinMs === undefined) return choices.below(choices.of([4, 40]) * leaseMs);
    // Whatever relies on the promise is tried where it just holds.
    const mostMs = Math.max(1, listedWithinMs - listLagMs);
    return choices.chance(500) ? mostMs - 1 - choices.below(Math.min(mostMs, leaseMs)) : choices.below(mostMs);
  }

  /** What proxies and firewalls respond with, and sockets out of step. */
  #foreign(own: WireResponse): WireResponse {
    const html = { status: 502, headers: { "content-type": "text/html" }, text: "<html>Bad gateway</html>" };
    return this.#world.choices.of<WireResponse>([
      html,
      { ...html, status: 403 },
      { ...html, status: 200 },
      { ...html, status: 303 },
      { ...html, status: 429 },
      jsonResponse(200, "{}"),
      jsonResponse(200, '{"status":"maintenance"}'),
      jsonResponse(201, '{"id":"payment-of-another","senderGatewayTransactionId":"another one"}'),
      jsonResponse(499, '{"code":"1","message":"context canceled"}'),
      jsonResponse(500, '{"error":"Internal Server Error","message":"oops"}'),
      { ...own, text: own.text.slice(0, own.text.length / 2), broken: "cut-short" },
    ]);
  }

  /** A 429 may say when to ask again: sometimes in less than a lease, sometimes in more. */
  #notNow(): WireResponse {
    const { choices, profile } = this.#world;
    const response = refusal(choices.of([401, 429]), "not_now");
    const waitMs = response.status === 429 ? choices.below(2 * profile.leaseMs) : 0;
    if (waitMs === 0) return response;
    return { ...response, headers: { ...response.headers, "retry-after": String(waitMs / 1000) } };
  }

  /** Framework's and gateway's own errors that look like the service's. */
  #foreignRefusal(): WireResponse {
    const status = this.#world.choices.of([400, 401, 403, 404, 422, 429]);
    const text = JSON.stringify({ statusCode: status, error: "Refused", message: "by a gateway" });
    return jsonResponse(status, text);
  }
}

const decoder = new TextDecoder();

function kindOf({ method, path }: WireRequest): Kind {
  if (path.includes("/payment-intents")) return "intent";
  return method === "POST" ? "payment" : "list";
}

/** The memo of every request of a flow is its key. */
function keyOf({ body }: WireRequest): string {
  return String(parseJsonObject(decoder.decode(body)).memo);
}

/** What a fate means for the flow. */
const meanings: Readonly<Record<Kind, Readonly<Partial<Record<Fate, Happening>>>>> = {
  list: {
    "does not arrive, and something else responds": "no list comes",
    "is refused for now": "no list comes",
    "is lost": "no list comes",
  },
  intent: {
    "is lost": "the intent's request is lost",
    "arrives, and its response is lost": "the intent's response is lost",
    "is refused": "the intent is refused",
    "is refused for now": "the intent is refused for now",
    "arrives, and something else responds": "something else responds to the intent",
    "does not arrive, and something else responds": "something else responds to the intent",
  },
  payment: {
    "is lost": "the payment is lost",
    "arrives, and its response is lost": "the payment's response is lost",
    "arrives late": "the payment arrives late",
    "is sent twice by a proxy": "the payment is sent twice by a proxy",
    "is sent twice by a proxy, the second time late": "the payment is sent twice, the second time late",
    "is refused": "the payment is refused",
    "is refused for now": "the payment is refused for now",
    "arrives, and something else responds": "the payment arrives, and something else responds",
    "arrives late, and something else responds before": "the payment arrives late, and something else responds before",
    "does not arrive, and something else responds": "something else responds to the payment",
    "arrives, and a proxy refuses it": "the payment arrives, and a proxy refuses it",
  },
};

function describe({ path }: WireRequest, kind: Kind, key: string): string {
  return kind === "list" ? `GET ${path}` : kind === "intent" ? "POST /payment-intents" : `POST /payments for ${key}`;
}
