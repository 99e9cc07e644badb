import { derivedSeed, seededRandom } from "../faults/seeded-random.js";
import { type Host, VirtualTime } from "./virtual-time.js";

type Kind = "journal" | "service" | "bank";

/**
 * How a call that leaves a process goes wrong. `lost`: it doesn't arrive. `unanswered`: its response doesn't. `late`: it arrives after
 * the caller has heard that it failed. `twice`: a copy arrives later.
 */
type Trouble = "lost" | "unanswered" | "late" | "slow" | "twice";

export type Fault =
  | `${Kind} ${Exclude<Trouble, "twice">}`
  | "journal twice"
  | "bank twice"
  /** A process dies, or stands still for longer than its leases, while it waits for a response. */
  | "kill"
  | "stall"
  | "clock"
  | "abort"
  | "token"
  | "declined"
  /** What the service responds with. */
  | "refused"
  | "unauthorized"
  | "throttled"
  | "unavailable"
  | "unconfirmed"
  | "another"
  | "unreadable";

/** How often each thing goes wrong. */
export type Weather = Readonly<Partial<Record<Fault, number>>>;

const latencyMs: Readonly<Record<Kind, number>> = { journal: 30, service: 400, bank: 800 };
/** A journal and a client give up in time; the bank's functions may not. */
const slowMs: Readonly<Record<Kind, number>> = { journal: 5_000, service: 30_000, bank: 300_000 };
const troubles: readonly Trouble[] = ["lost", "unanswered", "late", "slow", "twice"];

/** Time, chance, and what lies between the processes and everything else. */
export class World {
  readonly time = new VirtualTime();
  readonly log: string[] = [];
  readonly random: () => number;
  /** Faults have stopped. */
  isCalm = false;
  /** Ends a process. */
  kill: (host: Host) => void = () => {};
  readonly #weather: Weather;

  constructor(seed: number, weather: Weather) {
    this.random = seededRandom(derivedSeed(seed, 1));
    this.#weather = weather;
  }

  note(text: string): void {
    this.log.push(`${(this.time.nowMs / 1000).toFixed(3).padStart(9)} ${text}`);
  }

  upTo(ms: number): number {
    return Math.floor(this.random() * ms);
  }

  oneOf<T>(choices: readonly T[]): T | undefined {
    return choices[this.upTo(choices.length)];
  }

  meets(fault: Fault): boolean {
    const rate = this.isCalm ? 0 : (this.#weather[fault] ?? 0);
    return rate > 0 && this.random() < rate;
  }

  /** A call that leaves a process: its work is done elsewhere, after a while, and the response comes back after another while. */
  remote<T>(host: Host, kind: Kind, name: string, work: () => Promise<T> | T): Promise<T> {
    const { time } = this;
    const trouble = troubles.find((one) => this.meets(`${kind} ${one}` as Fault));
    const label = `${host.name}: ${name}`;
    if (trouble !== undefined) this.note(`${label} (${trouble})`);
    const soonMs = () => 1 + this.upTo(latencyMs[kind]);
    const arrivesAtMs = time.nowMs + soonMs() + (trouble === "slow" ? this.upTo(slowMs[kind]) : 0);
    // Asking for work is most of what processes do.
    if (!isPolling(name) || this.random() < 0.2) this.#interrupt(host, label, arrivesAtMs);
    const later = (ms: number) => time.at(arrivesAtMs + this.upTo(ms), undefined, () => void this.#late(label, work));
    return new Promise<T>((resolve, reject) => {
      const respond = (answer: () => void) => void time.at(time.nowMs + soonMs(), host, answer);
      const fail = (error: unknown) => respond(() => reject(error));
      const isReset = trouble === "lost" || trouble === "late";
      if (trouble === "late" || trouble === "twice") later(30_000);
      time.at(arrivesAtMs, undefined, () => {
        if (isReset) return fail(new Error(`${name}: the connection was reset`));
        void (async () => work())().then((value) => {
          if (trouble === "unanswered") fail(new Error(`${name}: no response`));
          else respond(() => resolve(value));
        }, fail);
      });
    });
  }

  async #late(label: string, work: () => Promise<unknown> | unknown): Promise<void> {
    this.note(`${label} arrives late`);
    await (async () => work())().catch(() => {});
  }

  #interrupt(host: Host, label: string, arrivesAtMs: number): void {
    // Before or after the call arrives.
    const atMs = this.time.nowMs + this.upTo(2 * (arrivesAtMs - this.time.nowMs));
    if (this.meets("kill")) {
      this.time.at(atMs, undefined, () => {
        if (!this.isCalm && !host.isDead) this.note(`${label}: the process is killed`);
        if (!this.isCalm) this.kill(host);
      });
    } else if (this.meets("stall")) this.#stall(host, label, 2_000 + this.upTo(30_000));
  }

  #stall(host: Host, label: string, ms: number): void {
    this.note(`${label}: the process stands still for ${ms} ms`);
    host.stalledUntilMs = Math.max(host.stalledUntilMs, this.time.nowMs + ms);
  }
}

function isPolling(name: string): boolean {
  return name === "acquireAbandoned" || name === "list" || name.startsWith("renew");
}
