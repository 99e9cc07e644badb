import { next as production, resume, start } from "../../src/flows/core/next.js";
import type { Call, Command, Event, Result, Step } from "../../src/flows/core/state.js";
import { afterMessage, type EventBody, isOpen, type Message, type Row } from "./journal.js";
import { brokenLaw, type Facts, isSettled, told } from "./laws.js";
import { Parts } from "./parts.js";
import {
  type Fault,
  type Next,
  nobody,
  type Operator,
  type Process,
  phaseOf,
  type Sending,
  type World,
  type WorldOptions,
} from "./world.js";

const banks = ["untouched", "taken", "declined", "released"] as const;
const none: readonly never[] = [];

/** How a world changes: rows, requests, processes, and what the core makes of an event. */
export class Mechanics {
  readonly parts = new Parts();
  protected readonly options: WorldOptions;
  readonly #next: Next;
  readonly #steps = new Map<number, Step>();
  readonly #without: ReadonlySet<Fault>;

  constructor(options: WorldOptions, next: Next = production) {
    this.options = options;
    this.#next = next;
    this.#without = new Set(options.without);
  }

  initial(): World {
    const { faults, calls, processes, operators = 0 } = this.options;
    const operator: Operator = { saw: undefined, sent: 0, began: false, isListed: false, toldNo: false };
    return {
      row: undefined,
      late: this.list(none),
      past: this.list([undefined]),
      era: 0,
      sendings: this.list(none),
      sent: 0,
      bank: "untouched",
      takenInEra: 0,
      lateBank: this.list(none),
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
      isOrdinary: this.options.isOrdinary === true,
    };
  }

  // Small things.

  protected can(w: World, fault: Fault): boolean {
    return w.faults > 0 && !this.#without.has(fault);
  }

  protected madeAs(): "made" | "listed" {
    return this.options.lists === "prompt" ? "listed" : "made";
  }

  protected isUsed(w: World, body: string): boolean {
    if (this.options.config.facts.singleUseIntents !== true || this.options.isUntrue === true) return false;
    return w.sendings.some((one) => one.at !== "flying" && one.body === body);
  }

  protected arrived(w: World, i: number, at: Sending["at"]): World {
    const sendings = w.sendings.map((one, other) => (other === i ? this.parts.one({ ...one, at }) : one));
    return { ...w, sendings: this.list(this.sorted(sendings)) };
  }

  protected sorted<T extends object>(parts: readonly T[]): T[] {
    return parts.toSorted((a, b) => this.parts.id(a) - this.parts.id(b));
  }

  protected list<T>(items: readonly T[]): readonly T[] {
    return this.parts.one(items);
  }

  /** A lease is over when its owner has stood still for so long, or is gone. */
  protected isFree(w: World, row: Row): boolean {
    return !row.leased || w.processes.every((process) => process?.nonce !== row.nonce || process.lapsed);
  }

  protected put(w: World, row: Row): World {
    const stored = this.parts.one(row);
    const keepsPast = this.options.restore !== undefined && this.options.restore !== "lost" && w.era === 0;
    if (!keepsPast || w.past.includes(stored)) return { ...w, row: stored };
    return { ...w, row: stored, past: this.list([undefined, ...this.sorted([...w.past.filter(isRow), stored])]) };
  }

  protected lateMessage(w: World, message: Message): World {
    return { ...w, late: this.list(this.sorted([...w.late, message])) };
  }

