import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { entryPoints, manifest, project, tarball, tool } from "./installed-package.js";

const files = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" })
  .trim()
  .split("\n")
  .map((file) => file.replace(/^package\//, ""))
  .sort();

it("holds the built files, the licences, what errors lead to, the README and openapi.json, and nothing else", () => {
  const others = files.filter((file) => !/^dist\/(?:[\w-]+\/)?[\w-]+\.(?:c?js|d\.c?ts)$/.test(file));
  expect(others).toEqual([
    "LICENSE",
    "README.md",
    "dist/THIRD-PARTY-LICENSES.txt",
    "dist/docs/error-codes.md",
    "dist/docs/errors.md",
    "dist/docs/llms.txt",
    "openapi.json",
    "package.json",
  ]);
});

it.each(entryPoints)("has code and types for import and for require: %s", (entryPoint) => {
  const name = entryPoint.slice("cross-border-payments/".length) || "index";
  const built = ["js", "cjs", "d.ts", "d.cts"].map((ending) => `dist/${name}.${ending}`);
  expect(files).toEqual(expect.arrayContaining(built));
});

it("stays below 635 kB", () => {
  expect(statSync(tarball).size).toBeLessThan(635_000);
});

it.each(["core.cjs", "core.js"])(
  "finds no file of another release that was installed over it while it runs: %s",
  (core) => {
    const text = readFileSync(join(project, "node_modules/cross-border-payments/dist/shared", core), "utf8");
    // What is loaded late: CommonJS would run it over the core of this release, and fail only where the two differ, money taken.
    const late = Array.from(text.matchAll(/(?:=> require|import)\('(\.\/[^']+)'\)/g), ([, file = ""]) => file);
    expect(late).toHaveLength(5);
    const release = manifest.version.replace(/[^\w-]/g, "-");
    expect(late.filter((file) => !file.includes(`-${release}.`))).toEqual([]);
  },
);

it("has no code that only the documents are made of", () => {
  const documented = files.filter((file) => {
    if (!/^dist\/.*\.c?js$/.test(file)) return false;
    const text = readFileSync(join(project, "node_modules/cross-border-payments", file), "utf8");
    return /^\s*(?:documentation|documentedDefault|logins):/m.test(text);
  });
  expect(documented).toEqual([]);
});

it("names no file that is not in it, by any condition that others may set", () => {
  const { imports, exports } = JSON.parse(
    readFileSync(join(project, "node_modules/cross-border-payments/package.json"), "utf8"),
  );
  const targets = (value: unknown, condition: string): string[] => {
    if (typeof value === "string") return condition === "cross-border-payments-source" ? [] : [value];
    return Object.entries(Object(value)).flatMap(([name, inner]) => targets(inner, name));
  };
  const named = targets({ imports, exports }, "").filter((target) => target.startsWith("./"));
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((target) => !files.includes(target.slice("./".length)))).toEqual([]);
});

it("has a command", () => {
  const printed = execFileSync("npx", ["--no-install", "cross-border", "--version"], {
    cwd: project,
    encoding: "utf8",
  });
  expect(printed.trim()).toBe(manifest.version);
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

it("holds a copy of packages in one CommonJS file only, with their licences", () => {
  const folder = join(project, "node_modules/cross-border-payments");
  const copies = files
    .filter((file) => /\.c?js$/.test(file))
    .flatMap((file) => {
      // What these packages call themselves in the header User-Agent.
      const origins = readFileSync(join(folder, file), "utf8").matchAll(/\bNAME\d* ?= ?"([\w-]+)"/g);
      return [...origins].map(([, name = ""]) => ({ file, name }));
    });
  const licences = readFileSync(join(folder, "dist/THIRD-PARTY-LICENSES.txt"), "utf8");
  expect(copies).toContainEqual({ file: "dist/login.cjs", name: "openid-client" });
  for (const { file, name } of copies) {
    expect(file).toBe("dist/login.cjs");
    expect(licences).toContain(`${name}\n\nThe MIT License`);
  }
});

it("is in order for publint", () => {
  const printed = execFileSync(tool("publint"), ["run", tarball, "--strict"], { encoding: "utf8" });
  expect(printed).toMatch(/All good!/);
});

it.runIf(isThorough)("has types that resolve for every kind of consumer", () => {
  const { status, stdout } = spawnSync(tool("attw"), [tarball, "--profile", "strict"], { encoding: "utf8" });
  expect(status, stdout).toBe(0);
});
