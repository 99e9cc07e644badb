import { inspect } from "node:util";

/** Every way in which an error gets into a log, its causes included. */
export function shownTexts(error: unknown): string {
  const texts: string[] = [];
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    texts.push(at.message, at.stack ?? "", String(at), inspect(at, { depth: 12 }), JSON.stringify(at) ?? "");
    texts.push(inspect({ ...at }, { depth: 12 }), JSON.stringify(Object.entries(at)));
  }
  return texts.join("\n");
}
