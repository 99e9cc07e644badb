import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

/** `--journal`, `--node` and `--seed`, and an option with a whole number for each of the defaults. */
export function scriptOptions<Name extends string>(defaults: Readonly<Record<Name, number>>) {
  const names = ["journal", "node", "seed", ...Object.keys(defaults)];
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const { values } = parseArgs({ options });
  const { journal: kind = "sqlite", node } = values;
  if (kind !== "sqlite" && kind !== "postgres") throw new Error("--journal must be sqlite or postgres");
  const numbers = Object.entries<number>(defaults).map(([name, byDefault]) => [
    name,
    whole(name, values[name]) ?? byDefault,
  ]);
  const seed = whole("seed", values.seed) ?? randomInt(2 ** 31);
  // The defaults have a number for each of the names.
  const byName = Object.fromEntries(numbers) as Record<Name, number>;
  return Object.assign({ kind, node, seed } as const, byName);
}

function whole(name: string, value: unknown): number | undefined {
  if (value === undefined) return undefined;
  // With `NaN`, a run would show less than it says.
  if (!/^\d{1,10}$/.test(String(value))) throw new Error(`--${name} must be a whole number`);
  return Number(value);
}

/** Whether this file is the script that was started. */
export function isScript(url: string): boolean {
  return process.argv[1] === fileURLToPath(url);
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
