import { Argument, type Command } from "commander";
import { print, type Terminal } from "./terminal.js";

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

/** What the last word can be; nothing for a file, which shells complete themselves. */
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
