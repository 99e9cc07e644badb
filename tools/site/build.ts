import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installTools } from "../../test/support/install-tools.js";
import { deadLinksOf } from "./anchors.js";
import { entryPoints } from "./entry-points.js";
import { stage } from "./staging.js";

/** Builds the documentation's site into `tools/site/dist`, and fails on a link or an anchor that leads nowhere. */
const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const entries = join(here, "entries");
const staged = join(here, "staged");
const dist = join(here, "dist");
const tools = join(installTools(here, "site"), "node_modules");

for (const folder of [entries, staged, dist]) rmSync(folder, { recursive: true, force: true });
stage(root, staged);
// It finds TypeDoc beside itself only where TypeDoc is.
cpSync(join(here, "typedoc-throws.mjs"), join(tools, "../typedoc-throws.mjs"));
const plugins = ["typedoc-plugin-markdown/dist/index.js", "../typedoc-throws.mjs"].flatMap((file) => [
  "--plugin",
  join(tools, file),
]);
run("typedoc", "--options", join(here, "typedoc.json"), ...plugins, ...writeEntries());
const landing = join(staged, "reference/index.md");
const modules = readFileSync(landing, "utf8").replace(/^# .*\n/, "");
writeFileSync(landing, readFileSync(join(here, "reference.md"), "utf8") + modules);
mkdirSync(join(staged, ".vitepress/theme"), { recursive: true });
writeFileSync(join(staged, ".vitepress/config.ts"), 'export { default } from "../../vitepress.config.ts";\n');
// VitePress looks for both here, and finds its own theme only from here.
const theme = 'import theme from "vitepress/theme";\nimport "../../../style.css";\nexport default theme;\n';
writeFileSync(join(staged, ".vitepress/theme/index.ts"), theme);
run("vitepress", "build", staged, "--outDir", dist);
for (const file of readdirSync(staged)) {
  if (file.endsWith(".md")) cpSync(join(staged, file), join(dist, file));
}

const dead = deadLinksOf(dist);
for (const link of dead) console.error(`A link leads nowhere: ${link}`);
if (dead.length > 0) process.exitCode = 1;

/** One file for each entry point, so that the reference has the names that users import. */
function writeEntries(): string[] {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, unknown>> };
  };
  const names = Object.keys(compilerOptions.paths).filter((name) => !name.startsWith("#"));
  return names.map((name) => {
    const file = join(entries, `${name}.ts`);
    mkdirSync(dirname(file), { recursive: true });
    const line = entryPoints[name];
    if (line === undefined) throw new Error(`tools/site/entry-points.ts does not name ${name}`);
    writeFileSync(file, `/**\n * ${line}\n *\n * @module\n */\nexport * from ${JSON.stringify(name)};\n`);
    return file;
  });
}

function run(tool: string, ...options: readonly string[]): void {
  execFileSync(join(tools, ".bin", tool), options, { cwd: root, stdio: "inherit" });
}
