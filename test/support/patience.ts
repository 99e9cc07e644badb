import { availableParallelism, loadavg } from "node:os";

/** How long a test waits for what has to come. Vitest's own, 1 s, is over on a busy machine before anything was wrong. */
export const patienceMs = Number(process.env.CBP_PATIENCE_MS ?? 120_000);

let slowest = 1;

/** A time that a test lets pass, such as a lease: longer on a busy machine, where what has to happen in it takes longer. It never becomes shorter. */
export function stretched(ms: number): number {
  const [load = 0] = loadavg();
  slowest = Math.max(slowest, Math.ceil(load / availableParallelism() / 4));
  return ms * slowest;
}
