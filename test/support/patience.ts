/** How long a test waits for what has to come. Vitest's own, 1 s, is over on a busy machine before anything was wrong. */
export const patienceMs = Number(process.env.CBP_PATIENCE_MS ?? 120_000);
