import type {
  FlowScope,
  JournalEntry,
  JournalState,
  LeaseId,
  LeaseRequest,
  ObservedLease,
  PruneOptions,
  ScopeFilter,
  StateId,
} from "../../flows/journal.js";

/** What a journal was asked for about one flow. */
type KeyedCall = { readonly key: string } & (
  | { readonly name: "begin"; readonly scope: FlowScope; readonly state: JournalState; readonly lease: LeaseRequest }
  | { readonly name: "read" }
  | { readonly name: "acquire"; readonly lease: LeaseRequest; readonly observed?: ObservedLease | undefined }
  | { readonly name: "renew"; readonly id: LeaseId; readonly leaseMs: number }
  | {
      readonly name: "write";
      readonly id: StateId;
      readonly state: JournalState;
      readonly leaseMs?: number | undefined;
    }
  | {
      readonly name: "replaceQuote";
      readonly id: StateId;
      readonly state: JournalState;
      readonly lease: LeaseRequest;
      readonly expired?: boolean | undefined;
    }
  | { readonly name: "fenceQuote"; readonly id: StateId; readonly nonce: string }
  | { readonly name: "release"; readonly id: LeaseId }
);

/** What a journal was asked for; `restore` is what was done to it: it became a copy of what it was at some time after `asOfMs`. */
export type JournalCall =
  | KeyedCall
  | {
      readonly name: "acquireAbandoned";
      readonly scope: ScopeFilter;
      readonly lease: LeaseRequest;
      readonly after?: string | undefined;
    }
  | { readonly name: "prune"; readonly options: PruneOptions }
  | { readonly name: "restore"; readonly asOfMs: number };

/** What a journal returned: whether it was done, or the flow is there, and the entry that came with it. */
export interface Told {
  readonly isDone: boolean;
  readonly entry?: JournalEntry | undefined;
}

export interface Operation {
  readonly client: string;
  readonly call: JournalCall;
  /** By a clock that all clients have in common, and that is never set. */
  readonly startMs: number;
  /** `Infinity` where nobody knows whether it was done, or will be. */
  readonly endMs: number;
  readonly told?: Told | undefined;
}

/** How an operation begins, and how it ends. One whose end is not there, or is `unknown`, may have been done, or may yet be. */
export type HistoryEvent =
  | { readonly id: string; readonly atMs: number; readonly client: string; readonly call: JournalCall }
  | { readonly id: string; readonly atMs: number; readonly told: Told }
  | { readonly id: string; readonly atMs: number; readonly failed: "nothing" | "unknown" };

/** The operations of a history; those that certainly changed nothing, and told nothing, are left out. */
export function toOperations(events: Iterable<HistoryEvent>): Operation[] {
  const operations = new Map<string, Operation>();
  for (const event of events) {
    if ("call" in event) {
      const { client, call, atMs } = event;
      operations.set(event.id, { client, call, startMs: atMs, endMs: Number.POSITIVE_INFINITY });
      continue;
    }
    const begun = operations.get(event.id);
    if (begun === undefined) continue;
    if ("told" in event) operations.set(event.id, { ...begun, endMs: event.atMs, told: event.told });
    else if (event.failed === "nothing") operations.delete(event.id);
  }
  return [...operations.values()];
}
