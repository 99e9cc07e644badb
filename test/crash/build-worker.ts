import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "tsup";

/** The worker's script as one file, made from the entry points of the built package: it starts in a tenth of a second, on any Node. */
export interface BuiltWorker extends AsyncDisposable {
  readonly path: string;
}

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Runs what is published of this working tree: `npm run build` comes first. */
export async function buildWorker(): Promise<BuiltWorker> {
  const folder = await mkdtemp(join(tmpdir(), "cbp-worker-"));
  const alias = await builtEntryPoints();
  // The repository's tsconfig maps the package to its sources; the worker must run what is published.
  const tsconfig = join(folder, "tsconfig.json");
  await writeFile(tsconfig, "{}");
  await build({
    config: false,
    entry: { worker: fileURLToPath(new URL("worker.ts", import.meta.url)) },
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
  // As users do who bundle.
  await copyFile(join(repository, "dist/sqlite-worker.js"), join(folder, "sqlite-worker.js"));
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
  const { name, exports }: Manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8"));
  const entries = Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string" ? [] : [[join(name, path), join(repository, target.import.default)] as const],
  );
  return Object.fromEntries(entries.sort(([one], [other]) => other.length - one.length));
}
