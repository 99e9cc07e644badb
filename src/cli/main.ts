import { describeError, runCommandLine } from "./program.js";
import { exitCodes, processTerminal } from "./terminal.js";

function fail(why: string): never {
  process.stderr.write(`cross-border: ${why}\n`);
  process.exit(exitCodes.failed);
}

for (const output of [process.stdout, process.stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    // The reader has seen enough, as `head` does. Programs then end as by SIGPIPE.
    if (error.code === "EPIPE") process.exit(141);
    if (output === process.stderr) process.exit(exitCodes.failed);
    fail(`stdout can't be written: ${error.message}`);
  });
}
// Node's own code for these is 1, which means that a check failed.
process.on("uncaughtException", (error) => fail(describeError(error)));
process.exitCode = await runCommandLine(process.argv.slice(2), processTerminal());
