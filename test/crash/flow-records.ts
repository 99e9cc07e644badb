import { openSync, readFileSync, writeSync } from "node:fs";
import type { Journal, JournalEntry, JournalState, StateId } from "cross-border-payments/flow";
import { machineNowMs } from "./machine-time.js";

/** What somebody saw of a flow, of which spec/flow.tla is to explain the whole. */
export type FlowEvent =
  /** A process asks its journal for a change: the call is named by what the change leaves in the row. */
  | { readonly type: "asked"; readonly call: string }
  /** The journal showed a process a state. */
  | { readonly type: "seen"; readonly key: string; readonly epoch: number; readonly revision: number }
  | { readonly type: "handed"; readonly key: string; readonly id: StateId; readonly state: JournalState }
  | { readonly type: "told"; readonly key: string; readonly id: StateId }
  | { readonly type: "sent"; readonly key: string; readonly process: string; readonly sending: string }
  | { readonly type: "ordered"; readonly key: string; readonly process: string }
  /** The service reads its list for a process, then or a moment later. */
  | { readonly type: "listed"; readonly process: string }
  | { readonly type: "paid"; readonly key: string; readonly sending: string }
  | {
      readonly type: "asked for money";
      readonly key: string;
      readonly process: string;
      readonly answer: "first" | "replayed" | "null";
    }
  | { readonly type: "gave back"; readonly key: string; readonly process: string };

export type FlowRecord = FlowEvent & { readonly atMs: number };

export type NoteEvent = (event: FlowEvent) => void;

/** What a process is named, and where it writes down what it sees. */
export interface RecordPlace {
  readonly process: string;
  readonly file: string;
}

/** The header that names a process, and the one that names a request that pays. */
export const headers = { process: "x-process", sending: "x-sending" } as const;

/** Each event is in the file before anything else happens: a process that is killed loses none. */
export function noteTo({ file }: RecordPlace): NoteEvent {
  const descriptor = openSync(file, "a");
  return (event) => void writeSync(descriptor, `${JSON.stringify({ ...event, atMs: machineNowMs() })}\n`);
}

export function recordsIn(file: string): readonly FlowRecord[] {
  const lines = readFileSync(file, "utf8").split("\n").slice(0, -1);
  return lines.map((line): FlowRecord => JSON.parse(line));
}

export const callOf = {
  write: ({ epoch, nonce, revision }: StateId) => `write ${epoch} ${nonce} ${revision}`,
  release: ({ epoch, nonce }: Pick<StateId, "epoch" | "nonce">) => `release ${epoch} ${nonce}`,
  own: (nonce: string) => `own ${nonce}`,
};

/** A journal as its process uses it. */
export function recordedJournal(journal: Journal, note: NoteEvent): Journal {
  const saw = (entry: JournalEntry | undefined): JournalEntry | undefined => {
    if (entry !== undefined) note({ type: "seen", key: entry.key, epoch: entry.epoch, revision: entry.revision });
    return entry;
  };
  const asks = (call: string) => note({ type: "asked", call });
  const watched: Partial<Journal> = {
    async begin(key, scope, state, lease) {
      asks(callOf.own(lease.nonce));
      const result = await journal.begin(key, scope, state, lease);
      saw(result.entry);
      return result;
    },
    read: async (key) => saw(await journal.read(key)),
    async acquire(key, lease, observed) {
      asks(callOf.own(lease.nonce));
      return saw(await journal.acquire(key, lease, observed));
    },
    async acquireAbandoned(scope, lease, after) {
      asks(callOf.own(lease.nonce));
      return saw(await journal.acquireAbandoned(scope, lease, after));
    },
    async write(key, id, state, leaseMs) {
      note({ type: "handed", key, id, state });
      const isStored = await journal.write(key, id, state, leaseMs);
      if (isStored) note({ type: "told", key, id });
      return isStored;
    },
    async replaceQuote(key, seen, state, lease, expired) {
      asks(callOf.own(lease.nonce));
      return saw(await journal.replaceQuote(key, seen, state, lease, expired));
    },
    async fenceQuote(key, seen, nonce) {
      asks(callOf.own(nonce));
      return saw(await journal.fenceQuote(key, seen, nonce));
    },
    async release(key, id) {
      asks(callOf.release(id));
      await journal.release(key, id);
    },
  };
  return new Proxy(journal, {
    get(target, method) {
      const own = Reflect.get(watched, method);
      if (own !== undefined) return own;
      const original: unknown = Reflect.get(target, method, target);
      return typeof original === "function" ? original.bind(target) : original;
    },
  });
}
