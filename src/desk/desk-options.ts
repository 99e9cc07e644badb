import { ConfigError } from "../errors/errors.js";
import { readHooks } from "../events/hooks.js";
import type { Resolution } from "../flows/check-resolution.js";
import type { Approval, Refusal } from "../flows/decide-in-pairs.js";
import type { FlowDetails, WaitingProposal } from "../flows/flow-details.js";
import type { HeldFlow } from "../flows/flow-outcome.js";
import type { FlowCounts, StuckFlow, WaitingSince } from "../flows/flow-status.js";
import type { FlowsElsewhere } from "../flows/flows-elsewhere.js";
import type { ResolveAction } from "../flows/state/flow-state.js";
import { type CheckTable, isFunction, isText, parseOptions } from "../options/option-table.js";
import { uniqueId } from "../platform/unique-id.js";

export type { FlowDetails, WaitingProposal };

/** What the desk needs of a `PaymentFlow`, whether that was imported or required. */
export interface DeskFlow {
  /** How many people a decision takes. */
  readonly people: 1 | 2;
  held(): AsyncIterable<((HeldFlow | StuckFlow) & WaitingSince) | FlowsElsewhere>;
  counts(): Promise<FlowCounts>;
  details(key: string): Promise<FlowDetails | undefined>;
  resolve(key: string, action: ResolveAction, resolution: Resolution | Resolution<"found">): Promise<unknown>;
  propose(key: string, action: ResolveAction, proposal: Resolution | Resolution<"found">): Promise<unknown>;
  approve(key: string, approval: Approval): Promise<unknown>;
  refuse(key: string, refusal: Refusal): Promise<unknown>;
}

/** Who sits at the desk. */
export interface DeskUser {
  /** Stored with what they decide. Two people need two names. */
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
   * Somebody asked for the names and account numbers of a flow. It is awaited before they are shown, and they are not where it throws:
   * without it, nobody sees them.
   */
  shown?(event: DeskEvent): unknown;
  /** Something failed that the page says nothing of, such as the journal. */
  error?(error: unknown): unknown;
}

/** How to make a desk. */
export interface OperatorDeskOptions {
  /** A `PaymentFlow` whose `takeFunds` and `releaseFunds` are the bank's own: what is decided at the desk is done by it. */
  readonly flow: DeskFlow;
  /** Who makes a request, by the bank's own login, such as by its session cookie; null where nobody is logged in. */
  readonly authenticate: (request: Request) => DeskUser | null | Promise<DeskUser | null>;
  /**
   * Where the desk is: scheme, host and port, as browsers have it, such as `https://payments.bank.example`; several where there are several.
   * Requests for any other host are refused. Default: forms have to come from the host that they are sent to.
   */
  readonly origin?: string | readonly string[] | undefined;
  /**
   * Protects forms; 32 characters or more. Where several processes serve the desk, all of them need the same. Default: a random one.
   */
  readonly csrfSecret?: string | undefined;
  readonly on?: DeskEvents | undefined;
}

const deskMethods = ["held", "counts", "details", "resolve", "propose", "approve", "refuse"];

const options: CheckTable<OperatorDeskOptions> = {
  flow: {
    accepts: (value) => deskMethods.every((name) => isFunction(Reflect.get(Object(value), name))),
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

export interface CheckedDeskOptions {
  readonly flow: DeskFlow;
  readonly authenticate: OperatorDeskOptions["authenticate"];
  /** Absent where any host will do. */
  readonly origins: readonly string[] | undefined;
  readonly csrfSecret: string;
  readonly on: DeskEvents;
}

/** @throws {ConfigError} that names the option, what was found and what is wanted. */
export function readDeskOptions(given: OperatorDeskOptions): CheckedDeskOptions {
  const refuse = (message: string) => new ConfigError(`operatorDesk: ${message}`);
  const read = parseOptions(options, given, "the options", refuse) as unknown as OperatorDeskOptions;
  const { flow, authenticate, origin, csrfSecret = randomSecret(), on = {} } = read;
  return {
    ...{ flow, authenticate, csrfSecret },
    origins: origin === undefined ? undefined : [origin].flat(),
    on: readHooks(on, ["shown", "error"]),
  };
}

function randomSecret(): string {
  return uniqueId() + uniqueId();
}
