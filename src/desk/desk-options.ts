import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, isText, parseOptions } from "../core/parse.js";
import { readHooks } from "../events/events.js";
import type { FlowApproval, FlowResolution } from "../flows/operate.js";
import type { HeldFlow, ResolveAction } from "../flows/outcome.js";
import type { FlowCounts, FlowDetails, WaitingSince } from "../flows/status.js";

/** The part of a `PaymentFlow` that the desk uses. */
export interface DeskFlow {
  /** The number of people that a decision takes. */
  readonly people: 1 | 2;
  held(): AsyncIterable<HeldFlow & WaitingSince>;
  counts(): Promise<FlowCounts>;
  details(key: string): Promise<FlowDetails | undefined>;
  resolve(key: string, action: ResolveAction, resolution: FlowResolution): Promise<unknown>;
  propose(key: string, action: ResolveAction, proposal: FlowResolution): Promise<unknown>;
  approve(key: string, approval: FlowApproval): Promise<unknown>;
  refuse(key: string, refusal: FlowApproval): Promise<unknown>;
}

/** A user of the desk. */
export interface DeskUser {
  /** Stored with each of their decisions. Two people need two names. */
  readonly name: string;
}

/** Something that a user did at the desk. */
export interface DeskEvent {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly by: string;
  /** The key of the flow. */
  readonly key: string;
}

/** Functions that the desk calls. */
export interface DeskEvents {
  /**
   * A user asks for the names and account numbers of a flow. The desk awaits this function, and shows nothing if it throws. Without it,
   * they are never shown.
   */
  shown?(event: DeskEvent): unknown;
  /** Something failed that the page doesn't describe, for example the journal. */
  error?(error: unknown): unknown;
}

/** Options of `operatorDesk`. */
export interface OperatorDeskOptions {
  /** Your `PaymentFlow`, with your `takeFunds` and `releaseFunds`. It carries out the decisions. */
  readonly flow: DeskFlow;
  /** Returns the user of a request by your own login, for example by a session cookie, or null for a 401. */
  readonly authenticate: (request: Request) => DeskUser | null | Promise<DeskUser | null>;
  /**
   * Scheme, host, and port as browsers see them, such as `https://payments.bank.example`, or an array of them. The desk refuses requests
   * for another host. Default: forms must come from the host that they are sent to.
   */
  readonly origin?: string | readonly string[] | undefined;
  /**
   * Protects forms, with at least 32 characters. Processes that serve the same desk must have the same secret. Default: a random one.
   */
  readonly csrfSecret?: string | undefined;
  readonly on?: DeskEvents | undefined;
}

const options: CheckTable<OperatorDeskOptions> = {
  flow: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "propose")),
    expected: "a PaymentFlow",
    isRequired: true,
  },
  authenticate: { accepts: isFunction, expected: "a function", isRequired: true },
  origin: {
    accepts: (value) => {
      const all: unknown[] = Array.isArray(value) ? value : [value];
      return all.length > 0 && all.every(isOrigin);
    },
    expected: 'an origin such as "https://payments.bank.example", or several',
  },
  csrfSecret: {
    accepts: (value) => isText(value) && String(value).length >= 32,
    expected: "a string of 32 characters or more",
    isSecret: true,
  },
  on: { accepts: (value) => typeof value === "object" && value !== null, expected: "an object of functions" },
};

function isOrigin(value: unknown): boolean {
  return typeof value === "string" && /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value;
}

export type CheckedDeskOptions = ReturnType<typeof readDeskOptions>;

/** @throws {ConfigError} that names the option and its mistake. */
export function readDeskOptions(given: OperatorDeskOptions) {
  const refuse = (message: string) => new ConfigError(`operatorDesk: ${message}`);
  const read = parseOptions<OperatorDeskOptions>(options, given, "the options", refuse);
  const { flow, authenticate, origin, csrfSecret = crypto.randomUUID() + crypto.randomUUID(), on = {} } = read;
  return {
    ...{ flow, authenticate },
    // Another use of the same secret, such as a session, can't pass for a form of the desk.
    csrfSecret: `desk ${csrfSecret}`,
    origins: origin === undefined ? undefined : [origin].flat(),
    on: readHooks(on, ["shown", "error"]),
  };
}
