import type { Command } from "commander";

/** Adds command lines to the help of a command, and where its connection options are explained. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  const text = `\nExamples:\n${lines.map((line) => `  cross-border ${line}`).join("\n")}`;
  const usesConnection = lines.some((line) => line.includes("--config"));
  return command.addHelpText("after", usesConnection ? `${text}\n\n${connectionHint}` : text);
}

const connectionHint = "Connection options: cross-border help connection";

/** An action that gets the options, those of the program included, and then the operands. */
export function action<Options extends object>(run: (options: Options, ...operands: string[]) => Promise<void> | void) {
  return (...given: readonly unknown[]): Promise<void> | void => {
    const command = given.at(-1) as Command;
    return run(command.optsWithGlobals<Options>(), ...(given.slice(0, -2) as string[]));
  };
}
