import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { manifest, project, tarball, tool } from "./installed-package.js";

const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" })
  .trim()
  .split("\n")
  .map((file) => file.replace(/^package\//, ""))
  .sort();

it("holds the built files, licenses, the README and openapi.json, and nothing else", () => {
  const others = files.filter((file) => !/^dist\/(?:[\w-]+\/)?[\w-]+\.(?:c?js|d\.c?ts)$/.test(file));
  expect(others).toEqual([
    "AGENTS.md",
    "LICENSE",
    "README.md",
    "dist/THIRD-PARTY-LICENSES.txt",
    "openapi.json",
    "package.json",
  ]);
});

it("weighs at most 800 kB", () => {
  expect(statSync(tarball).size).toBeLessThanOrEqual(800_000);
});

it("names no file that is not in it, by any condition that others may set", () => {
  const targets = (value: unknown): string[] =>
    typeof value === "string" ? [value] : Object.values(Object(value)).flatMap(targets);
  const named = targets({ imports: manifest.imports, exports: manifest.exports });
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((target) => !files.includes(target.slice("./".length)))).toEqual([]);
});

it("has a command", () => {
  const line = ["--no-install", "cross-border", "--version"];
  expect(execFileSync("npx", line, { cwd: project, encoding: "utf8" }).trim()).toBe(manifest.version);
});

it("brings at most seven packages, itself among them, none with an install script", () => {
  expect(Object.keys(manifest.dependencies).sort()).toEqual(["openid-client", "undici", "zod"]);
  const lock: { readonly packages: Readonly<Record<string, { readonly hasInstallScript?: boolean }>> } = JSON.parse(
    readFileSync(join(project, "package-lock.json"), "utf8"),
  );
  const installed = Object.entries(lock.packages).filter(([path]) => path !== "");
  expect(installed.length).toBeLessThanOrEqual(7);
  expect(installed.filter(([, { hasInstallScript }]) => hasInstallScript === true)).toEqual([]);
});

it("has the licenses of the packages that it holds copies of", () => {
  const licenses = readFileSync(
    join(project, "node_modules/cross-border-payments/dist/THIRD-PARTY-LICENSES.txt"),
    "utf8",
  );
  for (const name of ["openid-client", "oauth4webapi", "jose"])
    expect(licenses).toMatch(new RegExp(`^node_modules/${name}/.+\n\nThe MIT License`, "m"));
});

it("is in order for publint", () => {
  const printed = execFileSync(tool("publint"), ["run", tarball, "--strict"], { encoding: "utf8" });
  expect(printed).toMatch(/All good!/);
});

it.runIf(isThorough)("has types that resolve for every kind of consumer", () => {
  const { status, stdout } = spawnSync(tool("attw"), [tarball, "--profile", "node16"], { encoding: "utf8" });
  expect(status, stdout).toBe(0);
});
