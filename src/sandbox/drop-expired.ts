/** Forgets what is over, so that what a sandbox keeps does not grow for as long as it runs. */
export function dropExpired(entries: Map<string, { readonly untilMs: number }>, nowMs: number): void {
  for (const [name, { untilMs }] of entries) if (nowMs >= untilMs) entries.delete(name);
}
