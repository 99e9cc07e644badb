import { fromStoredHistory, type StoredHistory, toStoredHistory } from "./flow-history.js";
import { allPhases, type FlowState, type OperatorDecision, openClaim } from "./flow-state.js";

/** A state as it is stored, maybe by a later release that has more phases. */
export type StoredState = Omit<FlowState, "phase" | "history"> & {
  readonly phase: string;
  readonly history?: StoredHistory;
};

/** What `writeJson` is to write: without what follows from the rest, since a claim is long, and each flow stores three states. */
export function toStored(state: FlowState): object {
  const { history } = state;
  return { ...state, claim: undefined, history: history && toStoredHistory(history) };
}

/** `undefined` for a phase that this version does not know. */
export function fromStored(stored: StoredState): FlowState | undefined {
  if (!knownPhases.has(stored.phase)) return undefined;
  const state = withDecisions(withHistory(stored));
  if (!claimedPhases.has(state.phase)) return state as FlowState;
  const claim = openClaim((state as { readonly claims?: Parameters<typeof openClaim>[0] }).claims);
  if (claim === undefined) return state.phase === "held" ? (state as FlowState) : undefined;
  return { ...state, claim } as FlowState;
}

function withHistory({ history, ...state }: StoredState): ReadState {
  return history === undefined ? state : { ...state, history: fromStoredHistory(history) };
}

type ReadState = Omit<FlowState, "phase"> & { readonly phase: string };

/** Release 0.2.0 stored `evenUnseen`, which is `withoutProof` now. */
function withDecisions(state: ReadState): ReadState {
  const { decisions } = state as { readonly decisions?: readonly (OperatorDecision & { evenUnseen?: true })[] };
  if (decisions === undefined) return state;
  const today = decisions.map(({ evenUnseen, ...decision }) =>
    evenUnseen ? { ...decision, withoutProof: evenUnseen } : decision,
  );
  return { ...state, decisions: today } as ReadState;
}

const claimedPhases: ReadonlySet<string> = new Set(["claimed", "unknown", "held"]);

const knownPhases: ReadonlySet<string> = new Set(allPhases);
