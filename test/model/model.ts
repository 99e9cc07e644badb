import type { Call, Claimed, Command, Decision, Signed } from "../../src/flows/core/state.js";
import * as answers from "./events.js";
import { type EventBody, entryOf, isOpen, type Message, owned, type Row } from "./journal.js";
import { told } from "./laws.js";
import { Mechanics } from "./mechanics.js";
import {
  type Change,
  describe,
  type Emit,
  type Fault,
  isFinal,
  nobody,
  type Operator,
  type Process,
  type Sending,
  spend,
  type World,
} from "./world.js";

type Answer = (label: string, event: EventBody, change?: Change) => void;
type Faulty = (name: Fault, label: string, event: EventBody, change?: Change) => void;

/** All that can happen in a world, one step at a time. */
export class Model extends Mechanics {
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
      const others = { ...w, late: this.list(w.late.toSpliced(i, 1)) };
      emit(`a late ${message.do} arrives`, this.applied(others, message).world);
      emit(`a late ${message.do} is lost`, others);
    });
    w.sendings.forEach((one, i) => {
      if (one.at !== "flying") return;
      emit("a request on its way is lost", { ...w, sendings: this.list(w.sendings.toSpliced(i, 1)) });
      if (!this.isUsed(w, one.body)) emit("a request on its way is committed", this.arrived(w, i, this.madeAs()));
    });
    w.lateBank.forEach((call, i) => {
      const lateBank = this.list(w.lateBank.toSpliced(i, 1));
      const [from, to] = call === "takeFunds" ? (["untouched", "taken"] as const) : (["taken", "released"] as const);
      emit(`a late ${call} arrives`, { ...w, lateBank, bank: w.bank === from ? to : w.bank });
    });
    if (row?.flow.phase === "quoted" && this.can(w, "expired")) {
      if (row.expired) emit("the expired quote is pruned", { ...spend(w), row: undefined }, true);
      else emit("the quote expires", this.put(spend(w), { ...row, expired: true }), true);
    }
    if (this.options.prune && row && !row.pruned && isFinal(row.flow)) {
      const isLoose = this.options.loose === "tombstone";
      emit("the flow is pruned", isLoose ? { ...w, row: undefined } : this.put(w, { ...row, pruned: true }));
    }
    this.#restore(w, emit);
    if (this.options.looks && row?.flow.phase === "held") {
      const i = w.operators.findIndex(({ saw }) => saw === undefined);
      if (i >= 0) emit(`operator ${i + 1} looks`, this.operator(w, i, { saw: row, sent: w.sent }));
    }
  }

  #restore(w: World, emit: Emit): void {
    const { restore } = this.options;
    if (restore === undefined || w.era > 0) return;
    if (restore !== "running") {
      if (w.processes.some((process) => process !== undefined) || w.late.length > 0 || w.lateBank.length > 0) return;
      if (restore !== "lagging" && w.sendings.some(({ at }) => at !== "listed")) {
        const listed = w.sendings.map((one) => this.parts.one({ ...one, at: "listed" as const }));
        const sendings = this.list(this.sorted(listed));
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
    if (row?.leased && row.nonce === process.nonce && !process.lapsed && this.can(w, "lapse")) {
      emit(
        `P${p} stands still for longer than its lease`,
        this.process(spend(w), p, { ...process, lapsed: true }),
        true,
      );
    }
    if (!this.can(w, "crash") || command === undefined) return;
    const gone = this.process(spend(w), p, undefined);
    emit(`P${p} crashes`, gone, true);
    if (!this.can(w, "late")) return;
    const message = this.message(process, command);
    if (message !== undefined) {
      emit(`P${p} crashes, and its ${command.do} is on its way`, this.lateMessage(gone, message), true);
    }
    if (command.do === "takeFunds" || command.do === "releaseFunds") {
      const lateBank = this.list([...new Set([...gone.lateBank, command.do])].sort());
      emit(`P${p} crashes, and its ${command.do} is on its way`, { ...gone, lateBank }, true);
    }
  }

  /** A call, the worker, or an operator begins in a process. */
  #idle(w: World, p: number, emit: Emit): void {
    const { calls, operators = 0 } = this.options;
    const { row } = w;
    calls.forEach((kind, i) => {
      // Of equal calls that are left, the first one.
      const isLeft = (at: number): boolean => (w.calls & (1 << at)) !== 0;
      if (!isLeft(i) || calls.some((other, at) => at < i && other === kind && isLeft(at))) return;
      const intentId = row?.flow.intent?.id ?? "1";
      const call: Call =
        kind === "confirm" ? { kind, intentId } : kind === "cancel" ? { kind } : { kind, request: answers.request };
      const begun = { ...w, calls: w.calls & ~(1 << i), told: w.told & ~told.none };
      emit(`P${p} begins ${kind}`, this.begun(begun, p, this.start(call)));
    });
    if (row === undefined || row.pruned) return;
    const { flow, revision } = row;
    if (isOpen(flow) && this.isFree(w, row)) {
      const nonce = this.fresh(w);
      const leased = this.put(w, { ...row, epoch: row.epoch + 1, nonce, leased: true });
      const owner = { nonce, epoch: row.epoch + 1, revision };
      emit(`P${p} recovers ${flow.phase}`, this.begun(leased, p, this.resume(row), owner));
    }
    // Without a payment it would find nothing.
    if (flow.phase === "held" && w.sendings.length > 0) {
      emit(`P${p} searches again`, this.begun(w, p, this.start({ kind: "recheck" })));
    }
    for (let i = 0; i < operators; i++) {
      const { began, saw } = w.operators[i] as Operator;
      if (began || (this.options.looks && saw === undefined)) continue;
      this.#decisions(i, saw).forEach((call) => {
        const isListed = w.sendings.some(({ at }) => at === "listed");
        const begun = this.operator(w, i, { began: true, isListed });
        emit(
          `P${p}, operator ${i + 1}: ${answers.describeCall(call)}`,
          this.begun(begun, p, this.start(call), { operator: i + 1 }),
        );
      });
      if (!this.options.looks) break;
    }
  }

  /** All that an operator can decide. */
  #decisions(i: number, saw: Row | undefined): Call[] {
    const kind = "resolve";
    const by = String(i + 1);
    const revision = saw?.revision ?? 0;
    const decisions = (this.options.fewChoices ? answers.choices.slice(1, 3) : answers.choices).map(
      (choice): Decision => ({ ...choice, by, why: "w", atMs: 0 }),
    );
    if (!this.options.pairs) {
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
        this.answered({ ...w, ...change }, p, { ...process, ...mine }, event),
      );
    const fault = (name: Fault, label: string, event: EventBody, change: Change = {}): void => {
      if (!this.can(w, name)) return;
      const after = this.answered({ ...spend(w), ...change }, p, process, event);
      emit(`P${p} ${describe(command)}: ${label}`, after, true);
    };
    switch (command.do) {
      case "read":
        answer("answered", entryOf(w.row), {}, { ...nobody, seen: w.row });
        fault("fails", "fails", answers.failed);
        return;
      case "createIntent": {
        const intents = Math.min(w.intents + 1, 3);
        answer("answered", answers.intents[intents - 1] ?? answers.failed, { intents });
        fault("refused", "refused", answers.intentRefused);
        fault("fails", "fails", answers.failed);
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
        answer("released", answers.done, isOwn ? this.put(w, { ...row, leased: false }) : {});
        return;
      }
      case "takeFunds": {
        if (w.bank === "taken") answer("replayed", answers.replayed[w.takenInEra === 0 ? 0 : 1]);
        else if (w.bank !== "untouched") answer("null", answers.noFunds);
        else {
          const taken = { bank: "taken", takenInEra: w.era } as const;
          answer("taken", answers.funds, taken);
          fault("declined", "null", answers.noFunds, { bank: "declined" });
          fault("bank", "throws after it took the money", answers.failed, taken);
        }
        fault("bank", "throws", answers.failed);
        return;
      }
      case "releaseFunds": {
        const bank = w.bank === "taken" ? "released" : w.bank;
        answer("given back", answers.done, { bank });
        fault("bank", "throws after it gave back", answers.failed, { bank });
        fault("bank", "throws", answers.failed);
        return;
      }
      case "sign":
        answer("signed", answers.signatures.get(command.flow.intent.id) ?? answers.failed);
        fault("fails", "throws", answers.failed);
        return;
      case "send":
        this.#send(w, process, command.flow, answer, fault);
        return;
      case "search":
        this.#search(w, command.flow.signed, command.backToMs, answer, fault);
        return;
      case "wait": {
        fault("fails", "the caller's patience is over", answers.failed);
        if (command.until === "others" && w.row?.leased && !this.isFree(w, w.row)) return;
        const isProof = command.until === "listed" && this.options.isUntrue !== true;
        answer("over", answers.done, isProof ? this.#allListed(w, process) : {});
        return;
      }
    }
  }

  /** What an owner until now has sent is listed, or never will be. */
  #allListed(w: World, { epoch }: Process): Change {
    const { loose } = this.options;
    const isOver = (one: Sending): boolean =>
      one.epoch < epoch ? loose !== "fromRequest" : one.epoch === epoch && loose !== "fromAcquire";
    const left = w.sendings.filter((one) => one.at !== "flying" || !isOver(one));
    const sendings = left.map((one) => (isOver(one) ? this.parts.one({ ...one, at: "listed" as const }) : one));
    return { sendings: this.list(this.sorted(sendings)) };
  }

  #store(w: World, p: number, process: Process, command: Command, emit: Emit): void {
    const message = this.message(process, command);
    if (message === undefined) return;
    const label = `P${p} ${describe(command)}:`;
    const { world, is } = this.applied(w, message);
    emit(`${label} ${is}`, this.#stored(world, p, process, message, is));
    if (!this.can(w, "journal")) return;
    const faulty = spend(w);
    const applied = this.applied(faulty, message).world;
    emit(`${label} fails, nothing stored`, this.answered(faulty, p, process, answers.failed), true);
    emit(`${label} stored, and given up`, this.answered(applied, p, process, answers.failed), true);
    emit(`${label} stored, its response lost, and repeated`, applied, true);
    if (!this.can(w, "late")) return;
    const late = this.lateMessage(faulty, message);
    emit(`${label} on its way, and given up`, this.answered(late, p, process, answers.failed), true);
    emit(`${label} on its way, and repeated`, late, true);
  }

  #stored(w: World, p: number, process: Process, message: Message, is: "stored" | "again" | "refused"): World {
    if (message.do === "write") {
      const revision = is === "refused" ? process.revision : process.revision + 1;
      return this.answered(w, p, { ...process, revision }, is === "refused" ? answers.refused : answers.stored);
    }
    if (is !== "refused" && w.row !== undefined) {
      const { epoch, revision } = w.row;
      return this.answered(w, p, { ...process, epoch, revision }, owned(w.row));
    }
    if (message.do === "replaceQuote") return this.answered(w, p, process, answers.refused);
    if (message.do === "acquire") return this.answered(w, p, { ...process, ...nobody }, answers.busy);
    return this.answered(w, p, { ...process, seen: w.row }, entryOf(w.row));
  }

  #send(w: World, process: Process, { signed: { body } }: Claimed, answer: Answer, fault: Faulty): void {
    if (process.lapsed && this.options.loose !== "lease") {
      answer("the lease is over, not sent", answers.notSent);
      return;
    }
    const sent = this.options.looks ? { sent: w.sent + 1 } : {};
    const made = (at: Sending["at"] = this.madeAs()): Change => {
      const one = this.parts.one({ body, epoch: process.epoch, era: w.era, at });
      return { ...sent, sendings: this.list(this.sorted([...w.sendings, one])) };
    };
    const isUsed = this.isUsed(w, body);
    if (isUsed) answer("refused, the intent is used", answers.responses.refused, sent);
    else {
      answer("paid", answers.responses.paid, made());
      fault("lostResponse", "paid, and the response lost", answers.responses.unknown, made());
    }
    fault("lateRequest", "on its way, no response", answers.responses.unknown, made("flying"));
    fault("unsent", "certainly not sent", answers.notSent);
    for (const is of ["refused", "unauthorized", "throttled"] as const) {
      fault(is, is, answers.responses[is], sent);
      if (this.options.duplicates && !isUsed)
        fault(is, `${is}, and a second copy is paid`, answers.responses[is], made());
    }
  }

  #search(w: World, { body }: Signed, backToMs: number, answer: Answer, fault: Faulty): void {
    if (this.options.lists === "forbidden") {
      answer("forbidden", answers.searched.forbidden);
      fault("unreadable", "can't be read", answers.searched.unreadable);
      return;
    }
    const see = (sendings: readonly Sending[]): void => {
      const since = backToMs;
      const seen = sendings.filter(({ at, era }) => at === "listed" && era >= since);
      const is = seen.some((one) => one.body === body) ? "found" : seen.length > 0 ? "match" : "absent";
      answer(is, answers.searched[is], { sendings });
    };
    see(w.sendings);
    w.sendings.forEach((one, i) => {
      if (one.at === "made") see(this.arrived(w, i, "listed").sendings);
    });
    fault("unreadable", "can't be read", answers.searched.unreadable);
  }
}
