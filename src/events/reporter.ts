import type { Channel } from "../platform/platform.js";
import type {
  ClientEvents,
  FailureEvent,
  MismatchEvent,
  ResponseEvent,
  RetryEvent,
  SuccessEvent,
  TokenEvent,
} from "./client-events.js";
import type { DecisionEvent, FlowEvent } from "./flow-event.js";
import { callHook } from "./hooks.js";
import type { JournalEvent } from "./journal-event.js";
import { type Followed, follow, type Part, type Tracing } from "./tracing.js";

/** What a client and its flows report. No event contains a secret, a body or an account. */
export interface Reported {
  readonly response: ResponseEvent;
  readonly success: SuccessEvent;
  readonly failure: FailureEvent;
  readonly retry: RetryEvent;
  readonly mismatch: MismatchEvent;
  readonly token: TokenEvent;
  readonly flow: FlowEvent;
  /** For audit logs alone: it holds what a person wrote. */
  readonly decision: DecisionEvent;
  /** For metrics alone. */
  readonly journal: JournalEvent;
  /** What failed in `work` of a flow, which goes on after it. */
  readonly error: unknown;
}

export type EventName = keyof Reported;

/** The program's own hooks and logger. */
export interface Listener extends ClientEvents {
  flow?(event: FlowEvent): unknown;
  decision?(event: DecisionEvent): unknown;
  journal?(event: JournalEvent): unknown;
  error?(error: unknown): unknown;
}

/** Where a subscriber of the process hears of an event, if there is such a place. */
export type Channels = Partial<Readonly<Record<EventName, Channel>>>;

/** The one source of events: everything that a client or a flow tells of itself goes through it, to all who listen. */
export interface Reporter {
  /** Whether anybody listens. An event that nobody wants need not be made. */
  wants(name: EventName): boolean;
  /** Never throws: the mistakes of listeners are their own. */
  emit<Name extends EventName>(name: Name, event: Reported[Name]): void;
  /** Absent where nobody follows the work. */
  readonly tracing: Tracing | undefined;
  /** Does the work, followed where anybody follows it. */
  follow<T>(part: () => Part, work: (followed: Followed) => Promise<T>): Promise<T>;
  /** The same with one listener more. */
  with(listener: Listener): Reporter;
}

export function createReporter(listeners: readonly Listener[], channels: Channels = {}, tracing?: Tracing): Reporter {
  const heard: ReadonlySet<string> = new Set(
    listeners.flatMap((listener) =>
      Object.entries(listener).flatMap(([name, hook]) => (hook === undefined ? [] : name)),
    ),
  );
  return {
    tracing,
    follow: (part, work) => follow(tracing, part, work),
    wants: (name) => heard.has(name) || channels[name]?.hasSubscribers === true,
    emit(name, event) {
      for (const listener of listeners) {
        callHook(listener[name] as ((event: unknown) => unknown) | undefined, event);
      }
      const channel = channels[name];
      if (channel?.hasSubscribers) channel.publish(event);
    },
    with: (listener) => createReporter([...listeners, listener], channels, tracing),
  };
}
