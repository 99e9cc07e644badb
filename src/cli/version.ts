import { readFileSync } from "node:fs";

export function readVersion(): string {
  const file = new URL(import.meta.resolve("cross-border-payments/package.json"));
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version;
}

export function asksForVersion([first]: readonly string[]): boolean {
  return first === "--version" || first === "-v";
}
