import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { onNode, strictly } from "../support/consumer-flags.js";
import { matrix, tableUnder } from "./install.js";

const { project, tools } = matrix;

/** `test/package/types.test.ts` has the one of this repository. */
const versions = [
  ["5.4", join(tools, "node_modules/typescript-5.4")],
  ["7.0", join(tools, "node_modules/typescript")],
] as const;

const settings = [
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["esnext", "bundler"],
] as const;

/** What a compiler says of a file of the project: nothing where all is well. */
function problems(compiler: string, module: string, moduleResolution: string, file = "consumer.ts"): Promise<string> {
  const resolution = ["--module", module, "--moduleResolution", moduleResolution];
  const flags = [join(compiler, "bin/tsc"), ...strictly, ...onNode, ...resolution, file];
  return new Promise((resolve) => {
    execFile(process.execPath, flags, { cwd: project }, (error, stdout, stderr) => {
      resolve(error === null ? stdout : `${stdout}${stderr}`);
    });
  });
}

it.each(versions)("has types that hold with TypeScript %s", async (_, compiler) => {
  const found = await Promise.all(
    settings.map(async ([module, resolution]) => [resolution, await problems(compiler, module, resolution)]),
  );
  expect(found).toEqual(settings.map(([, resolution]) => [resolution, ""]));
});

it("sees types that do not hold", async () => {
  const wrong = 'import { CrossBorderClient } from "cross-border-payments"; new CrossBorderClient({ baseUrl: 5 });';
  writeFileSync(join(project, "wrong.ts"), wrong);
  const [, compiler = ""] = versions.at(-1) ?? [];
  expect(await problems(compiler, "esnext", "bundler", "wrong.ts")).toMatch(/^wrong\.ts\(1,\d+\): error TS2/);
});

it("has the versions that are documented", () => {
  const [[first = "", older = ""] = [], [last = "", newer = ""] = []] = tableUnder("## TypeScript");
  expect([first.split(" ")[0], last]).toEqual([versions[0][0], versions.at(-1)?.[0]]);
  const names = settings.map(([, resolution]) => `\`${resolution}\``);
  expect([older, newer]).toEqual([names.join(", "), names.join(", ")]);
});
