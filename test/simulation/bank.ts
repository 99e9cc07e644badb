import type { FlowFunds } from "cross-border-payments/flow";
import type { Facts } from "../model/laws.js";
import { epochMs } from "./virtual-time.js";
import type { World } from "./world.js";

interface Taken {
  readonly senderGatewayTransactionId: string;
  readonly takenAtMs: number;
  readonly intentId: string;
}

/**
 * The sender's bank: idempotent by key, and its first answer is final.
 * @param aheadMs how far its clock is ahead.
 */
export function modelBank(world: World, aheadMs: number) {
  const states = new Map<string, Facts["bank"]>();
  const takings = new Map<string, Taken>();
  const stateOf = (key: string): Facts["bank"] => states.get(key) ?? "untouched";
  return {
    stateOf,
    takenFor: (key: string): Taken | undefined => takings.get(key),
    take(key: string, intentId: string): FlowFunds | null {
      const state = stateOf(key);
      const taken = takings.get(key);
      if (taken !== undefined) {
        const { senderGatewayTransactionId, takenAtMs } = taken;
        return state === "taken" ? { senderGatewayTransactionId, takenAtMs, replayed: true } : null;
      }
      if (state === "declined" || world.meets("declined")) {
        states.set(key, "declined");
        return null;
      }
      const takenAtMs = epochMs + world.time.nowMs + aheadMs;
      const senderGatewayTransactionId = `TX-${takings.size + 1}`;
      takings.set(key, { senderGatewayTransactionId, takenAtMs, intentId });
      states.set(key, "taken");
      world.note(`the bank takes ${key}`);
      return { senderGatewayTransactionId, replayed: false };
    },
    release(key: string): void {
      if (stateOf(key) !== "taken") return;
      states.set(key, "released");
      world.note(`the bank gives ${key} back`);
    },
  };
}
