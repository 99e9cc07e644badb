import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { clientFolder } from "../packages.mjs";

export async function sizes() {
  const folder = fileURLToPath(clientFolder);
  const [{ size: tarball }] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
      cwd: folder,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }),
  );
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../../src/index.ts", import.meta.url))],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    packages: "external",
    write: false,
  });
  const entry = gzipSync(outputFiles[0].contents, { level: 9 }).length;
  const kb = (bytes) => `${(bytes / 1000).toFixed(1)} kB`;
  return [
    { work: "tarball", goal: "≤ 150 kB", found: kb(tarball), met: tarball <= 150_000 },
    {
      work: "main entry, minified + gzip, without dependencies",
      goal: "≤ 20 kB",
      found: kb(entry),
      met: entry <= 20_000,
    },
  ];
}
