#!/usr/bin/env node
import { commands } from "./commands.js";
import { runCommandLine } from "./run-command.js";
import { processTerminal } from "./terminal.js";

// Whoever reads the output may have seen enough, as `head` does. What was not read is not known to be well: as programs end by SIGPIPE.
for (const output of [process.stdout, process.stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit(141);
  });
}

process.exitCode = await runCommandLine(commands, process.argv.slice(2), processTerminal());
