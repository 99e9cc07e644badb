import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { build } from "esbuild";
import { programOptions } from "../support/build-programs.js";
import { rulesFile } from "./branches.js";
import { markBranches } from "./mark-branches.js";
import type { Patch } from "./mutations.js";
import { patched, root } from "./patch-sources.js";
import { ruleBranches } from "./rule-branches.js";

/** What decides about payments. */
const marked = /^src\/(flows|payments)\/|^src\/timing\/(timestamp|deadline)|^src\/http\/(call|decision|read-response)/;

/** A program that is one file, and how to remove it. */
export interface Bundle {
  readonly file: string;
  remove(): void;
}

/**
 * Builds the simulation of the sources, with some rules taken out. One file is faster than the loader of sources, from the start to the end.
 *
 * @param options.program which runs it. Default: `npm run simulate`.
 */
export async function bundleSimulation(
  patches: readonly Patch[] = [],
  {
    marksBranches = false,
    program = "test/simulation/simulate.ts",
  }: { readonly marksBranches?: boolean; readonly program?: string } = {},
): Promise<Bundle> {
  const caches = join(root, "node_modules", ".cache");
  mkdirSync(caches, { recursive: true });
  const folder = mkdtempSync(join(caches, "simulation-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const file = join(folder, "simulate.mjs");
  try {
    await build({
      absWorkingDir: root,
      entryPoints: [program],
      outfile: file,
      ...programOptions,
      plugins: [
        {
          name: "patches",
          setup({ onLoad }) {
            onLoad({ filter: /\.ts$/ }, ({ path }) => {
              const name = relative(root, path).split(sep).join("/");
              const own = patches.filter((patch) => patch.file === name);
              const isMarked = marksBranches && marked.test(name);
              if (own.length === 0 && !isMarked) return undefined;
              const source = own.reduce(patched, readFileSync(path, "utf8"));
              return { contents: isMarked ? markBranches(source, name).text : source, loader: "ts" };
            });
          },
        },
      ],
    });
    // What is taken out is not where it was.
    if (marksBranches && patches.length === 0) writeFileSync(join(folder, rulesFile), JSON.stringify(ruleBranches()));
  } catch (error) {
    remove();
    throw error;
  }
  return { file, remove };
}
