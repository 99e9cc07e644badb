import type { FlowFunds } from "cross-border-payments/flow";
import type { Facts } from "../model/laws.js";
import { epochMs } from "./virtual-time.js";
import type { World } from "./world.js";

interface Taken {
  readonly senderGatewayTransactionId: string;
  readonly takenAtMs: number;
  readonly intentId: string;
}

/** The sender's bank: idempotent by key, and its first answer is final. */
export class ModelBank {
  readonly #world: World;
  readonly #aheadMs: number;
  readonly #states = new Map<string, Facts["bank"]>();
  readonly #taken = new Map<string, Taken>();

  /** @param aheadMs how far its clock is ahead. */
  constructor(world: World, aheadMs: number) {
    this.#world = world;
    this.#aheadMs = aheadMs;
  }

  stateOf(key: string): Facts["bank"] {
    return this.#states.get(key) ?? "untouched";
  }

  takenFor(key: string): Taken | undefined {
    return this.#taken.get(key);
  }

  take(key: string, intentId: string): FlowFunds | null {
    const state = this.stateOf(key);
    const taken = this.#taken.get(key);
    if (taken !== undefined) {
      const { senderGatewayTransactionId, takenAtMs } = taken;
      return state === "taken" ? { senderGatewayTransactionId, takenAtMs, replayed: true } : null;
    }
    if (state === "declined" || this.#world.meets("declined")) {
      this.#states.set(key, "declined");
      return null;
    }
    const takenAtMs = epochMs + this.#world.time.nowMs + this.#aheadMs;
    const senderGatewayTransactionId = `TX-${this.#taken.size + 1}`;
    this.#taken.set(key, { senderGatewayTransactionId, takenAtMs, intentId });
    this.#states.set(key, "taken");
    this.#world.note(`the bank takes ${key}`);
    return { senderGatewayTransactionId, replayed: false };
  }

  release(key: string): void {
    if (this.stateOf(key) !== "taken") return;
    this.#states.set(key, "released");
    this.#world.note(`the bank gives ${key} back`);
  }
}
