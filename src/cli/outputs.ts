import { exitCodes } from "./command.js";

/** Ends the process where what it writes can't be written. */
export function watchOutputs(): void {
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
}

export function fail(why: string, canTell: boolean): never {
  if (canTell) process.stderr.write(`cross-border: ${why}\n`);
  process.exit(exitCodes.failed);
}
