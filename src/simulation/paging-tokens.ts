import type { TokenKind } from "./profile.js";

/** Hands out the paging tokens of a service, each once. Those of `background.ts` are below, or after, all of them. */
export function pagingTokens(
  kind: TokenKind,
  choose: (count: number) => number,
): (madeMs: number) => string | undefined {
  let made = 0;
  const ranges = [100_000, 200_000, 300_000];
  return (madeMs) => {
    made += 1;
    if (kind === "none") return undefined;
    if (kind === "growing") return String(50_000 + made);
    if (kind === "falling") return String(50_000 - made);
    if (kind === "uuid") return uuidOf(choose(4096), made);
    if (kind === "timed") return timedToken(madeMs, made);
    // Each machine has a range of its own.
    const machine = choose(ranges.length);
    const token = (ranges[machine] ?? 0) + 1;
    ranges[machine] = token;
    return String(token);
  };
}

export function uuidOf(random: number, serial: number): string {
  const text = (random * 65_536 + serial).toString(16).padStart(8, "0");
  return `${text}-0000-4000-8000-000000000000`;
}

/** From the time by the clock of the machine that makes the payment, as in a UUID of version 7. */
export function timedToken(madeMs: number, serial: number): string {
  return String(madeMs * 1000 + (serial % 1000));
}
