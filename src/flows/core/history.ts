import type { Flow, Phase } from "./state.js";

/** One stored phase of a flow. */
export interface HistoryStep {
  readonly atMs: number;
  readonly phase: Phase;
  /** Why: a held reason, a refusal's code, or what the service said. */
  readonly why?: string;
  /** The process that stored it, or the person who decided. */
  readonly by?: string;
}

const maxSteps = 64;

/** The history with a step for `flow`, which is stored with it. The oldest steps go first, but the first one stays. */
export function withStep(history: readonly HistoryStep[], flow: Flow, atMs: number, by?: string): HistoryStep[] {
  const why = whyOf(flow);
  const step: HistoryStep = {
    atMs,
    phase: flow.phase,
    ...(why !== undefined && { why }),
    ...(by !== undefined && { by }),
  };
  const all = [...history, step];
  return all.length > maxSteps ? [...all.slice(0, 1), ...all.slice(2)] : all;
}

function whyOf(flow: Flow): string | undefined {
  switch (flow.phase) {
    case "held":
      return flow.why;
    case "refused":
    case "rejected":
      return flow.refusal.code;
    case "funds-requested":
    case "unknown":
      return flow.said?.code;
    case "declined":
      return flow.reason;
    case "quoted":
    case "claimed":
    case "paid":
      return undefined;
  }
}
