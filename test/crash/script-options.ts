import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { wholeOption } from "../support/whole-option.js";
import type { JournalChoice } from "./journal-place.js";

interface CommonOptions<Kind> {
  readonly kind: Kind;
  readonly node?: string | undefined;
  readonly seed: number;
}

/** `--journal`, `--node` and `--seed`, and an option with a whole number for each of the defaults. */
export function scriptOptions<Name extends string>(
  defaults: Readonly<Record<Name, number>>,
): CommonOptions<JournalChoice["kind"]> & Readonly<Record<Name, number>> {
  return scriptOptionsOver(["sqlite", "postgres"], defaults);
}

/** The same, with other journals to choose from, the first one by default. */
export function scriptOptionsOver<Name extends string, Kind extends string>(
  kinds: readonly Kind[],
  defaults: Readonly<Record<Name, number>>,
): CommonOptions<Kind> & Readonly<Record<Name, number>> {
  const names = ["journal", "node", "seed", ...Object.keys(defaults)];
  const options = Object.fromEntries(names.map((name) => [name, { type: "string" } as const]));
  const { values } = parseArgs({ options });
  const kind = kinds.find((each) => each === (values.journal ?? kinds[0]));
  if (kind === undefined) throw new Error(`--journal must be ${kinds.join(" or ")}`);
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
  return value === undefined ? undefined : wholeOption(name, String(value));
}

/** Whether this file is the script that was started. */
export function isScript(url: string): boolean {
  return process.argv[1] === fileURLToPath(url);
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
