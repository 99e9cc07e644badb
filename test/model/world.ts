import { next as production, resume, start } from "../../src/flows/core/next.js";
import type {
  Call,
  Claimed,
  Command,
  Config,
  Decision,
  Event,
  Failure,
  Flow,
  Refusal,
  Result,
  SearchResult,
  Signed,
  State,
  Step,
  Words,
} from "../../src/flows/core/state.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../src/resources/payment-intents.js";
import type { Payment } from "../../src/resources/payments.js";
import {
  afterMessage,
  type EventBody,
  entryOf,
  isOpen,
  type LooseRule,
  type Message,
  owned,
  type Row,
} from "./journal.js";
import { brokenLaw, type Facts, isSettled, told } from "./laws.js";
import { Parts } from "./parts.js";

/** What may go wrong. Each time costs one of the world's faults. */
export type Fault =
  | "crash"
  | "lapse" // A process stands still for longer than its lease.
  | "journal" // A write fails, or its response is lost.
  | "late" // A write, or a call of the bank, arrives after its process has given up or died.
  | "bank" // takeFunds or releaseFunds throws, before or after it did its work.
  | "declined"
  | "fails" // Anything else that throws: a read, an intent, a signature, an impatient caller.
  | "refused"
  | "unauthorized"
  | "throttled"
  | "unsent"
  | "lostResponse"
  | "lateRequest" // The service commits after the request has failed.
  | "unreadable"
  | "expired";

export interface WorldOptions {
  readonly config: Config;
  readonly processes: number;
  readonly faults: number;
  /** Calls of callers. Any process may get each. */
  readonly calls: readonly ("run" | "quote" | "confirm" | "cancel")[];
  readonly operators?: number;
  /** Operators look first, and name the revision that they saw. */
  readonly looks?: boolean;
  /** Two people for each decision. */
  readonly pairs?: boolean;
  /** Operators only choose `release`, with and without proof. */
  readonly fewChoices?: boolean;
  /** The service's list lags behind (default), doesn't, or is refused for good. */
  readonly lists?: "lag" | "prompt" | "forbidden";
  /** A proxy sends a request twice: what is refused is made anyway. */
  readonly duplicates?: boolean;
  /** What the service's operators promised is false. */
  readonly isUntrue?: boolean;
  /**
   * A backup of the journal is restored once. `stopped`: no process runs, and all that was sent is listed. `lost`: the same, and the
   * backup is older than the flow. `lagging`: no process runs. `running`: at any time.
   */
  readonly restore?: "stopped" | "lost" | "lagging" | "running";
  /** Settled flows are pruned. */
  readonly prune?: boolean;
  /** An ordinary day: nothing may be held. */
  readonly isOrdinary?: boolean;
  /** `none` is also said of calls that crashed before. */
  readonly strictNone?: boolean;
  readonly without?: readonly Fault[];
  /** A rule of the journal or the driver that doesn't hold. */
  readonly loose?: LooseRule | "lease" | "fromAcquire" | "fromRequest";
}

export type Next = (state: State, event: Event, config: Config) => Step;

interface Sending {
  /** The intent that it pays: its body. */
  readonly body: string;
  /** Of the owner that sent it, and of the journal. */
  readonly epoch: number;
  readonly era: number;
  readonly at: "flying" | "made" | "listed";
}

interface Process {
  readonly step: Step;
  readonly nonce: number;
  readonly epoch: number;
  readonly revision: number;
  readonly lapsed: boolean;
  /** The row that it read, while it may replace it. */
  readonly seen: Row | undefined;
  /** Whose decision it carries out: 1, 2, or 0 for nobody. */
  readonly operator: number;
}

interface Operator {
  /** The row that it saw, and how many requests had been sent by then. */
  readonly saw: Row | undefined;
  readonly sent: number;
  readonly began: boolean;
  /** A payment was listed when it began. */
  readonly isListed: boolean;
  readonly toldNo: boolean;
}

