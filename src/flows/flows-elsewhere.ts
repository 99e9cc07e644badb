import { counted } from "../errors/counted.js";
import { CrossBorderError } from "../errors/errors.js";
import { clock } from "../timing/clock.js";
import type { FlowScope, Journal, ScopeFilter } from "./journal.js";

/** Open and held flows of one gateway under another base URL than this one: nobody here recovers them, or shows each of them. */
export interface FlowsElsewhere extends FlowScope {
  readonly status: "elsewhere";
  /** How many are not settled. */
  readonly open: number;
  /** How many wait for an operator. */
  readonly held: number;
}

/** Journals read all of their flows for it: metrics that poll each few seconds share one reading. */
const sharedForMs = 60_000;

interface Reading {
  readonly atMs: number;
  readonly found: Promise<readonly FlowsElsewhere[]>;
}

/** Finds what a base URL that was changed has left behind. */
export class ElsewhereFinder {
  readonly #journal: Pick<Journal, "scopes">;
  readonly #scope: ScopeFilter;
  #reading: Reading | undefined;

  constructor(journal: Pick<Journal, "scopes">, scope: ScopeFilter) {
    this.#journal = journal;
    this.#scope = scope;
  }

  /** Of one's own gateway, or of every gateway where none is given. */
  find(): Promise<readonly FlowsElsewhere[]> {
    const reading = { atMs: clock.monotonicMs(), found: this.#read() };
    this.#reading = reading;
    // The next one asks again.
    reading.found.catch(() => {
      if (this.#reading === reading) this.#reading = undefined;
    });
    return reading.found;
  }

  /** How many there are, or were a minute ago. */
  async count(): Promise<number> {
    const { atMs, found } = this.#reading ?? {};
    const isRecent = atMs !== undefined && clock.monotonicMs() - atMs < sharedForMs;
    const all = await ((isRecent && found) || this.find());
    return all.reduce((sum, { open, held }) => sum + open + held, 0);
  }

  async #read(): Promise<readonly FlowsElsewhere[]> {
    const own = this.#scope;
    const scopes = await this.#journal.scopes();
    return scopes
      .filter(({ service, gateway }) => service !== own.service && (own.gateway ?? gateway) === gateway)
      .filter(({ open, held }) => open + held > 0)
      .map(({ service, gateway, open, held }) => ({ status: "elsewhere", service, gateway, open, held }));
  }
}

/** Says what to do about such flows. */
export function describeElsewhere({ service, gateway, open, held }: FlowsElsewhere): string {
  return `under another base URL, ${service}, the journal has ${counted(open, "open flow")} and ${counted(held, "held flow")} of the gateway ${JSON.stringify(gateway)}, which nobody recovers here: if it was this service's address, flow.move or "cross-border flows move" brings them here`;
}

export function elsewhereError(found: FlowsElsewhere): CrossBorderError {
  return new CrossBorderError(describeElsewhere(found), { code: "flow_elsewhere", effect: "possible" });
}
