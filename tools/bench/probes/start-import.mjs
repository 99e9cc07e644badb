import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

/** `start-import.mjs FOLDER import|require`: loads the main entry that the programs of the folder find. */
const [folder, how] = process.argv.slice(2);
const require = createRequire(`${folder}/program.cjs`);
const from = performance.now();
if (how === "require") require("cross-border-payments");
else await import(pathToFileURL(require.resolve("cross-border-payments").replace(/cjs$/, "js")).href);

process.stdout.write(`${JSON.stringify({ ms: performance.now() - from })}\n`);
