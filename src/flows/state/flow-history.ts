import type { FlowPhase } from "../../events/flow-event.js";
import { clock } from "../../timing/clock.js";
import type { FlowHistory, FlowState, FlowStep } from "./flow-state.js";

/** So many steps are kept. */
export const mostSteps = 50;

/** Where a step began. */
export interface BegunStep {
  readonly from: FlowState | undefined;
  /** By the monotonic clock. */
  readonly startMs: number;
}

/** The state that a step has led to, with that step in its history: it is stored with it, in the same write. */
export function withStep<State extends FlowState>(
  { owner, leaseMs }: Owner,
  { from, startMs }: BegunStep,
  to: State,
): State {
  const step: FlowStep = {
    ...(from === undefined ? undefined : { from: from.phase }),
    to: to.phase,
    atMs: clock.wallMs(),
    durationMs: Math.max(0, Math.round(clock.monotonicMs() - startMs)),
    owner,
    ...codeOf(from, to),
  };
  const history = appended(from?.history ?? { steps: [], dropped: 0 }, step);
  return { ...to, history, leaseMs: Math.max(leaseMs, from?.leaseMs ?? 0) };
}

interface Owner {
  readonly owner: string;
  readonly leaseMs: number;
}

function codeOf(from: FlowState | undefined, to: FlowState): Pick<FlowStep, "code"> {
  const { failures } = to;
  return failures === undefined || failures === from?.failures ? {} : { code: failures.code };
}

function appended({ steps, dropped }: FlowHistory, step: FlowStep): FlowHistory {
  const last = steps.at(-1);
  if (last !== undefined && isRepeated(last, step)) {
    return { steps: [...steps.slice(0, -1), { ...step, times: (last.times ?? 1) + 1 }], dropped };
  }
  const all = [...steps, step];
  return { steps: all.slice(-mostSteps), dropped: dropped + Math.max(0, all.length - mostSteps) };
}

/** A bank that is away for an hour must not push out what came before. */
function isRepeated(last: FlowStep, { from, to, owner, code }: FlowStep): boolean {
  if (code === undefined || last.code !== code) return false;
  return last.from === from && last.to === to && last.owner === owner;
}

/** Short, since it is stored with each state: `o` are the owners, `d` how many steps were dropped, `s` the steps. */
export interface StoredHistory {
  readonly o: readonly string[];
  readonly d?: number;
  readonly s: readonly StoredStep[];
}

/**
 * `to`, or `from>to` where `from` is not what the step before it led to; when, the first since 1970 and others since the step before; how
 * long; the owner's index; how often; the code. What is missing at the end is 0, 1 and none.
 */
type StoredStep = readonly [
  phases: string,
  ms: number,
  durationMs: number,
  owner?: number,
  times?: number,
  code?: string,
];

export function toStoredHistory({ steps, dropped }: FlowHistory): StoredHistory {
  const owners = [...new Set(steps.map(({ owner }) => owner))];
  const s = steps.map((step, index): StoredStep => {
    const { from, to, atMs, durationMs, owner, times = 1, code } = step;
    const before = steps[index - 1];
    const phases = from === before?.to ? to : `${from ?? ""}>${to}`;
    const start = [phases, atMs - (before?.atMs ?? 0), durationMs] as const;
    const by = owners.indexOf(owner);
    if (code !== undefined) return [...start, by, times, code];
    return by === 0 ? start : [...start, by];
  });
  return { o: owners, ...(dropped > 0 && { d: dropped }), s };
}

export function fromStoredHistory({ o: owners, d: dropped = 0, s }: StoredHistory): FlowHistory {
  const steps: FlowStep[] = [];
  for (const [phases, ms, durationMs, by = 0, times = 1, code] of s) {
    const before = steps.at(-1);
    const [from, to] = phases.includes(">") ? phases.split(">", 2) : [before?.to, phases];
    steps.push({
      ...(from ? { from: from as FlowPhase } : undefined),
      to: to as FlowPhase,
      atMs: ms + (before?.atMs ?? 0),
      durationMs,
      owner: owners[by] ?? "",
      ...(times > 1 && { times }),
      ...(code === undefined ? undefined : { code }),
    });
  }
  return { steps, dropped };
}
