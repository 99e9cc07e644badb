import { findOrder, type TimedOperation, type Verdict } from "./find-order.js";
import type { JournalCall, Operation, Told } from "./history.js";
import { clockAhead, whenDone } from "./journal-time.js";

/** What was told of one flow, and no order of its operations explains. */
export interface Unexplained {
  readonly key: string;
  /** What these were told can't all be true; without any one of them, the rest can. Empty where too many orders would have to be tried. */
  readonly operations: readonly Operation[];
  /** Others that asked for the states and the leases that those speak of. */
  readonly origins: readonly Operation[];
}

export interface HistoryReport {
  readonly flows: number;
  readonly operations: number;
  /** Operations of which nobody was told whether they were done. */
  readonly unknown: number;
  readonly unexplained: readonly Unexplained[];
}

/**
 * Checks that the operations on each flow have an order that explains everything that was told: as if the journal had done one after the
 * other, each between its start and its end.
 */
export function checkHistory(operations: readonly Operation[]): HistoryReport {
  const byKey = partition(operations);
  const unexplained: Unexplained[] = [];
  for (const [key, ofKey] of byKey) {
    const verdict = findOrder(ofKey);
    if (verdict === "explained") continue;
    const shortest = shortestPart(ofKey, verdict);
    unexplained.push({ key, operations: shortest, origins: originsOf(shortest, ofKey) });
  }
  const unknown = operations.filter(({ told }) => told === undefined).length;
  return { flows: byKey.size, operations: operations.length, unknown, unexplained };
}

/** The operations on each flow. What concerns many flows is an operation on each of them that may have done nothing. */
function partition(operations: readonly Operation[]): ReadonlyMap<string, readonly TimedOperation[]> {
  const ahead = clockAhead(operations);
  const byKey = new Map<string, TimedOperation[]>();
  const ofMany: TimedOperation[] = [];
  for (const operation of operations) {
    const { call, told } = operation;
    const timed = { ...operation, when: whenDone(operation, ahead) };
    const key = "key" in call ? call.key : told?.entry?.key;
    if (key !== undefined) byKey.set(key, [...(byKey.get(key) ?? []), timed]);
    else if (call.name === "prune") ofMany.push(...prunings(timed));
    else if (call.name === "restore" || told === undefined) ofMany.push(timed);
  }
  return new Map([...byKey].map(([key, ofKey]) => [key, [...ofKey, ...ofMany.filter(isMeanwhile(ofKey))]]));
}

function isMeanwhile(operations: readonly Operation[]): (operation: Operation) => boolean {
  const firstMs = operations.reduce((ms, { startMs }) => Math.min(ms, startMs), Infinity);
  const lastMs = operations.reduce((ms, { endMs, told }) => (told === undefined ? ms : Math.max(ms, endMs)), 0);
  return ({ startMs, endMs }) => startMs <= lastMs && endMs >= firstMs;
}

/** It deletes a quote in one step, and empties what is over in another, and leaves out what somebody else has locked. */
function prunings({ told, ...operation }: TimedOperation): readonly TimedOperation[] {
  if (operation.call.name !== "prune") return [];
  const { settledBeforeMs, quotedBeforeMs, keep } = operation.call.options;
  return [{ quotedBeforeMs }, { settledBeforeMs, keep }].map((options) => ({
    ...operation,
    call: { name: "prune", options },
  }));
}

/** Less than for a whole history: a part that is not the shortest will do. */
const mostStepsOfPart = 20_000;

function shortestPart(operations: readonly TimedOperation[], verdict: Verdict): readonly TimedOperation[] {
  if (verdict === "undecided") return [];
  const isUnexplained = (told: readonly TimedOperation[], latestMs: number): boolean =>
    findOrder(toldOnly(operations, told, latestMs), mostStepsOfPart) === "unexplained";
  const byEnd = operations.filter(({ told }) => told !== undefined).sort((one, other) => one.endMs - other.endMs);
  let [explained, failing] = [0, byEnd.length];
  while (explained + 1 < failing) {
    const middle = Math.floor((explained + failing) / 2);
    if (isUnexplained(byEnd.slice(0, middle), byEnd[middle - 1]?.endMs ?? 0)) failing = middle;
    else explained = middle;
  }
  const latestMs = byEnd[failing - 1]?.endMs ?? 0;
  let needed = byEnd.slice(0, failing);
  for (let size = Math.ceil(needed.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < needed.length; ) {
      const fewer = [...needed.slice(0, from), ...needed.slice(from + size)];
      if (isUnexplained(fewer, latestMs)) needed = fewer;
      else from += size;
    }
  }
  return needed;
}

function originsOf(shortest: readonly TimedOperation[], operations: readonly TimedOperation[]): readonly Operation[] {
  const named = new Set(
    shortest.flatMap(({ call, told }) => [told?.entry?.data, told?.entry?.nonce, ...namesIn(call)]),
  );
  return operations.filter(
    (each) => !shortest.includes(each) && namesIn(each.call, false).some((name) => named.has(name)),
  );
}

/** What a call asks for, and whose state or lease it names. */
function namesIn(call: JournalCall, withOwner = true): readonly string[] {
  return [
    ...("state" in call ? [call.state.data] : []),
    ...("lease" in call ? [call.lease.nonce] : []),
    ...("nonce" in call ? [call.nonce] : []),
    ...(withOwner && "id" in call ? [call.id.nonce] : []),
  ];
}

/** The history until a time, where nobody listened to what the others were told. */
function toldOnly(
  operations: readonly TimedOperation[],
  told: readonly TimedOperation[],
  latestMs: number,
): readonly TimedOperation[] {
  const heard = new Set(told);
  return operations
    .filter(({ startMs }) => startMs <= latestMs)
    .map((each) => (heard.has(each) || each.call.name === "restore" ? each : { ...each, told: undefined }));
}

/** Lines for a person: one for each operation, in the order in which they began. */
export function describeUnexplained({ key, operations, origins }: Unexplained): string {
  const name = JSON.stringify(key);
  if (operations.length === 0) return `flow ${name}: too many orders would have to be tried`;
  const sorted = [...operations, ...origins].sort((one, other) => one.startMs - other.startMs);
  const startMs = sorted[0]?.startMs ?? 0;
  const lines = sorted.map((each) => `${operations.includes(each) ? "! " : "  "}${describeOperation(each, startMs)}`);
  return [`flow ${name}: no order of its operations explains what those with ! were told`, ...lines].join("\n");
}

function describeOperation({ client, call, told, ...operation }: Operation, fromMs: number): string {
  const [startMs, endMs] = [operation.startMs, operation.endMs].map((ms) => (ms - fromMs).toFixed(3));
  const { name, ...input } = call;
  const asked = Object.entries(input).flatMap(([part, value]) =>
    part === "key" || value === undefined ? [] : [`${part} ${show(value)}`],
  );
  return `${startMs} to ${endMs} ms, ${client}: ${name} ${asked.join(", ")} → ${told === undefined ? "unknown" : describeTold(told)}`;
}

function describeTold({ isDone, entry }: Told): string {
  const done = isDone ? "done" : "no";
  if (entry === undefined) return done;
  const { epoch, nonce, revision, phase, data, leaseUntilMs, isExpired, prunedAtMs } = entry;
  return `${done}, ${show({ epoch, nonce, revision, phase, data, leaseUntilMs, isExpired, prunedAtMs })}`;
}

function show(value: unknown): string {
  return JSON.stringify(value) ?? "";
}
