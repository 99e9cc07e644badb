import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, transform } from "esbuild";

const folder = "src/sandbox/console/page";

/** The module that is made of the page's files. See docs/decisions/0035. */
export const consolePagePath = "src/sandbox/console/page-text.ts";

/** The text of that module. */
export async function consolePageModule(): Promise<string> {
  const texts = {
    "": html(),
    "console.css": await css(),
    "console.js": await script(),
  };
  return `/** The console's page, by the names of its files. Made of the files in \`page/\` by \`npm run console:page\`. */
export const pageText: ReadonlyMap<string, string> = new Map(Object.entries(${JSON.stringify(texts, undefined, 2)}));
`;
}

function html(): string {
  return read("index.html").replace(/\n\s*/g, "\n");
}

async function css(): Promise<string> {
  const { code } = await transform(read("console.css"), { loader: "css", minify: true });
  return code;
}

async function script(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(folder, "console.ts")],
    bundle: true,
    minify: true,
    format: "iife",
    target: "es2022",
    charset: "utf8",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

function read(name: string): string {
  return readFileSync(join(folder, name), "utf8");
}
