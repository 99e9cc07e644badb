import type { JournalEntry } from "../../src/flows/journal.js";
import { callOf, type FlowRecord } from "../crash/flow-records.js";
import type { StoredState } from "../crash/stored-states.js";
import { FlowTrace, type Step, type Trace, type Waits } from "./trace.js";

/** A change of a key's row, and between which moments it was made. */
interface Change {
  readonly name: "begin" | "replace" | "acquire" | "store" | "release";
  readonly state: StoredState;
  /** When it was asked for. */
  askedAtMs: number;
  /** When somebody saw it first. */
  seenAtMs: number;
}

/**
 * What happened to each flow of processes that were killed. The order of the changes of its row is known, and the order of all that
 * processes, service and bank saw; when a change was made, among the latter, is known as far as who asked for it and who saw it.
 */
export function crashTraces(
  records: readonly FlowRecord[],
  states: readonly StoredState[],
  waits: Waits,
): readonly Trace[] {
  const asked = new Map<string, number>();
  const lists: FlowRecord[] = [];
  const byKey = new Map<string, FlowRecord[]>();
  for (const record of records) {
    const call = record.type === "asked" ? record.call : record.type === "handed" ? callOf.write(record.id) : undefined;
    if (call !== undefined && !asked.has(call)) asked.set(call, record.atMs);
    if (record.type === "listed") lists.push(record);
    else if ("key" in record) addTo(byKey, record.key, record);
  }
  const statesByKey = new Map<string, StoredState[]>();
  for (const state of states) addTo(statesByKey, state.key, state);
  return [...statesByKey].map(([key, ofKey]) => {
    const own = byKey.get(key) ?? [];
    const changes = changesOf(ofKey, own, asked);
    const from = changes[0]?.askedAtMs ?? 0;
    const events = [...own, ...lists.filter(({ atMs }) => atMs >= from)].sort((one, other) => one.atMs - other.atMs);
    return traceOf(key, events, changes, waits);
  });
}

function addTo<T>(map: Map<string, T[]>, key: string, value: T): void {
  const known = map.get(key);
  if (known === undefined) map.set(key, [value]);
  else known.push(value);
}

function changesOf(
  states: readonly StoredState[],
  records: readonly FlowRecord[],
  asked: ReadonlyMap<string, number>,
): readonly Change[] {
  const changes: Change[] = [];
  for (const [index, state] of states.entries()) {
    const name = nameOf(states[index - 1], state);
    if (name === undefined) continue;
    const call =
      name === "store"
        ? callOf.write({ ...state, revision: state.revision - 1 })
        : name === "release"
          ? callOf.release(state)
          : callOf.own(state.nonce);
    changes.push({ name, state, askedAtMs: asked.get(call) ?? 0, seenAtMs: Infinity });
  }
  let next = 0;
  for (const record of records) {
    const seen =
      record.type === "seen"
        ? record
        : record.type === "told"
          ? { epoch: record.id.epoch, revision: record.id.revision + 1 }
          : undefined;
    if (seen === undefined) continue;
    for (let change = changes[next]; change !== undefined && isIn(change, seen); change = changes[++next]) {
      change.seenAtMs = record.atMs;
    }
  }
  return changes;
}

/** Whether who saw that state can tell that the change was made. */
function isIn({ name, state }: Change, seen: { readonly epoch: number; readonly revision: number }): boolean {
  if (seen.epoch !== state.epoch) return seen.epoch > state.epoch;
  return name === "release" ? seen.revision > state.revision : seen.revision >= state.revision;
}

function nameOf(
  before: StoredState | undefined,
  { epoch, revision, isLeased }: StoredState,
): Change["name"] | undefined {
  if (before === undefined) return "begin";
  if (epoch !== before.epoch) return revision === before.revision ? "acquire" : "replace";
  if (revision !== before.revision) return "store";
  return before.isLeased && !isLeased ? "release" : undefined;
}

function traceOf(key: string, events: readonly FlowRecord[], changes: readonly Change[], waits: Waits): Trace {
  const trace = new FlowTrace(waits);
  const sendings: string[] = [];
  let made = 0;
  const make = (change: Change, after: number): void => {
    trace.bounds = { change: made, after };
    addChange(trace, change);
    made += 1;
  };
  // As late as it can have been: who knows of an owner comes after it.
  const isSeen = (atMs: number) => changes.slice(made).some(({ seenAtMs }) => seenAtMs <= atMs);
  const earliest: number[] = [];
  for (const { askedAtMs } of changes) earliest.push(Math.max(askedAtMs, earliest.at(-1) ?? 0));
  const eventsUntil = (atMs: number): number => {
    const index = events.findIndex((event) => event.atMs > atMs);
    return index < 0 ? events.length : index;
  };
  const makeNext = (): void => {
    const change = changes[made];
    if (change !== undefined) make(change, eventsUntil(earliest[made] ?? 0));
  };
  for (const [index, event] of events.entries()) {
    while (isSeen(event.atMs)) makeNext();
    trace.bounds = { at: index, needs: made };
    addEvent(trace, event, sendings);
  }
  while (made < changes.length) makeNext();
  return { name: key, facts: { singleUse: false, listedWithin: false }, ...inTwo(trace.steps) };
}

/** The order of both is known, and how far one is at least when a step of the other is taken. */
function inTwo(all: readonly Step[]): Pick<Trace, "steps" | "stored"> {
  const steps = all.filter(({ after }) => after === undefined);
  const stored = all.filter(({ after }) => after !== undefined);
  return {
    steps: steps.map(({ at, needs, ...step }) => ({ ...step, needs: countBelow(stored, "change", needs) }) as Step),
    stored: stored.map(({ change, after, ...step }) => ({ ...step, after: countBelow(steps, "at", after) }) as Step),
  };
}

function countBelow(steps: readonly Step[], name: string, bound: Step[string] | undefined): number {
  return steps.filter((step) => Number(step[name]) < Number(bound)).length;
}

function addChange(trace: FlowTrace, { name, state, askedAtMs }: Change): void {
  // What a trace reads of an entry.
  const entry = { ...state, data: "" } as unknown as JournalEntry;
  switch (name) {
    case "begin":
      trace.begun(askedAtMs, entry, state.owner);
      return;
    case "replace":
      trace.replaced(askedAtMs, entry, state.owner);
      return;
    case "acquire":
      trace.acquired(askedAtMs, entry, state.owner, true);
      return;
    case "store":
      trace.stored(askedAtMs, { ...state, revision: state.revision - 1 }, true);
      return;
    case "release":
      trace.released(askedAtMs, state);
      return;
  }
}

function addEvent(trace: FlowTrace, record: FlowRecord, sendings: string[]): void {
  const { atMs } = record;
  switch (record.type) {
    case "handed":
      trace.handed(atMs, record.id, record.state);
      return;
    case "told":
      trace.told(atMs, record.id);
      return;
    case "sent":
      sendings.push(record.sending);
      trace.sent(atMs, record.process);
      return;
    case "paid":
      trace.paid(atMs, sendings.indexOf(record.sending) + 1, atMs);
      return;
    case "listed":
      trace.looked(atMs, record.process);
      return;
    case "asked for money":
      trace.asked(atMs, record.process, record.answer);
      return;
    case "ordered":
      trace.gaveBack(atMs, record.process, "order");
      return;
    case "gave back":
      trace.gaveBack(atMs, record.process, "give");
      return;
  }
}
