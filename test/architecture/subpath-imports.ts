import type { SubpathImports } from "./import-problems.js";

/** The files of `src/` that each `#name` of a package.json can lead to, under any condition. */
export function subpathImports({
  imports = {},
}: {
  readonly imports?: Readonly<Record<string, unknown>>;
}): SubpathImports {
  const files = Object.entries(imports).map(([name, value]): [string, string[]] => [name, sourceFiles(value)]);
  return new Map(files.filter(([, paths]) => paths.length > 0));
}

function sourceFiles(value: unknown): string[] {
  if (typeof value === "string") return value.startsWith("./src/") ? [value.slice("./src/".length)] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(sourceFiles) : [];
}
