import { execFileSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { installTools, npm } from "../support/install-tools.js";

/** The packed package in a project of a user's, with the programs of this folder, and the tools of its package.json. */
export interface Matrix {
  /** The user's project. */
  readonly project: string;
  /** Where the tools' `node_modules` are. */
  readonly tools: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    matrix: Matrix;
  }
}

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Packs what `npm run build` has built. The returned function removes the project; the tools stay for the next time. */
export default function install({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-matrix-"));
  const tarball = pack(folder);
  const project = join(folder, "project");
  cpSync(join(here, "programs"), project, { recursive: true });
  mkdirSync(join(project, "prices"));
  copyFileSync(join(root, "examples/worker/prices-worker.ts"), join(project, "prices/worker.ts"));
  writeFileSync(join(project, "package.json"), '{ "name": "a-gateway", "private": true, "type": "module" }');
  npm(project, "install", tarball);
  provide("matrix", { project, tools: installTools(here, "matrix") });
  return () => rmSync(folder, { recursive: true, force: true });
}

/** @returns the path of the tarball. */
export function pack(folder: string): string {
  if (!existsSync(join(root, "dist/index.js"))) throw new Error("nothing is built: npm run build");
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: root, stdio: "pipe" });
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no tarball");
  return join(folder, name);
}
