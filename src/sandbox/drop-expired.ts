/** So many of each kind of thing a sandbox remembers, such as requests, sessions and codes: the newest. */
export const mostRemembered = 10_000;

/** Forgets what is over, and what is too much for one entry more, so that what a sandbox keeps does not grow for as long as it runs. */
export function dropExpired(entries: Map<string, { readonly untilMs: number }>, nowMs: number): void {
  for (const [name, { untilMs }] of entries) {
    if (nowMs >= untilMs || entries.size >= mostRemembered) entries.delete(name);
  }
}

/** Adds an entry, and forgets the oldest one where there are too many. */
export function remember<T>(entries: T[], entry: T): void {
  entries.push(entry);
  if (entries.length > mostRemembered) entries.shift();
}
