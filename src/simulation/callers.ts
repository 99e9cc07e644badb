import { CrossBorderError } from "../errors/errors.js";
import type { FlowOutcome } from "../flows/flow-outcome.js";
import type { ResolveAction } from "../flows/state/flow-state.js";
import type { PaymentIntentRequest } from "../resources/payment-intents.js";
import type { Cluster } from "./cluster.js";
import type { SimulatedJournal } from "./simulated-journal.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { CallKind, SimulatedCall, Truth } from "./truth.js";
import type { World } from "./world.js";

interface CallDetails {
  readonly withoutProof?: boolean;
  /** The intent whose price the customer's page shows. */
  readonly intentId?: string | undefined;
}

/** A web request that has not been taken up. */
interface Visit {
  /** Set once it has reached one. */
  process?: SimulatedProcess;
}

/** Everybody who calls the flow: customers' web requests, workers that recover, operators. */
export class Callers {
  readonly #world: World;
  readonly #cluster: Cluster;
  readonly #journal: SimulatedJournal;
  readonly #truth: Truth;
  /** The intents that customers were shown last, by key. */
  readonly #shown = new Map<string, string>();
  /** Calls that have not come back, and the processes that work on them. */
  readonly #pending = new Map<SimulatedCall, SimulatedProcess>();
  readonly #intent: Partial<PaymentIntentRequest>;
  #looks = 0;
  readonly #visits = new Set<Visit>();

  constructor(
    world: World,
    cluster: Cluster,
    journal: SimulatedJournal,
    truth: Truth,
    intent: Partial<PaymentIntentRequest>,
  ) {
    this.#intent = intent;
    this.#world = world;
    this.#cluster = cluster;
    this.#journal = journal;
    this.#truth = truth;
    cluster.onStarted = (process) => void this.recover(process);
    cluster.onReplaced = (process) => this.#lose(process);
  }

  /** Whether every customer got a response or gave up. */
  get areDone(): boolean {
    return this.#visits.size === 0 && this.#pending.size === 0;
  }

  /** Plans what the customers of all keys do. */
  plan(keys: readonly string[]): void {
    for (const key of keys) {
      const { choices, profile } = this.#world;
      this.#visit(choices.below(profile.leaseMs), key, choices.chance(profile.quotes) ? "quote" : "run");
      // Somebody clicks twice, or an engine runs its step a second time.
      if (choices.chance(profile.repeats)) {
        const kind = profile.quotes > 0 ? choices.of<CallKind>(["run", "quote"]) : "run";
        this.#visit(choices.below(4 * profile.leaseMs), key, kind);
      }
    }
    this.#everyNowAndThen();
  }

  /** The customer's engine runs the key once more, after a delay: at another moment in the life of a process than the time before. */
  runAgain(key: string, delayMs = 0): void {
    this.#visit(Math.round(delayMs), key, "run");
  }

