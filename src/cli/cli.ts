#!/usr/bin/env node
import { exitCodes } from "./command.js";
import { commands } from "./commands.js";
import { describeError, runCommandLine } from "./run-command.js";
import { processTerminal } from "./terminal.js";

// The reader of the output may have seen enough, as `head` does. What was not read is not known to be well: as programs end by SIGPIPE.
for (const [name, output] of [
  ["stdout", process.stdout],
  ["stderr", process.stderr],
] as const) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(141);
    fail(`${name} can't be written: ${error.message}`, name === "stdout");
  });
}

// Node's own code for these is 1, which says that something was checked.
process.on("uncaughtException", (error) => fail(describeError(error), true));

process.exitCode = await runCommandLine(commands, process.argv.slice(2), processTerminal());

function fail(why: string, canTell: boolean): never {
  if (canTell) process.stderr.write(`cross-border: ${why}\n`);
  process.exit(exitCodes.failed);
}
