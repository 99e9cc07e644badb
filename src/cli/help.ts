import { type Command, Help } from "commander";

/** Adds command lines to the help of a command, and where its connection options are explained. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  const text = `\nExamples:\n${lines.map((line) => `  cross-border ${line}`).join("\n")}`;
  const usesConnection = lines.some((line) => line.includes("--config"));
  return command.addHelpText("after", usesConnection ? `${text}\n\n${connectionHint}` : text);
}

const connectionHint = "Connection options: cross-border help connection";

/** The groups of the overview, in their order. */
export const groups = ["Payments", "Records", "Flows", "Sandbox", "Diagnose", "Keys"] as const;

/** What `cross-border --help` shows: one screen. */
export function overview(program: Command, help: Help): string {
  const rowsOf = (group: string): [string, string][] => {
    const commands = program.commands.filter((command) => command.helpGroup() === group);
    const resources = commands.filter((command) => command.summary() === "");
    const others = commands.filter((command) => !resources.includes(command));
    const names = resources.map((command) => command.name()).join(", ");
    return [
      ...others.map((command): [string, string] => [termOf(command, help), command.summary()]),
      ...(resources.length === 0 ? [] : [["<resource> list | show", `records of: ${names}`] as [string, string]]),
    ];
  };
  const sections = groups.map((group) => ({ group, rows: rowsOf(group) }));
  const width = Math.max(...sections.flatMap(({ rows }) => rows.map(([term]) => term.length)));
  return [
    "Usage: cross-border <command> [options]",
    ...sections.flatMap(({ group, rows }) => [
      help.styleTitle(group),
      ...rows.map(([term, summary]) => help.formatItem(term, width, summary, help)),
    ]),
    "",
    "More: help <command>, help connection, completion bash|zsh|fish, --version.",
    "Exit codes: 0 done, 1 check failed, 2 usage error, 3 failed, 130 interrupted.",
    "Without an installation: npx -p cross-border-payments cross-border <command>",
    "",
  ].join("\n");
}

/** `payments list`, `verify <file>`, and `flows <command>` if it has many. */
function termOf(command: Command, help: Help): string {
  const names = help.visibleCommands(command).map((one) => one.name());
  if (names.length > 2) return `${command.name()} <command>`;
  return [command.name(), names.join(" | "), ...operandsOf(command)].filter((word) => word !== "").join(" ");
}

export function operandsOf(command: Command): readonly string[] {
  return command.registeredArguments.map((operand) => `<${operand.name()}>`);
}

/** What `cross-border help connection` shows. */
export function connectionHelp(program: Command, width: number | undefined): string {
  const help = new Help();
  help.prepareContext({ helpWidth: width ?? 100 });
  const options = program.options.filter(({ long }) => long !== "--version");
  const termWidth = Math.max(...options.map(({ flags }) => flags.length));
  return [
    help.boxWrap(connectionText, width ?? 100),
    "",
    ...options.map(({ flags, description }) => help.formatItem(flags, termWidth, description, help)),
    "",
  ].join("\n");
}

const connectionText =
  "Commands that call the service take these options. Each setting can also be an environment variable or a field of the JSON file. An option counts more than a variable, and a variable more than the file. Secrets are never options: give them in CROSS_BORDER_PASSWORD and CROSS_BORDER_CLIENT_SECRET, in the file, or type the password at a terminal.";

/** An action that gets the options, those of the program included, and then the operands. */
export function action<Options extends object>(run: (options: Options, ...operands: string[]) => Promise<void> | void) {
  return (...given: readonly unknown[]): Promise<void> | void => {
    const command = given.at(-1) as Command;
    return run(command.optsWithGlobals<Options>(), ...(given.slice(0, -2) as string[]));
  };
}
