import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { commitBefore, placesBefore } from "./packages.mjs";

const bench = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
/** A folder whose programs find the built client. */
export const clientProject = join(bench, ".client");
const npm = process.platform === "win32" ? "npm.cmd" : "npm";

/** Installs what the client is compared with, unless it is there. */
export function installPeers() {
  if (existsSync(join(bench, "node_modules/.package-lock.json"))) return;
  run(npm, ["ci", "--no-audit", "--no-fund"], bench);
}

/** The Node that everything runs on: a path, or a major version that is fetched from npm where it is not this one. */
export function chooseNode(wanted) {
  if (!/^\d+$/.test(wanted)) return wanted;
  if (process.versions.node.startsWith(`${wanted}.`)) return process.execPath;
  const platform = process.platform === "win32" ? "win" : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const prefix = join(tmpdir(), "cross-border-payments-bench", `node-${wanted}`);
  const binary = join(prefix, "node_modules", name, platform === "win" ? "bin/node.exe" : "bin/node");
  if (!existsSync(binary)) {
    mkdirSync(prefix, { recursive: true });
    run(npm, ["install", "--no-save", "--no-audit", "--no-fund", "--prefix", prefix, `${name}@${wanted}`], prefix);
  }
  return binary;
}

/**
 * Puts the built client where npm would put it: beside the undici that fits `node`, with its other dependencies above.
 *
 * @param dist a folder to use instead of the project's own `dist`.
 */
export function placeClient(node, dist) {
  if (dist === undefined && !existsSync(join(root, "dist/index.js"))) run(npm, ["run", "build"], root);
  const modules = join(bench, ".client/node_modules");
  const folder = join(modules, "cross-border-payments");
  rmSync(modules, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(dist ?? join(root, "dist"), join(folder, "dist"), { recursive: true });
  for (const file of ["package.json", "openapi.json", "README.md", "LICENSE"])
    cpSync(join(root, file), join(folder, file));
  linkUndici(node, modules);
}

/** All contenders use one undici, the newest that this Node runs. */
function linkUndici(node, modules) {
  const print = 'import("./packages.mjs").then((packages) => console.log(packages.undiciName))';
  const undici = execFileSync(node, ["--eval", print], { cwd: bench, encoding: "utf8" }).trim();
  rmSync(join(modules, "undici"), { recursive: true, force: true });
  symlinkSync(join(bench, "node_modules", undici), join(modules, "undici"), "junction");
}

/** Builds and packs that release once, and gives a folder whose programs find it. */
export function placeReleaseBefore(node) {
  const { folder, project } = placesBefore;
  installReleaseBefore(folder, project);
  linkUndici(node, join(project, "node_modules"));
  return project;
}

function installReleaseBefore(folder, project) {
  const sources = join(folder, "sources");
  if (existsSync(join(project, "node_modules/cross-border-payments"))) return;
  rmSync(folder, { recursive: true, force: true });
  run("git", ["clone", "--quiet", "--no-checkout", root, sources], tmpdir());
  run("git", ["checkout", "--quiet", commitBefore], sources);
  run(npm, ["ci", "--no-audit", "--no-fund"], sources);
  mkdirSync(project, { recursive: true });
  run(npm, ["pack", "--pack-destination", folder], sources);
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  writeFileSync(join(project, "package.json"), "{}");
  run(npm, ["install", "--no-audit", "--no-fund", "--ignore-scripts", join(folder, tarball)], project);
}

function run(command, args, cwd) {
  process.stderr.write(`${command} ${args.join(" ")}\n`);
  execFileSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}