export interface World {
  readonly row: Row | undefined;
  /** Writes that will arrive some day. */
  readonly late: readonly Message[];
  /** Rows that a backup may have. */
  readonly past: readonly (Row | undefined)[];
  /** Raised when a backup is restored. It is also the time. */
  readonly era: number;
  readonly sendings: readonly Sending[];
  /** How many requests were sent, if anybody wants to know. */
  readonly sent: number;
  readonly bank: Facts["bank"];
  readonly takenInEra: number;
  readonly lateBank: readonly ("takeFunds" | "releaseFunds")[];
  readonly intents: number;
  /** Bits of `told`, and of calls that are left. */
  readonly told: number;
  readonly calls: number;
  readonly faults: number;
  readonly resends: number;
  readonly releases: number;
  readonly isBlind: boolean;
  readonly isStale: boolean;
  readonly operators: readonly Operator[];
  readonly processes: readonly (Process | undefined)[];
}

export type Emit = (label: string, world: World, isFault?: boolean) => void;
type Change = Partial<World>;

const banks = ["untouched", "taken", "declined", "released"] as const;
const none: readonly never[] = [];

export class Model {
  readonly parts = new Parts();
  readonly #options: WorldOptions;
  readonly #next: Next;
  readonly #steps = new Map<number, Step>();
  readonly #without: ReadonlySet<Fault>;

  constructor(options: WorldOptions, next: Next = production) {
    this.#options = options;
    this.#next = next;
    this.#without = new Set(options.without);
  }

  initial(): World {
    const { faults, calls, processes, operators = 0 } = this.#options;
    const operator: Operator = { saw: undefined, sent: 0, began: false, isListed: false, toldNo: false };
    return {
      row: undefined,
      late: this.#list(none),
      past: this.#list([undefined]),
      era: 0,
      sendings: this.#list(none),
      sent: 0,
      bank: "untouched",
      takenInEra: 0,
      lateBank: this.#list(none),
      intents: 0,
      told: 0,
      calls: (1 << calls.length) - 1,
      faults,
      resends: 0,
      releases: 0,
      isBlind: false,
      isStale: false,
      operators: Array.from({ length: operators }, () => this.parts.one(operator)),
      processes: Array.from({ length: processes }, () => undefined),
    };
  }

  /** Everything that makes a difference, as numbers. Processes that are in each other's place are the same world. */
  numbers(w: World): number[] {
    const id = (part: object | undefined): number => this.parts.id(part);
    const bits =
      Number(w.isBlind) | (Number(w.isStale) << 1) | (banks.indexOf(w.bank) << 2) | (w.takenInEra << 4) | (w.era << 5);
    const counts =
      w.faults | (w.resends << 4) | (w.releases << 8) | (w.intents << 12) | (w.sent << 16) | (w.calls << 24);
    return [
      id(w.row),
      id(w.late),
      w.era === 0 ? id(w.past) : 0,
      id(w.sendings),
      id(w.lateBank),
      w.told | (bits << 8),
      counts,
      ...w.operators.map(id),
      ...w.processes.map(id).sort((a, b) => a - b),
    ];
  }

  brokenLaw(w: World): string | undefined {
    return brokenLaw(this.#facts(w));
  }

  isSettled(w: World): boolean {
    return w.processes.every((process) => process === undefined) && isSettled({ phase: phaseOf(w.row) });
  }

  #facts(w: World): Facts {
    const { bank, resends, releases, isBlind, isStale, sendings } = w;
    return {
      payments: sendings.reduce((sum, { at }) => (at === "flying" ? sum : sum + 1), 0),
      bank,
      phase: phaseOf(w.row),
      told: w.told,
      resends,
      releases,
      isBlind,
      isStale,
      isRestored: w.era > 0,
      isOrdinary: this.#options.isOrdinary === true,
    };
  }

  // What can happen.

  successors(w: World, emit: Emit): void {
    this.#environment(w, emit);
    w.processes.forEach((process, p) => {
      if (process === undefined) this.#idle(w, p, emit);
      else {
        this.#act(w, p, process, emit);
        this.#stop(w, p, process, emit);
      }
    });
  }

