/** Prints the journals' figures: how long the write of a claim takes, and how soon another process takes a flow over. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const script = ["--import", "tsx", "test/crash/journal-figures.ts", ...process.argv.slice(2)];
process.exitCode = spawnSync(process.execPath, script, { cwd: root, stdio: "inherit" }).status ?? 1;
