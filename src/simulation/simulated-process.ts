import type { PaymentFlow } from "../flows/payment-flow.js";
import { type Address, firstAddress } from "./addresses.js";

/** One process of the bank's back end, with clocks of its own. It runs a `PaymentFlow` and a client. */
export class SimulatedProcess {
  readonly name: string;
  /** Whether it belongs to another gateway, and shares the journal only. */
  readonly isForeign: boolean;
  /** Where it reaches the service. */
  readonly address: Address;
  isDead = false;
  /** In the world's time. Whatever reaches it before is delivered then. */
  pausedUntilMs = 0;
  /** How much its wall clock is ahead of the world's time. */
  wallOffsetMs = 0;
  /** How long its monotonic clock has stood still. */
  suspendedMs = 0;
  #flow: PaymentFlow | undefined;

  constructor(name: string, isForeign = false, address = firstAddress) {
    this.name = name;
    this.address = address;
    this.isForeign = isForeign;
  }

  get flow(): PaymentFlow {
    if (this.#flow === undefined) throw new Error(`${this.name} has not been started`);
    return this.#flow;
  }

  start(flow: PaymentFlow): void {
    this.#flow = flow;
  }

  wallMs(worldMs: number): number {
    return worldMs + this.wallOffsetMs;
  }

  monotonicMs(worldMs: number): number {
    return worldMs - this.suspendedMs;
  }
}
