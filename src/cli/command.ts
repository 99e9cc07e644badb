import type { Terminal } from "./terminal.js";

/** One option of a command, for `parseArgs` and for its help. */
export interface CommandOption {
  readonly type: "string" | "boolean";
  readonly multiple?: true;
  readonly value?: string;
  readonly help: string;
  readonly isRequired?: true;
}

export type CommandOptions = Readonly<Record<string, CommandOption>>;

type ValueOf<Option extends CommandOption> = Option extends { readonly type: "boolean" }
  ? boolean | undefined
  : Option extends { readonly multiple: true }
    ? readonly string[] | undefined
    : Option extends { readonly isRequired: true }
      ? string
      : string | undefined;

export interface Given<Options extends CommandOptions> {
  readonly values: { readonly [Name in keyof Options]: ValueOf<Options[Name]> };
  readonly operands: readonly string[];
}

/** How a process ends. See docs/command.md. */
export const exitCodes = {
  done: 0,
  /** It was done, and what it found is not as it should be: a signature that does not fit, say. */
  refuted: 1,
  /** The command was called wrongly, and nothing was done. */
  usage: 2,
  /** The command could not do what was asked. */
  failed: 3,
  /** By Ctrl-C, as shells count it: 128 and the number of the signal. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

export interface Command<Options extends CommandOptions = CommandOptions> {
  /** Its words, such as `keys generate`. */
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  /** The names of what it takes beside options, in the order of the command line. */
  readonly operands: readonly string[];
  readonly options: Options;
  /** Command lines, without the name of the program. */
  readonly examples: readonly string[];
  /** Second words that somebody may type for a command that there can't be, and why there is none. */
  readonly missing?: { readonly words: readonly string[]; readonly say: (operand: string) => string };
  run(given: Given<Options>, terminal: Terminal): Promise<ExitCode>;
}

/** Lets the compiler infer the types of the options' values. */
export function command<const Options extends CommandOptions>(of: Command<Options>): Command {
  return of as unknown as Command;
}

export class UsageError extends Error {
  override readonly name = "UsageError";
}
