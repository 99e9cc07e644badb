import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { parseBaseUrl } from "../wire/base-url.js";
import type { FlowContext } from "./flow-context.js";
import type { FlowScope, JournalEntry, JournalState, ScopeFilter } from "./journal.js";
import { assertScopeFilter } from "./journal-arguments.js";
import { Lease, LeaseLost } from "./ownership/lease.js";
import { acquireEntry, type OwnedEntry, retryJournal } from "./ownership/own-flow.js";

/** Which flows to move, and where to. */
export interface MoveOptions {
  /** The base URL that the flows were begun under, and their gateway; by default this `PaymentFlow`'s `gatewayId`, or every gateway. */
  readonly from: ScopeFilter;
  /** The base URL that they belong to from now on. Default: the client's. */
  readonly to?: { readonly service: string } | undefined;
  /** Ends it between two flows. What was moved stays moved. */
  readonly signal?: AbortSignal | undefined;
}

/** What became of the flows of a base URL. Calling `move` again goes on with those that were left. */
export interface MoveReport {
  /** How many belong to the new base URL now. */
  readonly moved: number;
  /** Keys of flows that another process was running, and that were left. */
  readonly leased: readonly string[];
  /** Keys of quotes that still hold, and that were left: they can be confirmed where they were made, and move once they have expired. */
  readonly quoted: readonly string[];
  /** Flows that can't be read or stored, and were left, unless the error says that it may have been stored. */
  readonly failed: readonly { readonly key: string; readonly error: unknown }[];
  /** Whether it ended before it had tried every flow, since `signal` or `close` said so. */
  readonly isStopped: boolean;
}

export interface CheckedMove {
  readonly from: ScopeFilter;
  readonly to: string;
}

/** What became of one flow; nothing where it is no longer among those to be moved. */
type Moved = "moved" | "leased" | "quoted" | undefined;

/**
 * The base URLs are compared as clients write them: without a slash at their end.
 *
 * @throws {InvalidArgumentError} that says what is wrong with them.
 */
export function checkMove({ scope }: Pick<FlowContext, "scope">, { from, to }: MoveOptions): CheckedMove {
  const { service, gateway = scope.gateway } = readScope("from", from, ["service", "gateway"]);
  const own = scope.gateway;
  if (own !== undefined && gateway !== own) {
    throw new InvalidArgumentError(
      "move: from.gateway is not the gatewayId of this PaymentFlow: each gateway's flows are moved by its own",
    );
  }
  const checked = {
    from: { service: addressOf("from.service", service), gateway },
    to: to === undefined ? scope.service : addressOf("to.service", readScope("to", to, ["service"]).service),
  };
  assertScopeFilter(checked.from);
  assertScopeFilter({ service: checked.to });
  if (checked.from.service !== checked.to) return checked;
  throw new InvalidArgumentError(`move: from and to are the same base URL, ${checked.to}`);
}

function readScope(name: string, given: unknown, known: readonly string[]): Partial<Record<keyof ScopeFilter, string>> {
  if (Object.keys(Object(given)).every((field) => known.includes(field))) return Object(given);
  const wanted = known.map((field) => `${field}: "…"`).join(", ");
  throw new InvalidArgumentError(
    `move: ${name} is ${describeValue(given)}; wanted: an object such as { ${wanted} }, and no other fields`,
  );
}

function addressOf(name: string, service: unknown): string {
  try {
    // Nothing is sent there: what was allowed once can be moved.
    const { origin, path } = parseBaseUrl(service, name, true);
    return origin + path;
  } catch (error) {
    throw new InvalidArgumentError(`move: ${error instanceof Error ? error.message : error}`);
  }
}

/** Flows that move at the same time share the commits of the journal. */
const pageSize = 64;

/**
 * Moves the flows of one base URL to another, each as an owner does: its epoch, nonce and revision are new, so that the owner before it,
 * if it was stopped, does nothing more for it. Each row is in one of the two scopes at any time.
 *
 * Payments that were made move first: no list of payments can be empty after them.
 */
