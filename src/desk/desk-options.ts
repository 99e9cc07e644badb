import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, isText, parseOptions } from "../core/parse.js";
import { readHooks } from "../events/events.js";
import type { FlowApproval, FlowResolution } from "../flows/operate.js";
import type { HeldFlow, ResolveAction } from "../flows/outcome.js";
import type { FlowCounts, FlowDetails, WaitingSince } from "../flows/status.js";

/** What the desk needs of a `PaymentFlow`, whether that was imported or required. */
export interface DeskFlow {
  /** How many people a decision takes. */
  readonly people: 1 | 2;
  held(): AsyncIterable<HeldFlow & WaitingSince>;
  counts(): Promise<FlowCounts>;
  details(key: string): Promise<FlowDetails | undefined>;
  resolve(key: string, action: ResolveAction, resolution: FlowResolution): Promise<unknown>;
  propose(key: string, action: ResolveAction, proposal: FlowResolution): Promise<unknown>;
  approve(key: string, approval: FlowApproval): Promise<unknown>;
  refuse(key: string, refusal: FlowApproval): Promise<unknown>;
}

/** Who uses the desk. */
export interface DeskUser {
  /** Stored with each of their decisions. Two people need two names. */
  readonly name: string;
}

/** What happened at the desk. */
export interface DeskEvent {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly by: string;
  /** The flow's. */
  readonly key: string;
}

/** What the desk reports. */
export interface DeskEvents {
  /**
   * A user asked for the names and account numbers of a flow. The desk awaits it before it shows them, and doesn't show them if it
   * throws. Without this function, nobody sees them.
   */
  shown?(event: DeskEvent): unknown;
  /** Something failed that the page doesn't describe, such as the journal. */
  error?(error: unknown): unknown;
}

/** How to make a desk. */
export interface OperatorDeskOptions {
  /** A `PaymentFlow` with the bank's own `takeFunds` and `releaseFunds`: it carries out what is decided at the desk. */
  readonly flow: DeskFlow;
  /** Who makes a request, by the bank's own login, such as its session cookie; null if nobody is logged in. */
  readonly authenticate: (request: Request) => DeskUser | null | Promise<DeskUser | null>;
  /**
   * Where browsers find the desk: scheme, host, and port, such as `https://payments.bank.example`; an array if there are several.
   * Requests for any other host are refused. Default: forms must come from the host that they are sent to.
   */
  readonly origin?: string | readonly string[] | undefined;
  /**
   * Protects forms; 32 characters or more. Processes that serve the same desk need the same secret. Default: a random one.
   */
  readonly csrfSecret?: string | undefined;
  readonly on?: DeskEvents | undefined;
}

const options: CheckTable<OperatorDeskOptions> = {
  flow: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "propose")),
    wanted: "a PaymentFlow",
    isRequired: true,
  },
  authenticate: { accepts: isFunction, wanted: "a function", isRequired: true },
  origin: {
    accepts: (value) => {
      const all: unknown[] = Array.isArray(value) ? value : [value];
      return all.length > 0 && all.every(isOrigin);
    },
    wanted: 'an origin such as "https://payments.bank.example", or several',
  },
  csrfSecret: {
    accepts: (value) => isText(value) && String(value).length >= 32,
    wanted: "a string of 32 characters or more",
    isSecret: true,
  },
  on: { accepts: (value) => typeof value === "object" && value !== null, wanted: "an object of functions" },
};

function isOrigin(value: unknown): boolean {
  return typeof value === "string" && /^https?:/.test(value) && URL.canParse(value) && new URL(value).origin === value;
}

export type CheckedDeskOptions = ReturnType<typeof readDeskOptions>;

/** @throws {ConfigError} that names the option, what was found, and what is wanted. */
export function readDeskOptions(given: OperatorDeskOptions) {
  const refuse = (message: string) => new ConfigError(`operatorDesk: ${message}`);
  const read = parseOptions(options, given, "the options", refuse) as unknown as OperatorDeskOptions;
  const { flow, authenticate, origin, csrfSecret = crypto.randomUUID() + crypto.randomUUID(), on = {} } = read;
  return {
    ...{ flow, authenticate },
    // Another use of the same secret, such as a session, can't pass for a form of the desk.
    csrfSecret: `desk ${csrfSecret}`,
    origins: origin === undefined ? undefined : [origin].flat(),
    on: readHooks(on, ["shown", "error"]),
  };
}
