import { openChannel } from "#platform";
import type {
  DecisionEvent,
  FailureEvent,
  FlowEvent,
  JournalEvent,
  MismatchEvent,
  ResponseEvent,
  RetryEvent,
  SuccessEvent,
  TokenEvent,
} from "./events.js";

/** The events of a client and its flows. No event contains a secret, a body or an account. */
export interface Reported {
  readonly response: ResponseEvent;
  readonly success: SuccessEvent;
  readonly failure: FailureEvent;
  readonly retry: RetryEvent;
  readonly mismatch: MismatchEvent;
  readonly token: TokenEvent;
  readonly flow: FlowEvent;
  /** For audit logs alone, since it holds what a person wrote. */
  readonly decision: DecisionEvent;
  /** For metrics alone. */
  readonly journal: JournalEvent;
  /** A failure of a flow's `work`, which continues. */
  readonly error: unknown;
}

export type EventName = keyof Reported;

/** The program's own hooks and logger. */
export type Listener = { readonly [Name in EventName]?: ((event: Reported[Name]) => unknown) | undefined };

const channelEvents = ["response", "success", "failure", "retry", "mismatch", "token", "flow"] as const;

/** Publishes events on the diagnostics channels of this process, such as `cross-border-payments:retry`. On the web there are none. */
export function channelListener(): Listener {
  return Object.fromEntries(
    channelEvents.map((name) => {
      const channel = openChannel?.(`cross-border-payments:${name}`);
      return [name, (event: unknown) => channel?.publish(event)];
    }),
  );
}

/** Tells all listeners what a client or a flow does. */
export interface Reporter {
  /** Whether anything listens. Otherwise the event need not be made. */
  wants(name: EventName): boolean;
  /** Never throws, even if a listener does. */
  emit<Name extends EventName>(name: Name, event: Reported[Name]): void;
  /** Absent if nothing follows the work. */
  readonly tracing: Tracing | undefined;
  /** Does the work, followed if there is a tracing. */
  follow<T>(part: () => Part, work: (followed: Followed) => Promise<T>): Promise<T>;
  /** The same with one listener more. */
  with(listener: Listener): Reporter;
}

export function createReporter(listeners: readonly Listener[], tracing?: Tracing): Reporter {
  return {
    tracing,
    follow: (part, work) => follow(tracing, part, work),
    wants: (name) => listeners.some((listener) => listener[name] !== undefined),
    emit(name, event) {
      for (const listener of listeners) {
        try {
          const result = listener[name]?.(event);
          // The rejection of an async hook is its own, too.
          if (result !== undefined) Promise.resolve(result).catch(() => {});
        } catch {}
      }
    },
    with: (listener) => createReporter([...listeners, listener], tracing),
  };
}

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A part of the work of a client, such as a call, an attempt, or a signature. */
export interface Part {
  /** One of few different values, without ids. */
  readonly name: string;
  /** `client` if a request leaves the process. */
  readonly kind: "internal" | "client";
  readonly attributes: Attributes;
}

/** A part that is under way. */
export interface Followed {
  /** Headers that tell the receiver of a request what it is a part of. */
  readonly headers: Readonly<Record<string, string>>;
  /** Adds facts to the part. An `error.type` says that it failed. */
  note(attributes: Attributes): void;
}

/** Follows the work of a client, as the spans of OpenTelemetry do. */
export interface Tracing {
  /**
   * Does the work, as a part of the work around it. Parts that it begins belong to it. The work starts before `follow` returns,
   * and its result is passed on as it is.
   */
  follow<T>(part: Part, work: (followed: Followed) => Promise<T>): Promise<T>;
}

/** Does the work, followed if there is a tracing. */
export function follow<T>(
  tracing: Tracing | undefined,
  part: () => Part,
  work: (followed: Followed) => Promise<T>,
): Promise<T> {
  return tracing === undefined ? work(unfollowed) : tracing.follow(part(), work);
}

const unfollowed: Followed = { headers: {}, note: () => {} };

/** The server of requests, as OpenTelemetry names it. */
export function serverAttributes(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}

/** Receives the events of a client, beside hooks and logger. Only `openTelemetry` makes one. */
export interface Telemetry {
  readonly kind: "opentelemetry";
}

export interface TelemetryParts extends Telemetry {
  readonly listener: Listener;
  readonly tracing: Tracing;
}

/** The parts of a telemetry, or `undefined` for anything else. */
export function telemetryParts(value: unknown): TelemetryParts | undefined {
  return typeof Object(value).tracing?.follow === "function" ? (value as TelemetryParts) : undefined;
}
