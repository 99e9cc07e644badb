import type { FlowFunds } from "../flows/funds-functions.js";
import type { Journal } from "../flows/journal.js";
import type { Profile } from "./profile.js";
import type { SimulatedProcess } from "./simulated-process.js";

/** What happens to one flow outside of its journal, or to all flows. */
export type RecordedEvent =
  | { readonly type: "sent"; readonly key: string; readonly process: string; readonly sending: number }
  | { readonly type: "paid"; readonly key: string; readonly sending: number; readonly listedAtMs: number }
  | { readonly type: "asked"; readonly key: string; readonly process: string; readonly response: FlowFunds | null }
  | { readonly type: "releaseSent" | "released"; readonly key: string; readonly process: string }
  | { readonly type: "listed"; readonly process: string }
  | { readonly type: "restored" | "misplaced" };

/** What a recorder needs to know of the world: its time, and what the schedule is made of. */
export interface RecordedWorld {
  readonly nowMs: number;
  readonly profile: Profile;
}

/** Writes down what happens in a schedule, in its order, to hold it against the specification. */
export interface ScheduleRecorder {
  /** Before anything happens. */
  begin(world: RecordedWorld): void;
  /** The journal's own store, which is called when something arrives there. */
  watchStore(journal: Journal): Journal;
  /** The journal as one process calls it. */
  watchCalls(journal: Journal, process: SimulatedProcess): Journal;
  note(event: RecordedEvent): void;
}
