import { now } from "../timing/timestamp.js";
import { refusedHoldMs } from "./token-timing.js";

/** A login that was refused to one process, as the others find it in their store: they don't try it at once, since identity servers lock accounts. */
export interface NotedRefusal {
  /** Tells its credentials from others. */
  readonly mark: string;
  readonly status: number;
  /** By the wall clock, the only one that machines share. */
  readonly untilMs: number;
}

export function noteRefusal(mark: string, status = 0): NotedRefusal {
  return { mark, status, untilMs: now().wallMs + refusedHoldMs(1) };
}

/** Whether it is too early to try these credentials. Of a clock that is ahead, a note holds nobody. */
export function holdsBack(refusal: NotedRefusal, mark: string): boolean {
  const leftMs = refusal.untilMs - now().wallMs;
  return refusal.mark === mark && leftMs > 0 && leftMs <= refusedHoldMs(1);
}

export function isNotedRefusal(value: unknown): value is NotedRefusal {
  const { mark, status, untilMs } = Object(value) as Partial<Record<keyof NotedRefusal, unknown>>;
  return typeof mark === "string" && Number.isInteger(status) && Number.isFinite(untilMs);
}
