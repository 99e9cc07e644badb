import { CrossBorderClient, CrossBorderError } from "cross-border-payments";
import { type FlowOutcome, FlowPausedError, MemoryJournal, PaymentFlow } from "cross-border-payments/flow";
import { Agent, type Dispatcher } from "undici";
import { intent } from "../http/scripted-transport.js";
import { type Fixture, likeTheClients, type Mode, networkOf } from "./cell.js";
import { capBytes, type Fault } from "./faults.js";
import { type SeenRequest, startWireFaultServer, type WireFaultServer } from "./wire-fault-server.js";

/** The requests of a flow: for its intent, for the payment, and for the list in which it is searched for. */
export const points = ["intent", "payment", "search"] as const;
export type Point = (typeof points)[number];

function pointOf({ method, target }: Pick<SeenRequest, "method" | "target">): Point {
  if (method === "GET") return "search";
  return target === "/payments" ? "payment" : "intent";
}

/** What became of one flow, by what it told and by the records of the service and the bank. */
export interface FlowObservation {
  /** Laws that were broken. */
  readonly violations: readonly string[];
  /** None where the machine was too busy to go on after the fault. */
  readonly status: FlowOutcome["status"] | undefined;
  /** It waits as long as the service asked. */
  readonly isWaiting: boolean;
  /** Whether a request met the fault. */
  readonly isMet: boolean;
}

const key = "order-1";
const transactionId = "transaction-1";
const intentRequest = { ...intent, memo: key };
const leaseMs = 2000;
/** How often the flow is run while the fault lasts; and in all, on a machine that is too busy to reach the fault, or to go on after it. */
const runsInFault = 2;
const mostRuns = 20;

export interface FlowCell {
  readonly fault: Fault;
  readonly point: Point;
  readonly mode: Mode;
}

/**
 * One flow whose requests of one kind meet a fault: the first of them, or all until the fault is over.
 *
 * @param isAlone beside no other flow: then calls that are to reach their deadline have time for what goes before it on the busiest machine.
 */
export async function playFlow(
  fixture: Fixture,
  { fault, point, mode, isAlone }: FlowCell & { readonly isAlone: boolean },
): Promise<FlowObservation> {
  const service = new Service();
  const respond = (request: SeenRequest) => service.respond(request);
  const healthy = await startWireFaultServer({
    response: respond,
    // So that the payment has to be searched for.
    ...(point === "search" ? { play: { atRequest: breaksOffPayments } } : undefined),
  });
  const failing = await startWireFaultServer({
    response: respond,
    play: fault.play,
    tls: typeof fault.tls === "function" ? fault.tls() : undefined,
  });
  service.servers.push(healthy, failing);
  const route = await Route.open(fixture, { fault, point, mode }, failing);
  const bank = new Bank();
  const journal = new MemoryJournal();
  const client = new CrossBorderClient({
    baseUrl: healthy.origin,
    auth: { accessToken: () => "token" },
    signingKey: fixture.keys.privateKey,
    timeoutMs: (String(fault.is).includes("deadline") ? 400 : 4000) * (isAlone ? 5 : 1),
    maxRetries: 1,
    maxResponseBytes: capBytes,
    dispatcher: route,
  });
  const newFlow = () =>
    new PaymentFlow({
      client,
      journal,
      leaseMs,
      readBackDelayMs: 5,
      circuitBreaker: false,
      takeFunds: bank.takeFunds,
      releaseFunds: bank.releaseFunds,
    });
  const violations: string[] = [];
  let outcome: FlowOutcome | undefined;
  let isWaiting = false;
  const run = async (): Promise<void> => {
    try {
      // A service that throttles is waited for as long as the caller waits.
      const signal = AbortSignal.timeout(route.isOver ? 60_000 : 3_000);
      outcome = await newFlow().run(key, intentRequest, { patienceMs: 1500, signal });
    } catch (error) {
      isWaiting = error instanceof FlowPausedError && error.retryAtMs !== undefined;
      if (!(error instanceof CrossBorderError)) violations.push(`an error without a type: ${String(error)}`);
      else if (error.effect === "none" && service.payments.length > 0) violations.push(`${error.code}: untrue effect`);
    }
  };
  try {
    for (let runs = 0; runs < runsInFault || (!route.isMet && runs < mostRuns); runs += 1) {
      if (outcome === undefined) await run();
    }
    route.isOver = true;
    for (let runs = 0; runs < mostRuns && outcome === undefined && !isWaiting; runs += 1) await run();
    violations.push(...bank.violationsOf(outcome?.status, service.payments.length));
    return { violations, status: outcome?.status, isWaiting, isMet: route.isMet };
  } finally {
    await Promise.all([failing.close(), healthy.close()]);
    await route.close();
    void client.close().catch(() => {});
  }
}

