import { readFileSync } from "node:fs";

/** Every code of an error, as the types list them; those of statuses as `http_`. */
export function errorCodes(): string[] {
  const source = readFileSync("src/core/errors.ts", "utf8");
  const unions = source.matchAll(/export type (?:Token)?ErrorCode =\n([\s\S]*?);\n/g);
  return [...unions].flatMap(([, union = ""]) => [...union.matchAll(/\| ["`](\w+)/g)].map(([, code = ""]) => code));
}
