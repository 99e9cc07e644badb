import { Argument, Command, CommanderError, Help } from "commander";
import { didYouMean } from "../core/describe.js";
import { CrossBorderError } from "../core/errors.js";
import { redactText } from "../core/redact.js";
import { version } from "../wire/open-transport.js";
import { addDoctor } from "./doctor/doctor.js";
import { addFlows } from "./flows/flows.js";
import { addKeys } from "./keys.js";
import { addResources } from "./lists/resources.js";
import { addSandbox } from "./sandbox/sandbox.js";
import { connectionOptions } from "./settings.js";
import {
  clipped,
  Exit,
  type ExitCode,
  exitCodes,
  messageOf,
  print,
  printable,
  printableLines,
  styled,
  type Terminal,
  UsageError,
} from "./terminal.js";
import { addExplainSignature } from "./verify/explain-signature.js";
import { addEvidence, addVerify } from "./verify/verify.js";

/** Every command, over a terminal. */
export function programOf(terminal: Terminal): Command {
  const { stdout, stderr, width } = terminal;
  const program = new Command("cross-border")
    .usage("<command> [options]")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand(false)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(printableLines(text)),
      outputError: (text, write) => write(text.replace(/^error: /, "cross-border: ").replace(/\n\(/, " (")),
      getOutHelpWidth: () => width ?? 80,
      getErrHelpWidth: () => width ?? 80,
    })
    .configureHelp({
      styleTitle: (title) => styled(terminal, "bold", title),
      subcommandTerm: (command) =>
        [command.name(), ...command.registeredArguments.map((operand) => `<${operand.name()}>`)].join(" "),
    })
    .addHelpText("after", overviewEnd);
  for (const option of connectionOptions()) program.addOption(option);
  for (const add of [addResources, addVerify, addEvidence, addFlows, addSandbox]) add(program, terminal);
  for (const add of [addDoctor, addExplainSignature, addKeys, addCompletion]) add(program, terminal);
  addHelp(program);
  // After the commands, which inherit the usual layout. Options are in the help of each command, and of the connection.
  return program.configureHelp({
    ...program.configureHelp(),
    formatHelp: (command, help) =>
      Help.prototype.formatHelp(command, Object.assign(help, { visibleOptions: () => [] })),
  });
}

const overviewEnd = `
More: help <command>, help connection, --version.
Exit codes: 0 done, 1 check failed, 2 usage error, 3 failed, 130 interrupted.
Without an installation: npx -p cross-border-payments cross-border <command>`;

function addHelp(program: Command): void {
  const connection = program.command("connection", { hidden: true }).description(connectionText);
  connection.configureHelp({ commandUsage: () => "cross-border <command> [connection options]" });
  for (const option of connectionOptions()) connection.addOption(option);
  program
    .command("help [command...]", { hidden: true })
    .description("Shows the help of a command, or of the connection options.")
    .action((words: readonly string[]) => {
      const found = words.reduce((command: Command, word) => {
        const next = command.commands.find((one) => one.name() === word);
        const names = command.commands.map((one) => one.name());
        return next ?? command.error(`error: unknown command '${word}'${didYouMean(word, names)}`);
      }, program);
      found.outputHelp();
    });
}

const connectionText =
  "Commands that call the service take these options. Each setting can also be an environment variable or a field of the JSON file. An option counts more than a variable, and a variable more than the file. Secrets are never options: give them in CROSS_BORDER_PASSWORD and CROSS_BORDER_CLIENT_SECRET, in the file, or type the password at a terminal.";

/** Runs a command line. Never rejects, and writes errors to `stderr`. */
export async function runCommandLine(line: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const program = programOf(terminal);
  let path = "";
  program.hook("preAction", (_, command) => {
    path = pathOf(command);
  });
  try {
    if (line.length === 0) program.help({ error: true });
    await program.parseAsync(line, { from: "user" });
    return exitCodes.done;
  } catch (error) {
    const showsServiceText = terminal.showsServiceText && program.opts().serviceText !== false;
    return report(error, path, { ...terminal, showsServiceText });
  }
}

function pathOf(command: Command): string {
  return command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;
}

function report(error: unknown, path: string, { stderr, showsServiceText }: Terminal): ExitCode {
  // Commander has said what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (error instanceof Exit) return error.code;
  if (error instanceof UsageError) {
    stderr.write(`cross-border: ${printableLines(error.message)}\nSee ${path} --help\n`);
    return exitCodes.usage;
  }
  stderr.write(`cross-border: ${describeError(error)}\n`);
  if (!(error instanceof CrossBorderError)) return exitCodes.failed;
  // It may hold names and account numbers, so it isn't for logs.
  const said = clipped(printable(error.serviceMessage ?? ""), 500);
  if (showsServiceText && said !== "") stderr.write(`The service says: ${said}\n`);
  stderr.write(`See ${error.docUrl}\n`);
  return exitCodes.failed;
}

/** The text for `stderr`. An unexpected error has its stack. */
export function describeError(error: unknown): string {
  if (error instanceof CrossBorderError) return messageOf(error);
  const { code, path, syscall, stack } = error as NodeJS.ErrnoException;
  if (syscall === undefined) return printableLines(redactText(stack ?? String(error)));
  const reason = { ENOENT: "file not found", EACCES: "permission denied", EEXIST: "file exists" }[String(code)];
  return reason === undefined ? messageOf(error) : messageOf(new Error(`Can't open ${path}: ${reason}`));
}

const scripts: Readonly<Record<string, string>> = {
  bash: `_cross_border() {
  local IFS=$'\\n'
  COMPREPLY=($(cross-border complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _cross_border cross-border`,
  zsh: `#compdef cross-border
_cross_border() {
  local -a found=("\${(@f)$(cross-border complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _cross_border cross-border`,
  fish: `complete -c cross-border -a '(cross-border complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};

/** Scripts for shells, which ask `complete` at each Tab. */
export function addCompletion(program: Command, terminal: Terminal): void {
  program
    .command("completion")
    .helpGroup("Keys:")
    .summary("print a script that completes in bash, zsh, or fish")
    .description(
      "Prints a script that completes commands, options, and their values in a shell. It needs an installed cross-border on the PATH.",
    )
    .addArgument(new Argument("<shell>", "").choices(Object.keys(scripts)))
    .action((shell: string) => print(terminal, scripts[shell] ?? ""));
  program
    .command("complete [words...]", { hidden: true })
    .description("Prints what the last word can be.")
    .action((words: readonly string[]) => {
      const found = candidates(program, words);
      if (found.length > 0) print(terminal, ...found);
    });
}

/** Completions of the last word. Shells complete files themselves. */
function candidates(program: Command, words: readonly string[]): readonly string[] {
  const before = words.slice(0, -1);
  const word = words.at(-1) ?? "";
  let command = program;
  for (const name of before) command = command.commands.find((one) => one.name() === name) ?? command;
  const options = [...command.options, ...program.options];
  const previous = options.find(({ long }) => long !== undefined && long === before.at(-1));
  const isValue = previous !== undefined && !previous.isBoolean();
  const names = program
    .createHelp()
    .visibleCommands(command)
    .map((one) => one.name());
  const all = isValue
    ? (previous.argChoices ?? [])
    : word.startsWith("-")
      ? [...options.map(({ long }) => long ?? ""), "--help"]
      : [...names, ...command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)];
  return all.filter((one) => one.startsWith(word));
}
