import { baseUrlOf, firstAddress, nextAddress } from "./addresses.js";
import type { Cluster } from "./cluster.js";
import type { SimulatedJournal } from "./simulated-journal.js";
import type { SimulatedProcess } from "./simulated-process.js";
import type { SimulatedService } from "./simulated-service.js";
import type { Truth } from "./truth.js";
import type { World } from "./world.js";

interface Surroundings {
  readonly world: World;
  readonly cluster: Cluster;
  readonly journal: SimulatedJournal;
  readonly service: SimulatedService;
  readonly truth: Truth;
}

/**
 * The service's base URL changes, once: processes that start from then on reach it at the new one, and move the flows there, again and again,
 * while earlier ones go on under the old one. Once nothing is open or held under that, it may be switched off: it lists nothing then, and
 * refuses what is sent to it.
 */
export class AddressChange {
  readonly #surroundings: Surroundings;
  #moves = 0;

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  plan(): void {
    const { world } = this.#surroundings;
    const { choices, profile } = world;
    world.plan(choices.below(6 * profile.leaseMs), "the service's base URL changes", undefined, () => this.#change());
  }

  /** Once no process of the old address is left, what is open there is shown elsewhere; and then it is moved. */
  async finish(): Promise<void> {
    const { cluster } = this.#surroundings;
    this.#change();
    // Who was stopped wakes up, and goes on under the old address.
    const { world } = this.#surroundings;
    const untilMs = world.nowMs + 4 * world.profile.leaseMs;
    await world.run(() => world.nowMs >= untilMs, mostEvents);
    for (const process of cluster.processes) if (isEarlier(process)) cluster.replace(process);
    await this.#assertShown();
  }

  #change(): void {
    const { world, cluster } = this.#surroundings;
    if (cluster.address === nextAddress) return;
    cluster.address = nextAddress;
    world.note("the service's base URL changes");
    world.marks.happenedToAll("the base URL changes");
    cluster.replace(cluster.any());
    this.#moveOn();
  }

  #moveOn(): void {
    const { world } = this.#surroundings;
    const { leaseMs } = world.profile;
    this.#moves += 1;
    // Once nothing fails any more, only what arrives late is left.
    const patienceMs = world.isQuiet ? this.#moves * leaseMs : leaseMs / 2;
    world.plan(patienceMs + world.choices.below(leaseMs), "a move", undefined, () => void this.#move());
  }

  async #move(): Promise<void> {
    const { world, cluster, service } = this.#surroundings;
    const mover = cluster.processes.find((process) => !isEarlier(process));
    if (mover !== undefined) {
      world.plan(0, "move", mover, () => void this.#moveBy(mover));
    }
    if ((await this.#left()) === 0 && world.choices.chance(700)) service.endAt(firstAddress);
    this.#moveOn();
  }

  async #moveBy(mover: SimulatedProcess): Promise<void> {
    const { world, truth } = this.#surroundings;
    try {
      const { moved, leased, quoted, failed } = await mover.flow.move({ from: { service: baseUrlOf(firstAddress) } });
      world.note(`${moved} flows are moved; left are ${leased.length + quoted.length + failed.length}`);
      for (const { key, error } of failed) truth.notMoved(key, error);
    } catch (error) {
      truth.workerFailed(error);
    }
  }

  /** How many flows are open or held under the old address. */
  async #left(): Promise<number> {
    const scopes = await this.#surroundings.journal.scopes();
    const old = scopes.filter(({ service }) => service === baseUrlOf(firstAddress));
    return old.reduce((sum, { open, held }) => sum + open + held, 0);
  }

  async #assertShown(): Promise<void> {
    const { world, cluster, truth } = this.#surroundings;
    const before = await this.#left();
    const process = cluster.any();
    let shown: number | undefined;
    let isOver = false;
    const count = async () => {
      shown = await countElsewhere(process).catch(() => undefined);
      isOver = true;
    };
    world.plan(0, "held", process, () => void count());
    // One that shuts down shows nothing.
    await world.run(() => isOver || process.isDead, mostEvents);
    // A write of a process that is gone may have arrived meanwhile.
    if (shown !== undefined && before === (await this.#left())) truth.assertShown(before, shown);
  }
}

function isEarlier({ address }: SimulatedProcess): boolean {
  return address === firstAddress;
}

async function countElsewhere({ flow }: SimulatedProcess): Promise<number> {
  let count = 0;
  for await (const found of flow.held()) if (found.status === "elsewhere") count += found.open + found.held;
  return count;
}

const mostEvents = 100_000;