  #environment(w: World, emit: Emit): void {
    const { row } = w;
    w.late.forEach((message, i) => {
      const others = { ...w, late: this.#list(w.late.toSpliced(i, 1)) };
      emit(`a late ${message.do} arrives`, this.#applied(others, message).world);
      emit(`a late ${message.do} is lost`, others);
    });
    w.sendings.forEach((one, i) => {
      if (one.at !== "flying") return;
      emit("a request on its way is lost", { ...w, sendings: this.#list(w.sendings.toSpliced(i, 1)) });
      if (!this.#isUsed(w, one.body)) emit("a request on its way is committed", this.#arrived(w, i, this.#madeAs()));
    });
    w.lateBank.forEach((call, i) => {
      const lateBank = this.#list(w.lateBank.toSpliced(i, 1));
      const [from, to] = call === "takeFunds" ? (["untouched", "taken"] as const) : (["taken", "released"] as const);
      emit(`a late ${call} arrives`, { ...w, lateBank, bank: w.bank === from ? to : w.bank });
    });
    if (row?.flow.phase === "quoted" && this.#can(w, "expired")) {
      if (row.expired) emit("the expired quote is pruned", { ...spend(w), row: undefined }, true);
      else emit("the quote expires", this.#put(spend(w), { ...row, expired: true }), true);
    }
    if (this.#options.prune && row && !row.pruned && isFinal(row.flow)) {
      const isLoose = this.#options.loose === "tombstone";
      emit("the flow is pruned", isLoose ? { ...w, row: undefined } : this.#put(w, { ...row, pruned: true }));
    }
    this.#restore(w, emit);
    if (this.#options.looks && row?.flow.phase === "held") {
      const i = w.operators.findIndex(({ saw }) => saw === undefined);
      if (i >= 0) emit(`operator ${i + 1} looks`, this.#operator(w, i, { saw: row, sent: w.sent }));
    }
  }

  #restore(w: World, emit: Emit): void {
    const { restore } = this.#options;
    if (restore === undefined || w.era > 0) return;
    if (restore !== "running") {
      if (w.processes.some((process) => process !== undefined) || w.late.length > 0 || w.lateBank.length > 0) return;
      if (restore !== "lagging" && w.sendings.some(({ at }) => at !== "listed")) {
        const sendings = this.#list(w.sendings.map((one) => this.parts.one({ ...one, at: "listed" as const })));
        if (w.sendings.every(({ at }) => at !== "flying")) emit("all is listed", { ...w, sendings });
        return;
      }
    }
    for (const row of restore === "lost" ? [undefined] : w.past) {
      if (row === w.row) continue;
      emit("a backup of the journal is restored", { ...w, row, era: 1, told: w.told & ~told.none });
    }
  }

  #stop(w: World, p: number, process: Process, emit: Emit): void {
    const { row } = w;
    const { command } = process.step;
    if (row?.leased && row.nonce === process.nonce && !process.lapsed && this.#can(w, "lapse")) {
      emit(
        `P${p} stands still for longer than its lease`,
        this.#process(spend(w), p, { ...process, lapsed: true }),
        true,
      );
    }
    if (!this.#can(w, "crash") || command === undefined) return;
    const gone = this.#process(spend(w), p, undefined);
    emit(`P${p} crashes`, gone, true);
    if (!this.#can(w, "late")) return;
    const message = this.#message(process, command);
    if (message !== undefined) {
      emit(`P${p} crashes, and its ${command.do} is on its way`, this.#lateMessage(gone, message), true);
    }
    if (command.do === "takeFunds" || command.do === "releaseFunds") {
      const lateBank = this.#list([...new Set([...gone.lateBank, command.do])].sort());
      emit(`P${p} crashes, and its ${command.do} is on its way`, { ...gone, lateBank }, true);
    }
  }

  /** A call, the worker, or an operator begins in a process. */
  #idle(w: World, p: number, emit: Emit): void {
    const { calls, operators = 0 } = this.#options;
    const { row } = w;
    calls.forEach((kind, i) => {
      // Of equal calls that are left, the first one.
      const isLeft = (at: number): boolean => (w.calls & (1 << at)) !== 0;
      if (!isLeft(i) || calls.some((other, at) => at < i && other === kind && isLeft(at))) return;
      const intentId = row?.flow.intent?.id ?? "1";
      const call: Call = kind === "confirm" ? { kind, intentId } : kind === "cancel" ? { kind } : { kind, request };
      const begun = { ...w, calls: w.calls & ~(1 << i), told: w.told & ~told.none };
      emit(`P${p} begins ${kind}`, this.#begun(begun, p, start(call)));
    });
    if (row === undefined || row.pruned) return;
    const { flow, revision } = row;
    if (isOpen(flow) && this.#isFree(w, row)) {
      const nonce = this.#fresh(w);
      const leased = this.#put(w, { ...row, epoch: row.epoch + 1, nonce, leased: true });
      const owner = { nonce, epoch: row.epoch + 1, revision };
      emit(`P${p} recovers ${flow.phase}`, this.#begun(leased, p, resume({ flow, revision, isExpired: false }), owner));
    }
    // Without a payment it would find nothing.
    if (flow.phase === "held" && w.sendings.length > 0) {
      emit(`P${p} searches again`, this.#begun(w, p, start({ kind: "recheck" })));
    }
    for (let i = 0; i < operators; i++) {
      const { began, saw } = w.operators[i] as Operator;
      if (began || (this.#options.looks && saw === undefined)) continue;
      this.#decisions(i, saw).forEach((call) => {
        const isListed = w.sendings.some(({ at }) => at === "listed");
        const begun = this.#operator(w, i, { began: true, isListed });
        emit(
          `P${p}, operator ${i + 1}: ${describeCall(call)}`,
          this.#begun(begun, p, start(call), { operator: i + 1 }),
        );
      });
      if (!this.#options.looks) break;
    }
  }

  /** All that an operator can decide. */
  #decisions(i: number, saw: Row | undefined): Call[] {
    const kind = "resolve";
    const by = String(i + 1);
    const revision = saw?.revision ?? 0;
    const decisions = (this.#options.fewChoices ? choices.slice(1, 3) : choices).map(
      (choice): Decision => ({ ...choice, by, why: "w", atMs: 0 }),
    );
    if (!this.#options.pairs) {
      const seen = saw && { revision };
      return decisions.map((decision): Call => ({ kind, step: "decide", decision, ...seen }));
    }
    const { proposal } = saw?.flow.phase === "held" ? saw.flow : {};
    const approvals = proposal === undefined ? [] : [...new Set([by, proposal.by])];
    return [
      ...decisions.map((decision): Call => ({ kind, step: "propose", decision, revision })),
      ...approvals.map((who): Call => ({ kind, step: "approve", by: who, revision })),
      ...(proposal === undefined ? [] : [{ kind, step: "refuse", by, revision } as const]),
    ];
  }

  // What a process has commanded happens, in one of the ways in which it can.

  #act(w: World, p: number, process: Process, emit: Emit): void {
    const { command } = process.step;
    if (command === undefined) return;
    const answer = (label: string, event: EventBody, change: Change = {}, mine: Partial<Process> = {}): void =>
      emit(
        `P${p} ${describe(command)}: ${label}`,
        this.#answered({ ...w, ...change }, p, { ...process, ...mine }, event),
      );
    const fault = (name: Fault, label: string, event: EventBody, change: Change = {}): void => {
      if (!this.#can(w, name)) return;
      const after = this.#answered({ ...spend(w), ...change }, p, process, event);
      emit(`P${p} ${describe(command)}: ${label}`, after, true);
    };
    switch (command.do) {
      case "read":
        answer("answered", entryOf(w.row), {}, { ...nobody, seen: w.row });
        fault("fails", "fails", failed);
        return;
      case "createIntent": {
        const intents = Math.min(w.intents + 1, 3);
        const intent = { id: String(intents) } as PaymentIntent;
        answer("answered", { is: "intent", intent }, { intents });
        fault("refused", "refused", { is: "intentRefused", refusal, failure: refusedIntent });
        fault("fails", "fails", failed);
        return;
      }
      case "begin":
      case "replaceQuote":
      case "acquire":
      case "write":
        this.#store(w, p, process, command, emit);
        return;
      case "release": {
        const { row } = w;
        const isOwn = row?.leased && row.nonce === process.nonce && row.epoch === process.epoch;
        answer("released", done, isOwn ? this.#put(w, { ...row, leased: false }) : {});
        return;
      }
      case "takeFunds": {
        if (w.bank === "taken") answer("replayed", replayed[w.takenInEra === 0 ? 0 : 1]);
        else if (w.bank !== "untouched") answer("null", { is: "funds", funds: null });
        else {
          const taken = { bank: "taken", takenInEra: w.era } as const;
          answer("taken", { is: "funds", funds: { senderGatewayTransactionId: "t", replayed: false } }, taken);
          fault("declined", "null", { is: "funds", funds: null }, { bank: "declined" });
          fault("bank", "throws after it took the money", failed, taken);
        }
        fault("bank", "throws", failed);
        return;
      }
      case "releaseFunds": {
        const bank = w.bank === "taken" ? "released" : w.bank;
        answer("given back", done, { bank });
        fault("bank", "throws after it gave back", failed, { bank });
        fault("bank", "throws", failed);
        return;
      }
      case "sign":
        answer("signed", { is: "signed", signed: signedFor(command.flow.intent) });
        fault("fails", "throws", failed);
        return;
      case "send":
        this.#send(w, process, command.flow, answer, fault);
        return;
      case "search":
        this.#search(w, command.flow.signed, command.backToMs, answer, fault);
        return;
      case "wait": {
        fault("fails", "the caller's patience is over", failed);
        if (command.until === "others" && w.row?.leased && !this.#isFree(w, w.row)) return;
        const isProof = command.until === "listed" && this.#options.isUntrue !== true;
        answer("over", done, isProof ? this.#allListed(w, process) : {});
        return;
      }
    }
  }

  /** What an owner until now has sent is listed, or never will be. */
  #allListed(w: World, { epoch }: Process): Change {
    const { loose } = this.#options;
    const isOver = (one: Sending): boolean =>
      one.epoch < epoch ? loose !== "fromRequest" : one.epoch === epoch && loose !== "fromAcquire";
    const left = w.sendings.filter((one) => one.at !== "flying" || !isOver(one));
    const sendings = left.map((one) => (isOver(one) ? this.parts.one({ ...one, at: "listed" as const }) : one));
    return { sendings: this.#list(this.#sorted(sendings)) };
  }

  #store(w: World, p: number, process: Process, command: Command, emit: Emit): void {
    const message = this.#message(process, command);
    if (message === undefined) return;
    const label = `P${p} ${describe(command)}:`;
    const { world, is } = this.#applied(w, message);
    emit(`${label} ${is}`, this.#stored(world, p, process, message, is));
    if (!this.#can(w, "journal")) return;
    const faulty = spend(w);
    const applied = this.#applied(faulty, message).world;
    emit(`${label} fails, nothing stored`, this.#answered(faulty, p, process, failed), true);
    emit(`${label} stored, and given up`, this.#answered(applied, p, process, failed), true);
    emit(`${label} stored, its response lost, and repeated`, applied, true);
    if (!this.#can(w, "late")) return;
    const late = this.#lateMessage(faulty, message);
    emit(`${label} on its way, and given up`, this.#answered(late, p, process, failed), true);
    emit(`${label} on its way, and repeated`, late, true);
  }

  #stored(w: World, p: number, process: Process, message: Message, is: "stored" | "again" | "refused"): World {
    if (message.do === "write") {
      const revision = is === "refused" ? process.revision : process.revision + 1;
      return this.#answered(w, p, { ...process, revision }, { is: is === "refused" ? "refused" : "stored" });
    }
    if (is !== "refused" && w.row !== undefined) {
      const { epoch, revision } = w.row;
      return this.#answered(w, p, { ...process, epoch, revision }, owned(w.row));
    }
    if (message.do === "replaceQuote") return this.#answered(w, p, process, { is: "refused" });
    if (message.do === "acquire") return this.#answered(w, p, { ...process, ...nobody }, { is: "busy" });
    return this.#answered(w, p, { ...process, seen: w.row }, entryOf(w.row));
  }

  #send(w: World, process: Process, { signed: { body } }: Claimed, answer: Answer, fault: Faulty): void {
    if (process.lapsed && this.#options.loose !== "lease") {
      answer("the lease is over, not sent", notSent);
      return;
    }
    const sent = this.#options.looks ? { sent: w.sent + 1 } : {};
    const made = (at: Sending["at"] = this.#madeAs()): Change => {
      const one = this.parts.one({ body, epoch: process.epoch, era: w.era, at });
      return { ...sent, sendings: this.#list(this.#sorted([...w.sendings, one])) };
    };
    const isUsed = this.#isUsed(w, body);
    if (isUsed) answer("refused, the intent is used", responses.refused, sent);
    else {
      answer("paid", responses.paid, made());
      fault("lostResponse", "paid, and the response lost", responses.unknown, made());
    }
    fault("lateRequest", "on its way, no response", responses.unknown, made("flying"));
    fault("unsent", "certainly not sent", notSent);
    for (const is of ["refused", "unauthorized", "throttled"] as const) {
      fault(is, is, responses[is], sent);
      if (this.#options.duplicates && !isUsed) fault(is, `${is}, and a second copy is paid`, responses[is], made());
    }
  }

  #search(w: World, { body }: Signed, backToMs: number, answer: Answer, fault: Faulty): void {
    if (this.#options.lists === "forbidden") {
      answer("forbidden", searched.forbidden);
      fault("unreadable", "can't be read", searched.unreadable);
      return;
    }
    const see = (sendings: readonly Sending[]): void => {
      const since = backToMs - this.#options.config.bankSkewMs;
      const seen = sendings.filter(({ at, era }) => at === "listed" && era >= since);
      const is = seen.some((one) => one.body === body) ? "found" : seen.length > 0 ? "match" : "absent";
      answer(is, searched[is], { sendings });
    };
    see(w.sendings);
    w.sendings.forEach((one, i) => {
      if (one.at === "made") see(this.#arrived(w, i, "listed").sendings);
    });
    fault("unreadable", "can't be read", searched.unreadable);
  }

  // Small things.

  #can(w: World, fault: Fault): boolean {
    return w.faults > 0 && !this.#without.has(fault);
  }

  #madeAs(): "made" | "listed" {
    return this.#options.lists === "prompt" ? "listed" : "made";
  }

  #isUsed(w: World, body: string): boolean {
    if (this.#options.config.facts.singleUseIntents !== true || this.#options.isUntrue === true) return false;
    return w.sendings.some((one) => one.at !== "flying" && one.body === body);
  }

  #arrived(w: World, i: number, at: Sending["at"]): World {
    const sendings = w.sendings.map((one, other) => (other === i ? this.parts.one({ ...one, at }) : one));
    return { ...w, sendings: this.#list(this.#sorted(sendings)) };
  }

  #sorted<T extends object>(parts: readonly T[]): T[] {
    return parts.toSorted((a, b) => this.parts.id(a) - this.parts.id(b));
  }

  #list<T>(items: readonly T[]): readonly T[] {
    return this.parts.one(items);
  }

  /** A lease is over when its owner has stood still for so long, or is gone. */
  #isFree(w: World, row: Row): boolean {
    return !row.leased || w.processes.every((process) => process?.nonce !== row.nonce || process.lapsed);
  }

  #put(w: World, row: Row): World {
    const stored = this.parts.one(row);
    const keepsPast = this.#options.restore !== undefined && this.#options.restore !== "lost" && w.era === 0;
    if (!keepsPast || w.past.includes(stored)) return { ...w, row: stored };
    return { ...w, row: stored, past: this.#list([undefined, ...this.#sorted([...w.past.filter(isRow), stored])]) };
  }

  #lateMessage(w: World, message: Message): World {
    return { ...w, late: this.#list(this.#sorted([...w.late, message])) };
  }

  #message(process: Process, command: Command): Message | undefined {
    if (command.do !== "begin" && command.do !== "acquire" && command.do !== "write" && command.do !== "replaceQuote")
      return undefined;
    const { nonce, epoch, revision, seen, step, operator } = process;
    const quiet = { do: command.do, nonce, epoch: 0, revision: 0, seen: 0, inTime: false, operator: 0, proof: false };
    if (command.do === "acquire") return this.parts.one(quiet);
    const flow = this.parts.known(command.flow);
    if (command.do === "begin") return this.parts.one({ ...quiet, flow });
    if (command.do === "replaceQuote") {
      const read = { epoch: seen?.epoch ?? 0, revision: seen?.revision ?? 0, seen: seen?.nonce ?? 0 };
      return this.parts.one({ ...quiet, flow, ...read, inTime: command.inTime });
    }
    const owner = step.state.at === "writing" ? step.state.owner : undefined;
    const isDecision = owner?.call.kind === "resolve" && owner.flow.phase === "held" && isOpen(flow);
    const proof = isDecision && owner.decision?.withoutProof !== true;
    return this.parts.one({ ...quiet, flow, epoch, revision, operator: isDecision ? operator : 0, proof });
  }

  #applied(w: World, message: Message): { world: World; is: "stored" | "again" | "refused" } {
    const isFree = w.row !== undefined && this.#isFree(w, w.row);
    const row = afterMessage(w.row, message, isFree, this.#options.loose);
    if (row === undefined || row === "again") return { world: w, is: row ?? "refused" };
    return { world: this.#put(message.operator > 0 ? this.#decided(w, message) : w, row), is: "stored" };
  }

  /** An operator's `release` or `resend` is stored. */
  #decided(w: World, { flow, operator, proof }: Message): World {
    const { saw, isListed, toldNo } = w.operators[operator - 1] as Operator;
    const isRelease = flow?.phase === "refused";
    const decision = flow && "decisions" in flow ? flow.decisions?.at(-1) : undefined;
    const people = [operator, Number(decision?.by)];
    let isStale = this.#options.looks === true && people.some((one) => w.operators[one - 1]?.sent !== w.sent);
    if (this.#options.pairs) {
      const { approvedBy, ...carriedOut } = decision ?? {};
      const proposal = saw?.flow.phase === "held" ? saw.flow.proposal : undefined;
      isStale ||= approvedBy === decision?.by || JSON.stringify(proposal) !== JSON.stringify(carriedOut);
    }
    return {
      ...w,
      resends: w.resends + (isRelease ? 0 : 1),
      releases: w.releases + (isRelease ? 1 : 0),
      isBlind: w.isBlind || (proof && isListed),
      isStale: w.isStale || isStale,
      told: toldNo ? w.told | told.undecided : w.told,
    };
  }

  #operator(w: World, i: number, change: Partial<Operator>): World {
    return { ...w, operators: w.operators.map((one, at) => (at === i ? this.parts.one({ ...one, ...change }) : one)) };
  }

  #process(w: World, p: number, process: Process | undefined): World {
    const part = process && this.parts.one(process);
    return { ...w, processes: w.processes.map((one, at) => (at === p ? part : one)) };
  }

  #begun(w: World, p: number, step: Step, owner: Partial<Process> = {}): World {
    return this.#continued(w, p, { ...nobody, seen: undefined, operator: 0, ...owner, step: this.parts.known(step) });
  }

  #answered(w: World, p: number, process: Process, event: EventBody): World {
    const timed = this.#timed(event, w.era);
    const key = this.parts.id(process.step) * 0x200000 + this.parts.id(timed);
    let step = this.#steps.get(key);
    if (step === undefined) {
      step = this.parts.known(this.#next(process.step.state, timed, this.#options.config));
      this.#steps.set(key, step);
    }
    return this.#continued(w, p, { ...process, step });
  }

  #timed(event: EventBody, nowMs: number): Event {
    return this.parts.known({ ...event, nowMs } as Event);
  }

  #continued(w: World, p: number, process: Process): World {
    const { state, command } = process.step;
    if (command === undefined) return state.at === "done" ? this.#ended(w, p, process, state.result) : w;
    const isQuote = command.do === "begin" || command.do === "replaceQuote";
    const lease = isQuote || command.do === "acquire" ? { ...nobody, nonce: this.#fresh(w) } : {};
    const seen = isQuote || command.do === "createIntent" ? process.seen : undefined;
    return this.#process(w, p, { ...process, ...lease, seen });
  }

  #ended(w: World, p: number, { nonce, operator }: Process, result: Result): World {
    const ended = this.#process(w, p, undefined);
    if ("paused" in result && result.paused.code === "flow_unexpected_event") throw new Error("an unexpected event");
    if ("outcome" in result) {
      const { phase } = result.outcome;
      return phase === "held" ? ended : { ...ended, told: w.told | told[phase] };
    }
    if (!("thrown" in result) || result.thrown.effect !== "none") return ended;
    if (operator > 0) return this.#operator(ended, operator - 1, { toldNo: true });
    // An error says nothing of calls beside it, nor of what a call that crashed has handed over.
    const isAlone = ended.processes.every((process) => process === undefined);
    const isLate = !this.#options.strictNone && w.late.some((message) => message.nonce !== nonce);
    const phase = phaseOf(w.row);
    if (!isAlone || isLate || phase === "declined" || phase === "rejected") return ended;
    return { ...ended, told: w.told | told.none };
  }

  /** A random number: one that is nowhere. */
  #fresh(w: World): number {
    const used = new Set<number | undefined>([w.row?.nonce]);
    for (const message of w.late) used.add(message.nonce).add(message.seen);
    for (const process of w.processes) used.add(process?.nonce).add(process?.seen?.nonce);
    if (w.era === 0) for (const row of w.past) used.add(row?.nonce);
    for (let nonce = 1; ; nonce++) if (!used.has(nonce)) return nonce;
  }
}

type Answer = (label: string, event: EventBody, change?: Change) => void;
type Faulty = (name: Fault, label: string, event: EventBody, change?: Change) => void;

const nobody = { nonce: 0, epoch: 0, revision: 0, lapsed: false };
const request = { memo: "m" } as PaymentIntentRequest;
const payment = { id: "p" } as Payment;
const refusal: Refusal = { by: "service", status: 400, code: "no", message: "" };
const said: Words = { code: "c", message: "" };
const refusedIntent: Failure = { code: "refused", effect: "none" };
const failed: EventBody = { is: "failed", failure: { code: "failed", effect: "possible" } };
const done: EventBody = { is: "done" };
const notSent: EventBody = {
  is: "response",
  response: { is: "notSent", failure: { code: "not_sent", effect: "none" } },
};
const responses = {
  paid: { is: "response", response: { is: "paid", payment } },
  refused: { is: "response", response: { is: "refused", refusal } },
  unauthorized: { is: "response", response: { is: "unauthorized", said, retryAtMs: 0 } },
  throttled: { is: "response", response: { is: "throttled", said, retryAtMs: 0 } },
  unknown: { is: "response", response: { is: "unknown", said } },
} as const satisfies Record<string, EventBody>;
const results: readonly SearchResult[] = [
  { is: "found", payment },
  { is: "match", payment },
  { is: "absent" },
  { is: "unreadable" },
  { is: "forbidden" },
];
const searched = Object.fromEntries(results.map((result) => [result.is, { is: "searched", result }])) as Record<
  SearchResult["is"],
  EventBody
>;
const replayed = [0, 1].map(
  (takenAtMs): EventBody => ({ is: "funds", funds: { senderGatewayTransactionId: "t", replayed: true, takenAtMs } }),
) as [EventBody, EventBody];
const choices = [
  { action: "found" },
  { action: "release" },
  { action: "release", withoutProof: true },
  { action: "resend" },
  { action: "resend", withoutProof: true },
] as const;

function signedFor({ id }: PaymentIntent): Signed {
  return { senderGatewayTransactionId: "t", path: "/payments", body: id, signature: id };
}

function spend(w: World): World {
  return { ...w, faults: w.faults - 1 };
}

function isRow(row: Row | undefined): row is Row {
  return row !== undefined;
}

function isFinal({ phase }: Flow): boolean {
  return phase === "paid" || phase === "declined" || phase === "rejected";
}

function phaseOf(row: Row | undefined): Facts["phase"] {
  return row === undefined ? "none" : row.pruned ? "pruned" : row.flow.phase;
}

function describe(command: Command): string {
  const stores = command.do === "write" || command.do === "begin" || command.do === "replaceQuote";
  return stores ? `${command.do} ${command.flow.phase}` : command.do;
}

function describeCall(call: Call): string {
  if (call.kind !== "resolve") return call.kind;
  if (!("decision" in call)) return `${call.step} as ${call.by}`;
  return `${call.step} ${call.decision.action}${call.decision.withoutProof ? " without proof" : ""}`;
}
