import type { Value } from "./answer.js";
import { NoAnswer } from "./no-answer.js";
import type { Seen } from "./prober.js";

/** When a request was sent and its response came, by the local clock. */
type Timed = Pick<Seen, "sentAtMs" | "receivedAtMs" | "setAtMs">;

/** How far ahead of the local clock one of the service's can be. */
interface ClockRange extends Pick<Timed, "setAtMs"> {
  readonly fromMs: number;
  readonly toMs: number;
}

/** @param fromMs and `toMs`: between which times by the service's clock the response was made. */
export function rangeOf({ sentAtMs, receivedAtMs, setAtMs }: Timed, fromMs: number, toMs: number): ClockRange {
  return { fromMs: fromMs - receivedAtMs, toMs: toMs - sentAtMs, setAtMs };
}

/** The fewest clocks that explain every range, that of the most of them first. @throws {NoAnswer} where the local one was set. */
export function clocksOf(ranges: readonly ClockRange[]) {
  const set = ranges.map(({ setAtMs }) => setAtMs);
  if (Math.max(...set) - Math.min(...set) > 500)
    throw new NoAnswer("this machine's clock was set meanwhile, or it slept");
  const clocks: { fromMs: number; readonly toMs: number; count: number }[] = [];
  for (const { fromMs, toMs } of [...ranges].sort((one, other) => one.toMs - other.toMs)) {
    const last = clocks.at(-1);
    if (last === undefined || fromMs > last.toMs) clocks.push({ fromMs, toMs, count: 1 });
    else {
      last.fromMs = Math.max(last.fromMs, fromMs);
      last.count += 1;
    }
  }
  return clocks.sort((one, other) => other.count - one.count);
}

/** How far ahead the most frequent clock is, and how far the clocks are apart. */
export function betweenClocks(clocks: ReturnType<typeof clocksOf>) {
  const middles = clocks.map(({ fromMs, toMs }) => Math.round((fromMs + toMs) / 2));
  return { aheadMs: middles[0] ?? 0, apartMs: Math.max(...middles) - Math.min(...middles) };
}

/** Of several clocks, chance decides which is the most frequent. */
export function hasMoved(before: Value, now: Value): boolean {
  const isOne = partOf(before, "apartMs") === 0 && partOf(now, "apartMs") === 0;
  const names = isOne ? ["aheadMs"] : ["apartMs"];
  return names.some((name) => Math.abs(partOf(before, name) - partOf(now, name)) > 2000);
}

export function partOf(value: Value, name: string): number {
  return Number(Object(value)[name]);
}
