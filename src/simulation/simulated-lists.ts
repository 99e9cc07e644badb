import type { WireResponse } from "../wire/transport.js";
import type { PaymentList, SimulatedPayment } from "./list-page.js";
import type { World } from "./world.js";

/** A payment that a reader was shown as the newest one. */
interface Shown {
  readonly record: SimulatedPayment;
  readonly atMs: number;
}

/**
 * What lies between a service's payments and the readers of their list: caches, replicas that lag, pages that are empty once.
 *
 * A replica may lag for as long as a flow that relies on a look waits (`readBackDelayMs`, or `listedWithinMs`). One that lags for longer
 * responds only where its reader could know better: nothing tells a list that is always late, on a quiet gateway, from one that is not.
 */
export class SimulatedLists {
  readonly #world: World;
  readonly #list: PaymentList;
  readonly #beganMs: number;
  /** Of replicas that lag by the same time always. */
  readonly #lagsMs: readonly number[];
  /** Which replica a reader's connections lead to, where that is one for all its requests. */
  readonly #replicas = new Map<string, number>();
  readonly #shown = new Map<string, Shown[]>();
  /** The moment at which an old list stopped, as its reader found it at the first page. */
  readonly #old = new Map<string, number | undefined>();

  constructor(world: World, list: PaymentList) {
    this.#world = world;
    this.#list = list;
    this.#beganMs = world.nowMs;
    const { replicaLagMs } = world.profile;
    this.#lagsMs = replicaLagMs === 0 ? [0] : [0, 1, 2].map(() => world.choices.below(replicaLagMs + 1));
  }

  /**
   * @param reader the process that asks.
   * @param isPaid whether a flow was paid before, and the journal says so.
   */
  respond(path: string, reader: string, isPaid: boolean): WireResponse {
    const { choices, profile, nowMs } = this.#world;
    if (choices.chance(profile.cachedLists)) {
      // Somebody read the same page so long ago. Time is short in a simulation: its caches count every begun second.
      const ageMs = 1 + choices.below(4 * profile.leaseMs);
      this.#world.marks.happenedTo(reader, "the list comes from a cache");
      this.#world.note(`a cache responds with what is ${ageMs} ms old`);
      return listResponse(this.#list.page(path, nowMs - ageMs, profile.mostListed), Math.ceil(ageMs / 1000));
    }
    const page = this.#page(path, reader, isPaid);
    if (isMark(path)) this.#show(reader, page[0]);
    return listResponse(page);
  }

  #page(path: string, reader: string, isPaid: boolean): readonly SimulatedPayment[] {
    const { choices, profile } = this.#world;
    const read = (atMs: number) => this.#list.page(path, atMs, profile.mostListed);
    const atMs = this.#world.nowMs - this.#lagMs(reader);
    const page = read(atMs);
    const [first] = page;
    if (first === undefined || isMark(path)) return page;
    const hasCursor = /_(after|before)=/.test(path);
    if ((hasCursor || profile.othersPayments > 0 || isPaid) && choices.chance(profile.emptyPages)) {
      this.#world.marks.happenedTo(reader, "a page is empty once");
      this.#world.note("the page is empty once");
      return [];
    }
    if (hasCursor && choices.chance(profile.stalePages)) {
      this.#world.marks.happenedTo(reader, "a page is stale");
      this.#world.note(`a replica responds that lacks ${first.id}`);
      return read(first.listedAtMs - 1);
    }
    // A reader that got one page from an old list mostly gets the next one from there, too.
    if (!hasCursor) this.#old.set(reader, choices.chance(profile.oldLists) ? this.#oldMs(reader) : undefined);
    const oldMs = this.#old.get(reader);
    if (oldMs === undefined) return page;
    this.#world.marks.happenedTo(reader, "the list is old");
    this.#world.note(`a replica responds that is ${atMs - oldMs} ms old`);
    return read(Math.min(atMs, oldMs));
  }

  /** Within the time that a decision by a look waits for. */
  #lagMs(reader: string): number {
    const { choices, profile } = this.#world;
    const { replicaLagMs, replicas } = profile;
    if (replicaLagMs === 0 || this.#world.isQuiet) return 0;
    if (replicas === "change") return choices.below(replicaLagMs + 1);
    const any = () => choices.below(this.#lagsMs.length);
    const replica = replicas === "any" ? any() : (this.#replicas.get(reader) ?? any());
    this.#replicas.set(reader, replica);
    return this.#lagsMs[replica] ?? 0;
  }

  /** When an old list stopped: before any flow was begun, or before something that its reader was shown long enough ago. */
  #oldMs(reader: string): number | undefined {
    const { choices, nowMs, profile } = this.#world;
    if (profile.oldListsEnd === "before all flows") return this.#beganMs - 1;
    const longAgoMs = 2 * (profile.listedWithinMs ?? profile.readBackDelayMs) + profile.latencyMs;
    const known = (this.#shown.get(reader) ?? []).filter(({ atMs }) => atMs < nowMs - longAgoMs);
    const shown = known[known.length - 1 - choices.below(Math.min(2, known.length))];
    return shown === undefined ? undefined : Date.parse(shown.record.createdAt) - 1;
  }

  #show(reader: string, record: SimulatedPayment | undefined): void {
    if (record === undefined || record.listedAtMs < this.#beganMs) return;
    const shown = this.#shown.get(reader) ?? [];
    this.#shown.set(reader, shown);
    shown.push({ record, atMs: this.#world.nowMs });
  }
}

/** What a flow notes before it asks for the money. */
function isMark(path: string): boolean {
  return /_size=1(&|$)/.test(path) && !/_(after|before)=/.test(path);
}

function listResponse(page: readonly SimulatedPayment[], age?: number): WireResponse {
  const headers = { "content-type": "application/json", ...(age === undefined ? undefined : { age: String(age) }) };
  return { status: 200, headers, text: `[${page.map(({ text }) => text).join(",")}]` };
}
