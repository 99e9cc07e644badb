import { Exit, print, styled, type Terminal } from "../terminal.js";
import { messageOf, printable, wrapped } from "../text.js";

/** What came of a check or a question. */
export interface Result {
  readonly status: "ok" | "warning" | "failed" | "skipped";
  readonly found: string;
  readonly remedy?: string;
  /** An answer for programs, and for the comparison with an earlier run: nothing that changes by itself, such as a latency. */
  readonly value?: string | Readonly<Record<string, string | number>>;
  /** Options of the library that follow, by where they go. */
  readonly settings?: Readonly<Record<string, object>>;
}

export interface Finding extends Result {
  readonly check: string;
}

export interface Check {
  readonly name: string;
  /** Checks without which it is skipped. */
  readonly needs?: readonly string[];
  run(): Promise<Result>;
}

export const ok = (found: string): Result => ({ status: "ok", found });
export const skipped = (found: string): Result => ({ status: "skipped", found });

export function failed(why: unknown, remedy?: string): Result {
  if (why instanceof Exit) throw why;
  const found = typeof why === "string" ? why : messageOf(why);
  return { status: "failed", found, ...(remedy !== undefined && { remedy }) };
}

/** Runs checks one after the other, and prints a line for each unless the result is for a program. */
export async function examine(checks: readonly Check[], isJson: boolean, terminal: Terminal): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { name: check, needs = [], run } of checks) {
    const isMet = (need: string) => findings.some((one) => one.check === need && /ok|warning/.test(one.status));
    const missing = needs.find((need) => !isMet(need));
    const result = missing === undefined ? await run().catch(failed) : skipped(`it needs: ${missing}`);
    findings.push({ check, ...result });
    if (!isJson) show({ check, ...result }, terminal);
  }
  return findings;
}

const marks = {
  ok: ["green", "ok"],
  warning: ["yellow", "warn"],
  failed: ["red", "FAIL"],
  skipped: ["dim", "skip"],
} as const;

function show({ check, status, found, remedy }: Finding, terminal: Terminal): void {
  const [style, mark] = marks[status];
  const line = `${styled(terminal, style, mark.padEnd(4))}  ${styled(terminal, "bold", `${check}:`)} ${printable(found)}`;
  print(terminal, wrapped(line, terminal.width));
  if (remedy !== undefined) print(terminal, wrapped(`      → ${printable(remedy)}`, terminal.width));
}
