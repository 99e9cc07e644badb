import { execFileSync, spawnSync } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";
import type { Patch } from "../simulation/mutations.js";
import { patched } from "../simulation/patch-sources.js";

/** The worker's script as one file, made from the entry points of a package: it starts in a tenth of a second, on any Node. */
export interface BuiltWorker extends AsyncDisposable {
  readonly path: string;
}

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Runs what is published of this working tree: `npm run build` comes first. */
export async function buildWorker(program = "worker.ts"): Promise<BuiltWorker> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-worker-"));
  const entryPoints = await builtEntryPoints();
  // The repository's tsconfig maps the package to its sources; the worker is to run what is published.
  const tsconfig = join(folder, "tsconfig.json");
  await writeFile(tsconfig, "{}");
  return bundle(folder, tsconfig, entryPoints, program);
}

/** The commit of the newest release, whose processes work beside this one's while it is deployed. */
export const newestRelease = "a177657";

/** Whether the sources of a commit are here: a shallow clone has those of its newest commits alone. */
export function hasSourcesOf(commit: string): boolean {
  return (
    spawnSync("git", ["-C", repository, "cat-file", "-e", `${commit}:package.json`], { stdio: "ignore" }).status === 0
  );
}

/** Runs the sources of a commit, with this worker's script. */
export async function buildWorkerOf(commit: string): Promise<BuiltWorker> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-worker-"));
  const extract = `git -C "$0" archive "$1" src package.json tsconfig.json | tar -x -C "$2"`;
  execFileSync("bash", ["-o", "pipefail", "-c", extract, repository, commit, folder]);
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  // Its tsconfig maps the package to the sources beside it.
  return bundle(folder, join(folder, "tsconfig.json"), {});
}

/** Runs the sources of this working tree, with some rules taken out. */
export async function buildPatchedWorker(patches: readonly Patch[]): Promise<BuiltWorker> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-worker-"));
  for (const name of ["src", "package.json", "tsconfig.json"]) {
    await cp(join(repository, name), join(folder, name), { recursive: true });
  }
  for (const patch of patches) {
    const path = join(folder, patch.file);
    await writeFile(path, patched(await readFile(path, "utf8"), patch));
  }
  await symlink(join(repository, "node_modules"), join(folder, "node_modules"));
  return bundle(folder, join(folder, "tsconfig.json"), {});
}

async function bundle(
  folder: string,
  tsconfig: string,
  alias: Record<string, string>,
  program = "worker.ts",
): Promise<BuiltWorker> {
  await build({
    config: false,
    entry: { worker: fileURLToPath(new URL(program, import.meta.url)) },
    outDir: folder,
    format: "cjs",
    target: "node20",
    platform: "node",
    tsconfig,
    esbuildOptions(options) {
      options.alias = alias;
    },
    noExternal: [/./],
    external: ["pg-native", "cloudflare:sockets"],
    silent: true,
  });
  return {
    path: join(folder, "worker.cjs"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly import: { readonly default: string } }>>;
}

async function builtEntryPoints(): Promise<Record<string, string>> {
  const root = process.env.CBP_CRASH_PACKAGE ?? repository;
  const { name, exports }: Manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[join(name, path), join(root, target.import.default)] as const],
  );
  return Object.fromEntries(entries.sort(([one], [other]) => other.length - one.length));
}
