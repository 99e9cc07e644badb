import { counted } from "../errors/counted.js";
import { CrossBorderError } from "../errors/errors.js";
import type { BacklogCount, FlowScope, Journal, ScopeFilter } from "./journal.js";

/** Open and held flows of one gateway under another base URL than this one: nobody here recovers them, or shows each of them. */
export interface FlowsElsewhere extends FlowScope {
  readonly status: "elsewhere";
  /** How many are not settled. */
  readonly open: number;
  /** How many wait for an operator. */
  readonly held: number;
}

/** Finds what a base URL that was changed has left behind: of one's own gateway, or of every gateway where none is given. */
export async function findElsewhere({ journal, scope }: Stored): Promise<readonly FlowsElsewhere[]> {
  return elsewhereOf(await journal.backlog(), scope);
}

interface Stored {
  readonly journal: Pick<Journal, "backlog">;
  readonly scope: ScopeFilter;
}

/** The same, of what was read. */
export function elsewhereOf(backlog: readonly BacklogCount[], own: ScopeFilter): readonly FlowsElsewhere[] {
  const found = new Map<string, FlowsElsewhere>();
  for (const { service, gateway, phase, flows } of backlog) {
    if (service === own.service || (own.gateway ?? gateway) !== gateway) continue;
    const name = JSON.stringify([service, gateway]);
    const { open, held } = found.get(name) ?? { open: 0, held: 0 };
    const more = phase === "held" ? { open, held: held + flows } : { open: open + flows, held };
    found.set(name, { status: "elsewhere", service, gateway, ...more });
  }
  return [...found.values()];
}

export function countElsewhere(found: readonly FlowsElsewhere[]): number {
  return found.reduce((sum, { open, held }) => sum + open + held, 0);
}

/** Says what to do about such flows. */
export function describeElsewhere({ service, gateway, open, held }: FlowsElsewhere): string {
  return `under another base URL, ${service}, the journal has ${counted(open, "open flow")} and ${counted(held, "held flow")} of the gateway ${JSON.stringify(gateway)}, which nobody recovers here: if it was this service's address, flow.move or "cross-border flows move" brings them here`;
}

export function elsewhereError(found: FlowsElsewhere): CrossBorderError {
  return new CrossBorderError(describeElsewhere(found), { code: "flow_elsewhere", effect: "possible" });
}
