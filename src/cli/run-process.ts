import { commands } from "./commands.js";
import { fail } from "./outputs.js";
import { describeError, runCommandLine } from "./run-command.js";
import { processTerminal } from "./terminal.js";

/** Runs a command line as this process, and says how it is to end. */
export async function runProcess(line: readonly string[]): Promise<void> {
  // Node's own code for these is 1, which says that something was checked.
  process.on("uncaughtException", (error) => fail(describeError(error), true));
  process.exitCode = await runCommandLine(commands, line, processTerminal());
}
