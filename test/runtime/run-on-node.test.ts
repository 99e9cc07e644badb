import { readdirSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { readImports } from "../architecture/read-imports.js";

const script = readFileSync("test/runtime/run-on-node.sh", "utf8");
const copied = [...script.matchAll(/"\$root\/((?:test|examples)[^"]*)"/g)]
  .map(([, path = ""]) => path)
  .filter((path) => !path.endsWith(".sh"));
const removed = (/^rm -r (.*)$/m.exec(script)?.[1] ?? "").split(" ");
/** What the script writes itself. */
const written = [...script.matchAll(/ > (test\S+\.ts)$/gm)].map(([, path]) => path);
const packages = [...(/const wanted = \[(.*?)\]/.exec(script)?.[1] ?? "").matchAll(/"([^"]+)"/g)].map(
  ([, name]) => name,
);

function filesOf(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path];
  const inside = readdirSync(path, { recursive: true, encoding: "utf8" });
  return inside.filter((file) => file.endsWith(".ts")).map((file) => posix.join(path, file.replaceAll("\\", "/")));
}

it("copies tests that need nothing but the package, by name, and what the script installs", () => {
  const files = copied.flatMap(filesOf).filter((file) => !removed.some((folder) => file.startsWith(`${folder}/`)));
  expect(files.length).toBeGreaterThan(10);
  const imports = files.flatMap((path) =>
    readImports(readFileSync(path, "utf8")).map(({ specifier = "?", line }) => ({ path, specifier, line })),
  );
  const missing = imports.filter(({ path, specifier }) =>
    specifier.startsWith(".")
      ? ![...files, ...written].includes(posix.join(posix.dirname(path), specifier).replace(/\.js$/, ".ts"))
      : !/^(node:|cross-border-payments(\/|$))/.test(specifier) && !packages.includes(specifier.split("/")[0]),
  );
  expect(missing.map(({ path, specifier, line }) => `${path}:${line} imports ${specifier}`)).toEqual([]);
});