export async function moveFlows(context: FlowContext, move: CheckedMove, stop: AbortSignal): Promise<MoveReport> {
  const moving = new Moving(context, move);
  for (const phase of ["paid", undefined]) {
    for (let after: string | undefined; !stop.aborted; ) {
      const entries = await context.journal.list({ scope: move.from, phase, after, limit: pageSize });
      after = entries.at(-1)?.key;
      if (after === undefined) break;
      await Promise.all(entries.map((entry) => moving.try(entry)));
    }
  }
  return moving.report(stop.aborted);
}

class Moving {
  readonly #context: FlowContext;
  readonly #move: CheckedMove;
  #moved = 0;
  readonly #left = new Map<string, Exclude<Moved, "moved" | undefined> | { readonly error: unknown }>();

  constructor(context: FlowContext, move: CheckedMove) {
    this.#context = context;
    this.#move = move;
  }

  /** Never rejects: one flow that can't be moved keeps no other. */
  async try(entry: JournalEntry): Promise<void> {
    const { key } = entry;
    try {
      const moved = await this.#try(entry);
      this.#left.delete(key);
      if (moved === "moved") this.#moved += 1;
      else if (moved !== undefined) this.#left.set(key, moved);
    } catch (error) {
      this.#left.set(key, { error });
    }
  }

  report(isStopped: boolean): MoveReport {
    const left = [...this.#left];
    const keysOf = (what: Moved) => left.filter(([, found]) => found === what).map(([key]) => key);
    const failed = left.flatMap(([key, found]) => (typeof found === "object" ? [{ key, error: found.error }] : []));
    return { moved: this.#moved, leased: keysOf("leased"), quoted: keysOf("quoted"), failed, isStopped };
  }

  async #try(entry: JournalEntry): Promise<Moved> {
    // What can't be read is left as it is.
    await this.#encode(entry);
    if (isFreshQuote(entry)) return "quoted";
    const owned = await acquireEntry(this.#context, entry.key, entry);
    if (owned === undefined) return this.#isStillThere(entry.key);
    const lease = new Lease(this.#context.journal, owned.entry, this.#context.leaseMs, owned.askedAt);
    try {
      return await this.#rewrite(owned, lease);
    } catch (error) {
      if (error instanceof LeaseLost) return "leased";
      throw error;
    } finally {
      await lease.end();
    }
  }

  /** The state that is written may be another than the one that was listed. */
  async #rewrite({ entry }: OwnedEntry, lease: Lease): Promise<Moved> {
    if (!this.#isToBeMoved(entry)) return undefined;
    if (isFreshQuote(entry)) return "quoted";
    const stored = await this.#encode(entry);
    await retryJournal(() => lease.write(stored));
    return "moved";
  }

  /** A flow that could not be leased is another owner's, or gone. */
  async #isStillThere(key: string): Promise<Moved> {
    const present = await retryJournal(() => this.#context.journal.read(key));
    const isLeft = present !== undefined && present.prunedAtMs === undefined && this.#isToBeMoved(present);
    return isLeft ? "leased" : undefined;
  }

  #isToBeMoved({ scope }: JournalEntry): boolean {
    return scope.service === this.#move.from.service;
  }

  /** The state as it is, of the new scope, which stands in what is stored as well. */
  async #encode(entry: JournalEntry): Promise<JournalState> {
    const { codec } = this.#context;
    const state = await codec.decode(entry);
    const scope: FlowScope = { service: this.#move.to, gateway: entry.scope.gateway };
    const stored = await codec.encode(entry.key, scope, state);
    // An expired quote stays expired: its end must not move along, since a journal counts it from the write.
    return { ...stored, scope, ...(entry.phase === "quoted" && { quoteTtlMs: 1 }) };
  }
}

function isFreshQuote({ phase, isExpired }: JournalEntry): boolean {
  return phase === "quoted" && !isExpired;
}
