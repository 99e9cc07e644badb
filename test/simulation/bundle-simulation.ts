import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { build } from "esbuild";
import { programOptions } from "../support/build-programs.js";
import type { Patch } from "./mutations.js";
import { patched, root } from "./patch-sources.js";

/** A program that is one file, and how to remove it. */
export interface Bundle {
  readonly file: string;
  remove(): void;
}

/**
 * Builds the simulation of the sources, with some rules taken out. One file is faster than the loader of sources, from the start to the end.
 *
 * @param program which runs it.
 */
export async function bundleSimulation(
  patches: readonly Patch[] = [],
  program = "test/simulation/simulate.ts",
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
              if (own.length === 0) return undefined;
              return { contents: own.reduce(patched, readFileSync(path, "utf8")), loader: "ts" };
            });
          },
        },
      ],
    });
  } catch (error) {
    remove();
    throw error;
  }
  return { file, remove };
}
