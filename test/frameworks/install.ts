import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { pack } from "../matrix/install.js";
import { installTools, npm } from "../support/install-tools.js";

/** The examples in a project of a user's, with the packed package and the frameworks. */
export interface Frameworks {
  /** The user's project: `frameworks` has the back ends. */
  readonly project: string;
  /** Where the frameworks' `node_modules` are. */
  readonly tools: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    frameworks: Frameworks;
  }
}

/** Packs what `npm run build` has built. The returned function removes the project; the frameworks stay for the next time. */
export default function install({ provide }: TestProject): () => void {
  if (process.env.CBP_POSTGRES_URL === undefined) throw new Error("no PostgreSQL: npm run test:frameworks starts one");
  const tools = installTools(fileURLToPath(new URL(".", import.meta.url)), "frameworks");
  // Below the frameworks, so that they are found from there.
  const project = mkdtempSync(join(tools, "project-"));
  writeFileSync(join(project, "package.json"), '{ "name": "a-bank", "private": true, "type": "module" }');
  npm(project, "install", "--no-package-lock", pack(project));
  for (const folder of ["frameworks", "ledger-sql"]) {
    mkdirSync(join(project, folder));
    cpSync(fileURLToPath(new URL(`../../examples/${folder}`, import.meta.url)), join(project, folder), {
      recursive: true,
      filter: (source) => !/\/(\.next|dist)$/.test(source),
    });
  }
  provide("frameworks", { project, tools });
  return () => rmSync(project, { recursive: true, force: true });
}
