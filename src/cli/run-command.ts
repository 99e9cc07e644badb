import { parseArgs } from "node:util";
import { CrossBorderError } from "../errors/errors.js";
import { Interrupted } from "./ask-secret.js";
import { type Command, type ExitCode, exitCodes, type Given, UsageError } from "./command.js";
import { helpOf, overview } from "./help.js";
import { printableLines } from "./printable.js";
import { print, type Terminal } from "./terminal.js";
import { readVersion } from "./version.js";

/** Finds the command of a command line, and runs it. Never rejects: what goes wrong is written to `stderr`. */
export async function runCommandLine(
  commands: readonly Command[],
  line: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const found = commands.find(({ name }) => name.split(" ").every((word, index) => line[index] === word));
  try {
    if (found !== undefined) return await runCommand(found, line.slice(found.name.split(" ").length), terminal);
    return showWhatThereIs(commands, line, terminal);
  } catch (error) {
    return report(error, found, terminal);
  }
}

async function runCommand(command: Command, line: readonly string[], terminal: Terminal): Promise<ExitCode> {
  if (line.includes("--help") || line.includes("-h")) {
    print(terminal, helpOf(command, terminal.width));
    return exitCodes.done;
  }
  return command.run(parse(command, line), terminal);
}

/** @throws {UsageError} */
function parse({ operands: names, options }: Command, line: readonly string[]): Given<Command["options"]> {
  let parsed: ReturnType<typeof parseArgs>;
  try {
    parsed = parseArgs({ args: [...line], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node goes on to explain what is hardly ever the reason.
    throw new UsageError((error as Error).message.replace(/\. To specify a positional.*/s, ""));
  }
  const { values, positionals: operands } = parsed;
  for (const [name, { isRequired, value }] of Object.entries(options)) {
    if (isRequired && values[name] === undefined) throw new UsageError(`--${name} ${value} is missing`);
  }
  if (operands.length < names.length) throw new UsageError(`${names[operands.length]} is missing`);
  if (operands.length > names.length) {
    throw new UsageError(`${JSON.stringify(operands[names.length])} is one word too many`);
  }
  return { values, operands } as Given<Command["options"]>;
}

function showWhatThereIs(commands: readonly Command[], line: readonly string[], terminal: Terminal): ExitCode {
  const [first] = line;
  if (first === "--version") {
    print(terminal, readVersion());
    return exitCodes.done;
  }
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    print(terminal, overview(commands, terminal.width));
    return first === undefined ? exitCodes.usage : exitCodes.done;
  }
  const inGroup = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name);
  if (inGroup.length === 0) throw new UsageError(`there is no command ${JSON.stringify(first)}`);
  throw new UsageError(`${first} is followed by another word: ${inGroup.join(", ")}`);
}

function report(error: unknown, command: Command | undefined, { stderr }: Terminal): ExitCode {
  if (error instanceof UsageError) {
    const help = command === undefined ? "cross-border --help" : `cross-border ${command.name} --help`;
    stderr.write(`cross-border: ${printableLines(error.message)}\nSee ${help}\n`);
    return exitCodes.usage;
  }
  if (error instanceof Interrupted) return exitCodes.interrupted;
  const isExpected = error instanceof CrossBorderError || isOfSystem(error);
  const said = isExpected ? error.message : ((error as Error)?.stack ?? String(error));
  stderr.write(`cross-border: ${printableLines(said)}\n`);
  return exitCodes.failed;
}

/** A file that is not there, say. */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
