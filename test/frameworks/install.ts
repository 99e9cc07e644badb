import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { tarball } from "../package/installed-package.js";
import { installTools, npm } from "../support/install-tools.js";

if (process.env.CBP_POSTGRES_URL === undefined) throw new Error("no PostgreSQL: npm run test:package starts one");

/** The folder with the `node_modules` of the frameworks. It stays for the next time. */
export const tools = installTools(fileURLToPath(new URL(".", import.meta.url)), "frameworks");

/** A user's project with the examples and the packed package, below the frameworks, so that it finds them. */
export const project = mkdtempSync(join(tools, "project-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));
writeFileSync(join(project, "package.json"), '{ "name": "a-bank", "private": true, "type": "module" }');
npm(project, "install", "--no-package-lock", tarball);
for (const folder of ["frameworks", "ledger-sql"]) {
  mkdirSync(join(project, folder));
  cpSync(fileURLToPath(new URL(`../../examples/${folder}`, import.meta.url)), join(project, folder), {
    recursive: true,
    filter: (source) => !/\/(\.next|dist)$/.test(source),
  });
}