  /** Flows that are not settled, and that `held` shows to operators all the same. */
  async stuckFlows(): Promise<ReadonlySet<string>> {
    const stuck = new Set<string>();
    let isRead = false;
    // Where processes are short-lived, the one that reads may end before it has read.
    while (!isRead) {
      const process = this.#cluster.any();
      this.#world.plan(0, "held", process, () => {
        void this.#readStuck(process, stuck).finally(() => {
          isRead = true;
        });
      });
      await this.#world.run(() => isRead || process.isDead, mostEventsOfOneRead);
    }
    return stuck;
  }

  async #readStuck({ flow }: SimulatedProcess, stuck: Set<string>): Promise<void> {
    try {
      for await (const found of flow.held()) {
        if (found.status === "stuck" && this.#isReason(found.failures.code)) stuck.add(found.key);
      }
    } catch (error) {
      // Those that can't be read come after all others.
      for (const failure of failuresIn(error)) if (!isUnreadable(failure)) this.#truth.workerFailed(failure);
    }
  }

  /** A process that lives for long enough takes over a flow whose lease looks too long. */
  #isReason(code: string): boolean {
    return code !== "flow_lease_overlong" || this.#world.profile.livesMs !== undefined;
  }

  /** A worker takes over what was left behind. */
  async recover(process: SimulatedProcess): Promise<void> {
    try {
      for await (const outcome of process.flow.recover()) this.#truth.told(outcome.key, outcome);
    } catch (error) {
      for (const failure of failuresIn(error)) this.#truth.workerFailed(failure);
    }
  }

  /** A customer's web request reaches one of the processes. */
  #visit(delayMs: number, key: string, kind: CallKind, intentId = this.#shown.get(key)): void {
    const visit: Visit = {};
    this.#visits.add(visit);
    this.#world.plan(delayMs, `a visit for ${key}`, undefined, () => {
      const process = this.#cluster.any();
      visit.process = process;
      this.#world.plan(0, `${kind} of ${key}`, process, () => {
        this.#visits.delete(visit);
        this.#call(key, kind, process, { intentId });
      });
    });
  }

  #call(key: string, kind: CallKind, process: SimulatedProcess, details: CallDetails = {}): void {
    const { withoutProof = false, intentId } = details;
    const call = this.#truth.began(key, kind, withoutProof, kind === "confirm" ? intentId : undefined);
    const { choices, profile } = this.#world;
    const abort = new AbortController();
    if (choices.chance(profile.aborts)) {
      this.#world.plan(choices.below(2 * profile.leaseMs), `the end of ${kind} of ${key}`, process, () => {
        if (!call.isOver) this.#world.marks.happened(key, "its caller gives up");
        abort.abort();
      });
    }
    this.#world.note(`${process.name} is asked to ${kind} ${key}`);
    this.#noteCall(key, kind);
    this.#pending.set(call, process);
    let calling: Promise<unknown>;
    try {
      calling = this.#invoke(call, process, abort.signal);
    } catch (error) {
      calling = Promise.reject(error);
    }
    void calling.then(
      () => this.#returned(call),
      (error: unknown) => this.#failed(call, error),
    );
  }

  #noteCall(key: string, kind: CallKind): void {
    const { marks } = this.#world;
    if (kind === "found" || kind === "release" || kind === "resend") marks.happened(key, `an operator decides ${kind}`);
    else if (marks.isOpen(key)) marks.happened(key, "another caller asks for it");
  }

  async #invoke(
    { key, kind, withoutProof, intentId = "unknown" }: SimulatedCall,
    { flow }: SimulatedProcess,
    signal: AbortSignal,
  ): Promise<void> {
    const decision = { by: "an operator", why: "the simulation says so" };
    const told = (outcome: FlowOutcome) => this.#truth.told(key, outcome);
    switch (kind) {
      case "run":
        return told(
          await this.#givingAway({ ...requestOf(key), ...this.#intent }, (request) =>
            flow.run(key, request, { signal }),
          ),
        );
      case "quote": {
        const { intent } = await this.#givingAway({ ...requestOf(key), ...this.#intent }, (request) =>
          flow.quote(key, request, { signal }),
        );
        this.#shown.set(key, intent.id);
        return;
      }
      case "confirm":
        return told(await flow.confirm(key, { intentId }, { signal }));
      case "cancel":
        return told(await flow.cancel(key, "the customer changed their mind"));
      case "found":
        return told(await flow.resolve(key, kind, decision));
      default:
        return told(await flow.resolve(key, kind, { ...decision, withoutProof }));
    }
  }

  /** What a caller does to its objects afterwards is no business of the flow's. */
  #givingAway<T>(request: PaymentIntentRequest, call: (request: PaymentIntentRequest) => Promise<T>): Promise<T> {
    const called = call(request);
    request.memo = "changed by its caller";
    request.receiverAccount = "changed by its caller";
    return called;
  }

  #returned(call: SimulatedCall): void {
    call.isOver = true;
    this.#pending.delete(call);
    if (call.kind !== "quote") return;
    const { choices, profile } = this.#world;
    const soon = choices.below(choices.of([profile.leaseMs, 2 * profile.quoteTtlMs]));
    if (choices.chance(profile.cancels)) this.#visit(choices.below(2 * soon + 1), call.key, "cancel");
    if (!choices.chance(profile.cancels)) this.#visit(soon, call.key, "confirm");
    // In another window of the same customer.
    if (choices.chance(profile.repeats)) {
      const thenMs = choices.chance(500) ? choices.below(soon + 1) : soon + choices.below(20);
      this.#visit(thenMs, call.key, choices.of<CallKind>(["confirm", "quote", "run"]));
    }
  }

  #failed(call: SimulatedCall, error: unknown): void {
    this.#truth.failed(call, error);
    call.isOver = true;
    this.#pending.delete(call);
    this.#tryAgain(call);
  }

  /** The process was killed: nobody gets a response, and what was begun may still take effect. */
  #lose(process: SimulatedProcess): void {
    for (const visit of this.#visits) if (visit.process === process) this.#visits.delete(visit);
    for (const [call, worker] of this.#pending) {
      if (worker !== process) continue;
      this.#pending.delete(call);
      this.#tryAgain(call);
    }
  }

  #tryAgain({ key, kind }: SimulatedCall): void {
    const { choices, profile } = this.#world;
    if (kind === "found" || kind === "release" || kind === "resend" || !choices.chance(500)) return;
    if (this.#truth.of(key).calls.length < 6) this.#visit(choices.below(3 * profile.leaseMs), key, kind);
  }

  /** Workers and operators. */
  #everyNowAndThen(): void {
    const { profile } = this.#world;
    this.#looks += 1;
    // Once nothing fails any more, every flow is soon settled, or stuck.
    const patience = this.#world.isQuiet ? 2 * this.#looks : 2;
    this.#world.plan(patience * profile.leaseMs, "a look around", undefined, () => {
      void this.#lookAround().then(() => this.#everyNowAndThen());
    });
  }

  async #lookAround(): Promise<void> {
    const { choices, profile } = this.#world;
    if (choices.chance(profile.prunes)) await this.#journal.prune(choices.of(["nothing", "evidence"]));
    if (choices.chance(profile.shutdowns)) {
      const process = this.#cluster.any();
      this.#world.plan(choices.below(50), "a shutdown", process, () => this.#cluster.shutDown(process));
    }
    for (const key of this.#truth.keys.keys()) {
      const entry = await this.#journal.read(key);
      if (entry !== undefined && !entry.settled) {
        const process = this.#cluster.any();
        this.#world.plan(choices.below(20), "recover", process, () => void this.recover(process));
        break;
      }
    }
    for (const key of this.#truth.keys.keys()) {
      const entry = await this.#journal.read(key);
      if (entry?.phase !== "held" || !choices.chance(profile.operators)) continue;
      const action = choices.of<ResolveAction>(["found", "release", "resend"]);
      const withoutProof = action !== "found" && choices.chance(profile.withoutProof);
      const process = this.#cluster.any();
      this.#world.plan(choices.below(50), `${action} of ${key}`, process, () =>
        this.#call(key, action, process, { withoutProof }),
      );
    }
  }
}

function failuresIn(error: unknown): readonly unknown[] {
  return error instanceof AggregateError ? error.errors : [error];
}

function isUnreadable(error: unknown): boolean {
  return error instanceof CrossBorderError && error.code === "flow_unreadable";
}

const mostEventsOfOneRead = 100_000;

function requestOf(key: string): PaymentIntentRequest {
  return {
    senderGatewayId: "our gateway",
    senderCurrency: "EUR",
    senderAccount: "DE02 1203 0000 0000 2020 51",
    receiverGatewayId: "their gateway",
    receiverCurrency: "BRL",
    receiverAccount: "0001-9 / 12345-6",
    receiverAmount: "600.00",
    memo: key,
  };
}