function breaksOffPayments({ request, socket }: { request: SeenRequest; socket: { resetAndDestroy(): unknown } }) {
  return request.method === "POST" && request.target === "/payments" ? socket.resetAndDestroy() : false;
}

/** Sends the requests of one kind to the server with the fault, and all others to the healthy one. */
class Route {
  /** As the client's own agent does. */
  readonly showsStart = true;
  isOver = false;
  isMet = false;
  readonly #plan: FlowCell;
  readonly #origin: string;
  readonly #faulty: Agent;
  readonly #healthy = new Agent(likeTheClients);

  private constructor(plan: FlowCell, origin: string, faulty: Agent) {
    this.#plan = plan;
    this.#origin = origin;
    this.#faulty = faulty;
  }

  static async open(fixture: Fixture, plan: FlowCell, failing: WireFaultServer): Promise<Route> {
    const { fault } = plan;
    const { origin, dispatcher: agent = new Agent(likeTheClients) } = await networkOf(fixture, fault, failing);
    // Some faults are those of a connection that is there already.
    if (fault.afterWell !== undefined) {
      const { body } = await agent.request({ origin, path: "/before", method: "GET" });
      await body.dump();
      if (fault.afterWell === "hurt") await failing.stalled;
    }
    return new Route(plan, origin, agent);
  }

  readonly dispatch = (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean => {
    const { point, mode } = this.#plan;
    const here = pointOf({ method: options.method, target: options.path });
    if (here !== point || this.isOver || (mode === "once" && this.isMet)) {
      return this.#healthy.dispatch(options, handler);
    }
    this.isMet = true;
    return this.#faulty.dispatch({ ...options, origin: this.#origin }, handler);
  };

  async close(): Promise<void> {
    await Promise.all([this.#healthy.destroy(), this.#faulty.destroy()]);
  }
}

/** The service: its payments are what its servers have done. */
class Service {
  readonly servers: WireFaultServer[] = [];

  get payments(): readonly SeenRequest[] {
    return this.servers.flatMap(({ truth }) => truth.commits.filter((request) => pointOf(request) === "payment"));
  }

  respond(request: SeenRequest): string {
    const { method, target, body, headers } = request;
    if (method === "GET") return this.#list(new URL(target, "http://service").searchParams);
    const given: object = JSON.parse(body);
    if (target === "/payment-intents") return JSON.stringify({ ...intentFields, ...given, id: "intent-1" });
    return JSON.stringify(recordOf(request, headers, this.payments.length + 1));
  }

  #list(query: URLSearchParams): string {
    const isWithin = (token: number) =>
      token > Number(query.get("_after") ?? 0) && token < Number(query.get("_before") ?? Infinity);
    const records = this.payments.map((request, index) => recordOf(request, request.headers, index + 1));
    return JSON.stringify(records.filter(({ pagingToken }) => isWithin(Number(pagingToken))));
  }
}

const intentFields = {
  senderAmount: "1.00",
  senderName: "Ada Sender",
  receiverName: "Baraka Receiver",
  receivingGatewayFee: "0",
  extras: null,
};

function recordOf({ body, atMs }: SeenRequest, headers: SeenRequest["headers"], number: number) {
  const given: Record<string, unknown> = JSON.parse(body);
  const createdAt = new Date(performance.timeOrigin + atMs).toISOString();
  return {
    ...given,
    id: `payment-${number}`,
    createdAt,
    updatedAt: createdAt,
    pagingToken: String(number),
    senderGatewayStatus: "processed",
    receiverGatewayStatus: "pending",
    creationRequestBody: body,
    creationRequestSignatureBase64: headers.get("x-service-signature-base64") ?? "",
  };
}

class Bank {
  #takenAtMs: number | undefined;
  #isReleased = false;

  readonly takeFunds = () => {
    if (this.#isReleased) return null;
    const takenAtMs = this.#takenAtMs;
    this.#takenAtMs ??= Date.now();
    const funds = { senderGatewayTransactionId: transactionId };
    return takenAtMs === undefined
      ? { ...funds, replayed: false as const }
      : { ...funds, replayed: true as const, takenAtMs };
  };

  readonly releaseFunds = () => {
    this.#isReleased = true;
  };

  /** The laws of a flow, of what there is once the fault is over; or, of a flow that has not ended, so far. */
  violationsOf(status: FlowOutcome["status"] | undefined, payments: number): readonly string[] {
    const money = this.#isReleased ? "given back" : this.#takenAtMs !== undefined ? "taken" : "not taken";
    if (status === undefined && payments <= (money === "given back" ? 0 : 1)) return [];
    const end = `${status ?? "no outcome"}, ${payments} payments, money ${money}`;
    const isRight =
      status === "paid"
        ? payments === 1 && money === "taken"
        : status === "rejected"
          ? payments === 0 && money !== "taken"
          : status === "held" && payments <= 1 && money === "taken";
    return isRight ? [] : [end];
  }
}