  protected message(process: Process, command: Command): Message | undefined {
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

  protected applied(w: World, message: Message): { world: World; is: "stored" | "again" | "refused" } {
    const isFree = w.row !== undefined && this.isFree(w, w.row);
    const row = afterMessage(w.row, message, isFree, this.options.loose);
    if (row === undefined || row === "again") return { world: w, is: row ?? "refused" };
    return { world: this.put(message.operator > 0 ? this.#decided(w, message) : w, row), is: "stored" };
  }

  /** An operator's `release` or `resend` is stored. */
  #decided(w: World, { flow, operator, proof }: Message): World {
    const { saw, isListed, toldNo } = w.operators[operator - 1] as Operator;
    const isRelease = flow?.phase === "refused";
    const decision = flow && "decisions" in flow ? flow.decisions?.at(-1) : undefined;
    const people = [operator, Number(decision?.by)];
    let isStale = this.options.looks === true && people.some((one) => w.operators[one - 1]?.sent !== w.sent);
    if (this.options.pairs) {
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

  protected operator(w: World, i: number, change: Partial<Operator>): World {
    return { ...w, operators: w.operators.map((one, at) => (at === i ? this.parts.one({ ...one, ...change }) : one)) };
  }

  protected process(w: World, p: number, process: Process | undefined): World {
    const part = process && this.parts.one(process);
    return { ...w, processes: w.processes.map((one, at) => (at === p ? part : one)) };
  }

  protected begun(w: World, p: number, step: Step, owner: Partial<Process> = {}): World {
    return this.#continued(w, p, { ...nobody, seen: undefined, operator: 0, ...owner, step });
  }

  protected start(call: Call): Step {
    return this.parts.known(start(call));
  }

  protected resume(row: Row): Step {
    const entry = { flow: row.flow, revision: row.revision, isExpired: false };
    return this.parts.known(resume(entry));
  }

  protected answered(w: World, p: number, process: Process, event: EventBody): World {
    const timed = this.parts.known({ ...event, nowMs: w.era } as Event);
    const key = this.parts.id(process.step) * 0x200000 + this.parts.id(timed);
    let step = this.#steps.get(key);
    if (step === undefined) {
      step = this.parts.known(this.#next(process.step.state, timed, this.options.config));
      this.#steps.set(key, step);
    }
    return this.#continued(w, p, { ...process, step });
  }

  #continued(w: World, p: number, process: Process): World {
    const { state, command } = process.step;
    if (command === undefined) return state.at === "done" ? this.#ended(w, p, process, state.result) : w;
    const isQuote = command.do === "begin" || command.do === "replaceQuote";
    const lease = isQuote || command.do === "acquire" ? { ...nobody, nonce: this.fresh(w) } : {};
    const seen = isQuote || command.do === "createIntent" ? process.seen : undefined;
    return this.process(w, p, { ...process, ...lease, seen });
  }

  #ended(w: World, p: number, { nonce, operator }: Process, result: Result): World {
    const ended = this.process(w, p, undefined);
    if ("paused" in result && result.paused.code === "flow_unexpected_event") throw new Error("an unexpected event");
    if ("outcome" in result) {
      const { phase } = result.outcome;
      return phase === "held" ? ended : { ...ended, told: w.told | told[phase] };
    }
    if (!("thrown" in result)) return ended;
    if (operator > 0) return this.operator(ended, operator - 1, { toldNo: true });
    if (result.thrown.effect !== "none") return ended;
    // An error says nothing of calls beside it, nor of what a call that crashed has handed over.
    const isAlone = ended.processes.every((process) => process === undefined);
    const isLate = !this.options.strictNone && w.late.some((message) => message.nonce !== nonce);
    const phase = phaseOf(w.row);
    if (!isAlone || isLate || phase === "declined" || phase === "rejected") return ended;
    return { ...ended, told: w.told | told.none };
  }

  /** A random number: one that is nowhere. */
  protected fresh(w: World): number {
    const used = new Set<number | undefined>([w.row?.nonce]);
    for (const message of w.late) used.add(message.nonce).add(message.seen);
    for (const process of w.processes) used.add(process?.nonce).add(process?.seen?.nonce);
    if (w.era === 0) for (const row of w.past) used.add(row?.nonce);
    for (let nonce = 1; ; nonce++) if (!used.has(nonce)) return nonce;
  }
}

function isRow(row: Row | undefined): row is Row {
  return row !== undefined;
}
