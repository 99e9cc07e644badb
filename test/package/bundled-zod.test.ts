import { build } from "esbuild";
import { expect, it } from "vitest";
import { project } from "./installed-package.js";

const imports = 'import { CrossBorderClient } from "cross-border-payments";';
const requires = 'const { CrossBorderClient } = require("cross-border-payments");';
const program = `
  const client = new CrossBorderClient({ baseUrl: globalThis.address, auth: globalThis.auth });
  console.log(await client.payments.list());`;

/** The program as one file, minified. */
async function bundleFor(platform: "browser" | "node", load: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: load + program, resolveDir: project },
    bundle: true,
    minify: true,
    format: "esm",
    platform,
    logLevel: "silent",
    write: false,
  });
  return outputFiles.map(({ text }) => text).join();
}

it.each([
  ["node", "import", imports, { schemas: true, compiler: true, languages: false }],
  ["node", "require", requires, { schemas: true, compiler: true, languages: false }],
  ["browser", "import", imports, { schemas: true, compiler: false, languages: false }],
] as const)("takes of zod what it needs on %s by %s", async (platform, _how, load, wanted) => {
  const text = await bundleFor(platform, load);
  const taken = {
    schemas: text.includes("$ZodString"),
    compiler: text.includes("ZodCompileUnsupportedError"),
    languages: /[\u0400-\u04ff]{4}|(?:\\u04[\da-f]{2}){4}/i.test(text),
  };
  expect(taken).toEqual(wanted);
});
