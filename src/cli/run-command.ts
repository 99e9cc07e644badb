import { parseArgs } from "node:util";
import { didYouMean, nearest } from "../core/describe.js";
import { CrossBorderError } from "../core/errors.js";
import { redactText } from "../core/redact.js";
import { Interrupted } from "./ask-secret.js";
import { type Command, type ExitCode, exitCodes, type Given, UsageError } from "./command.js";
import { helpOf, overview } from "./help.js";
import { printableLines } from "./printable.js";
import { program } from "./program.js";
import { serviceText } from "./service-text.js";
import { print, type Terminal } from "./terminal.js";
import { asksForVersion, readVersion } from "./version.js";

/** Finds the command of a command line, and runs it. Never rejects: what goes wrong is written to `stderr`. */
export async function runCommandLine(
  commands: readonly Command[],
  line: readonly string[],
  terminal: Terminal,
): Promise<ExitCode> {
  const wanted = line[0] === "help" && line.length > 1 ? [...line.slice(1), "--help"] : line;
  const found = commands.find(({ name }) => name.split(" ").every((word, index) => wanted[index] === word));
  try {
    if (found !== undefined) return await runCommand(found, wanted.slice(found.name.split(" ").length), terminal);
    return showWhatThereIs(commands, wanted, terminal);
  } catch (error) {
    const { showsServiceText } = terminal;
    return report(error, found, {
      ...terminal,
      showsServiceText: showsServiceText && !line.includes("--no-service-text"),
    });
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
    const message = (error as Error).message.replace(/\. To specify a positional.*/s, "");
    const [, unknown] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
    // Of -format, Node names -f alone.
    const given = unknown === undefined ? undefined : line.find((word) => word.startsWith(unknown));
    throw new UsageError(message + (given === undefined ? "" : didYouMeanOption(given, Object.keys(options))));
  }
  const { values, positionals: operands } = parsed;
  for (const [name, { isRequired, value }] of Object.entries(options)) {
    if (isRequired && values[name] === undefined) throw new UsageError(`--${name} ${value} is missing`);
    if (value === "FILE" && values[name] === "") throw new UsageError(`--${name} ${value} is empty`);
  }
  if (operands.length < names.length) throw new UsageError(`${names[operands.length]} is missing`);
  if (operands.length > names.length) {
    throw new UsageError(`${JSON.stringify(operands[names.length])} is one word too many`);
  }
  return { values, operands } as Given<Command["options"]>;
}

function didYouMeanOption(word: string, options: readonly string[]): string {
  const given = word.replace(/^-+|=.*$/gs, "");
  const meant = nearest(given, options) ?? options.find((name) => given.length > 1 && name.startsWith(given));
  return meant === undefined ? "" : `; did you mean --${meant}?`;
}

function showWhatThereIs(commands: readonly Command[], line: readonly string[], terminal: Terminal): ExitCode {
  const [first] = line;
  if (asksForVersion(line)) {
    print(terminal, readVersion());
    return exitCodes.done;
  }
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    print(terminal, overview(commands, terminal.width));
    return first === undefined ? exitCodes.usage : exitCodes.done;
  }
  const group = commands.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length === 0) throw new UsageError(noCommand(commands, line));
  if (line.slice(1).some((word) => word === "--help" || word === "-h")) {
    print(terminal, overview(group, terminal.width));
    return exitCodes.done;
  }
  throw new UsageError(noCommandOf(group, line));
}

function noCommand(commands: readonly Command[], [first = "", second = ""]: readonly string[]): string {
  if (first.startsWith("-")) return `Unknown option '${first}'${didYouMeanOption(first, ["help", "version"])}`;
  const words = commands.flatMap(({ name }) => [name, name.split(" ")[0] ?? ""]);
  const given = second.startsWith("-") ? first : `${first} ${second}`.trim();
  const hint = didYouMean(given, words) || didYouMean(first, words) || didYouMean(`${second} ${first}`, words);
  return `there is no command ${JSON.stringify(first)}${hint}`;
}

/** @param group the commands that begin with the first word. */
function noCommandOf(group: readonly Command[], [first, second = "-", operand = "-"]: readonly string[]): string {
  const names = group.map(({ name }) => name);
  if (second.startsWith("-")) return `${first} needs another word: ${names.join(", ")}`;
  const given = `${first} ${second}`;
  const missing = group.flatMap((command) => command.missing ?? []).find(({ words }) => words.includes(second));
  if (missing !== undefined) return `${given}: ${missing.say(operand.startsWith("-") ? "ID" : operand)}`;
  return `there is no command ${JSON.stringify(given)}${didYouMean(given, names) || `; there are ${names.join(", ")}`}`;
}

function report(error: unknown, command: Command | undefined, { stderr, showsServiceText }: Terminal): ExitCode {
  if (error instanceof UsageError) {
    const help = command === undefined ? `${program} --help` : `${program} ${command.name} --help`;
    stderr.write(`cross-border: ${printableLines(error.message)}\nSee ${help}\n`);
    return exitCodes.usage;
  }
  if (error instanceof Interrupted) return exitCodes.interrupted;
  const said = showsServiceText ? serviceText(error) : "";
  stderr.write(`cross-border: ${describeError(error)}\n${said === "" ? "" : `The service says: ${said}\n`}`);
  if (error instanceof CrossBorderError) stderr.write(`See ${error.docUrl}\n`);
  return exitCodes.failed;
}

/** For `stderr`: of what nobody expected, with the place in the program. */
export function describeError(error: unknown): string {
  const isExpected = error instanceof CrossBorderError || isOfSystem(error);
  // The system repeats the name of a file, and somebody may have set the file's content, such as a key, in its place.
  return printableLines(redactText(isExpected ? error.message : ((error as Error)?.stack ?? String(error))));
}

/** Whether the system refused something, such as a file that is not there. */
function isOfSystem(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
