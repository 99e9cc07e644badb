import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { JournalChoice } from "./journal-place.js";

/** `--journal`, `--node` and `--seed`, and an option with a whole number for each of the defaults. */
export function scriptOptions<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): JournalChoice & { readonly seed: number } & Readonly<Record<Name, number>> {
  const names = ["journal", "node", "seed", ...Object.keys(defaults)];
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const { values } = parseArgs({ options });
  const kind = values.journal ?? "sqlite";
  if (kind !== "sqlite" && kind !== "postgres") throw new Error("--journal must be sqlite or postgres");
  const numbers = Object.entries<number>(defaults).map(([name, byDefault]) => [
    name,
    whole(name, values[name]) ?? byDefault,
  ]);
  const seed = whole("seed", values.seed) ?? randomInt(2 ** 31);
  const node = typeof values.node === "string" ? values.node : undefined;
  // The defaults have a number for each of the names.
  const byName = Object.fromEntries(numbers) as Record<Name, number>;
  return Object.assign({ kind, node, seed } as const, byName);
}

function whole(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && /^\d+$/.test(value)) return Number(value);
  throw new Error(`--${name} must be a whole number`);
}

/** Whether this file is the script that was started. */
export function isScript(url: string): boolean {
  return process.argv[1] === fileURLToPath(url);
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
