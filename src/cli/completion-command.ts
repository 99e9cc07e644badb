import { type Command, command, exitCodes, UsageError } from "./command.js";
import { print } from "./terminal.js";

/** What may follow where a value, or an operand, is wanted. */
type Wanted = "files" | readonly string[];

interface CompletedOption {
  readonly name: string;
  readonly help: string;
  /** Absent where it takes no value. */
  readonly value?: Wanted;
}

interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  readonly operand: Wanted;
  readonly options: readonly CompletedOption[];
}

/** @param commands all of them, this one too. */
export function completionCommandOf(commands: () => readonly Command[]): Command {
  return command({
    name: "completion",
    summary: "Prints a script that lets a shell complete commands, options and some of their values.",
    description:
      "SHELL is bash, zsh or fish. It completes an installed cross-border, on the PATH: what npx runs has no name that a shell could complete.",
    operands: ["SHELL"],
    options: {},
    examples: ["completion bash > ~/.local/share/bash-completion/completions/cross-border"],
    async run({ operands: [shell = ""] }, terminal) {
      const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
      if (script === undefined) throw new UsageError(`SHELL is one of ${Object.keys(scripts).join(", ")}`);
      print(terminal, script(commands().map(toCompleted)));
      return exitCodes.done;
    },
  });
}

const scripts: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: (commands) => `${bashHead}\n${body(commands)}\n}\ncomplete -F _cross_border cross-border`,
  zsh: (commands) => `${zshHead}\n${body(commands)}\n}\n${zshTail}`,
  fish,
};

function toCompleted({ name, summary, operands, options }: Command): CompletedCommand {
  return {
    name,
    summary,
    operand: wantedAs(operands[0] ?? ""),
    options: Object.entries(options).map(([option, { type, value = "", help }]) => ({
      name: option,
      help,
      ...(type === "string" && { value: wantedAs(value) }),
    })),
  };
}

/** By what stands for a value in the help: `FILE`, or `table|ndjson|csv`. */
function wantedAs(value: string): Wanted {
  if (/FILE|FOLDER|MODULE/.test(value)) return "files";
  return /^[a-z]+(\|[a-z]+)+$/.test(value) ? value.split("|") : [];
}

/** First words of commands; of those that have a second, with all of them. */
function groupsOf(commands: readonly CompletedCommand[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { name } of commands) {
    const [first = "", second] = name.split(" ");
    groups.set(first, [...(groups.get(first) ?? []), ...(second === undefined ? [] : [second])]);
  }
  return groups;
}

const bashHead = `# bash completion of cross-border
_cross_border_words() { COMPREPLY=($(compgen -W "$*" -- "$current")); }
_cross_border_files() { local IFS=$'\\n'; compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); }
_cross_border() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local first="\${COMP_WORDS[1]}" second="\${COMP_WORDS[2]}" index="$COMP_CWORD"
  COMPREPLY=()`;

const zshHead = `#compdef cross-border
_cross_border_words() { compadd -- "$@"; }
_cross_border_files() { _files; }
_cross_border() {
  local current="\${words[CURRENT]}" previous="\${words[CURRENT-1]}"
  local first="\${words[2]}" second="\${words[3]}" index=$((CURRENT - 1))`;

/** A file that zsh loads by itself is the function's first call; one that is sourced is none. */
const zshTail = `if [ "\${funcstack[1]}" = _cross-border ]; then _cross_border; else compdef _cross_border cross-border; fi`;

/** Writes the body of a function that bash and zsh both understand. */
function body(commands: readonly CompletedCommand[]): string {
  const groups = groupsOf(commands);
  return [
    `  if [ "$index" -eq 1 ]; then _cross_border_words ${[...groups.keys(), "help", "--help", "--version"].join(" ")}; return; fi`,
    '  if [ "$index" -eq 2 ]; then case "$first" in',
    `    help) _cross_border_words ${[...groups.keys()].join(" ")}; return ;;`,
    ...[...groups].flatMap(([first, seconds]) =>
      seconds.length === 0 ? [] : [`    ${first}) _cross_border_words ${seconds.join(" ")} --help; return ;;`],
    ),
    "  esac; fi",
    // A command of one word may be followed by anything.
    '  case "$first $second" in',
    ...commands.flatMap(({ name, operand, options }) => [
      `    "${name}"${name.includes(" ") ? "" : '" "*'}) case "$previous" in`,
      ...options.flatMap(({ name: option, value }) =>
        value === undefined ? [] : [`      --${option}) ${offered(value)} ;;`],
      ),
      `      *) case "$current" in`,
      `        -*) _cross_border_words ${[...options.map(({ name: option }) => `--${option}`), "--help"].join(" ")} ;;`,
      `        *) ${offered(operand)} ;;`,
      "      esac ;;",
      "    esac ;;",
    ]),
    "  esac",
  ].join("\n");
}

function offered(wanted: Wanted): string {
  if (wanted === "files") return "_cross_border_files";
  return wanted.length === 0 ? ":" : `_cross_border_words ${wanted.join(" ")}`;
}

function fish(commands: readonly CompletedCommand[]): string {
  const groups = groupsOf(commands);
  const summaryOf = new Map(commands.map(({ name, summary }) => [name, summary]));
  const add = (condition: string, what: string, help = "") =>
    `complete -c cross-border -n ${quoted(condition)} ${what}${help === "" ? "" : ` -d ${quoted(help)}`}`;
  return [
    "# fish completion of cross-border",
    "function __cross_border_at",
    "  set -l words (commandline -opc)",
    '  test "$words[2..]" = "$argv"',
    "end",
    "function __cross_border_in",
    "  set -l words (commandline -opc)",
    "  set -l end (math 1 + (count $argv))",
    '  test (count $words) -ge $end; and test "$words[2..$end]" = "$argv"',
    "end",
    "complete -c cross-border -f",
    add("__cross_border_at", "-l version"),
    add("__cross_border_at", "-a help"),
    ...[...groups.keys()].flatMap((first) => [
      add("__cross_border_at", `-a ${first}`, summaryOf.get(first)),
      add("__cross_border_at help", `-a ${first}`),
    ]),
    ...[...groups].flatMap(([first, seconds]) =>
      seconds.map((second) => add(`__cross_border_at ${first}`, `-a ${second}`, summaryOf.get(`${first} ${second}`))),
    ),
    "complete -c cross-border -l help",
    ...commands.flatMap(({ name, operand, options }) => {
      const condition = `__cross_border_in ${name}`;
      return [
        ...(operand === "files" ? [add(condition, "-F")] : []),
        ...options.map(({ name: option, help, value }) => add(condition, `-l ${option}${fishValue(value)}`, help)),
      ];
    }),
  ].join("\n");
}

function fishValue(value: Wanted | undefined): string {
  if (value === undefined) return "";
  if (value === "files") return " -r -F";
  return value.length === 0 ? " -x" : ` -x -a ${quoted(value.join(" "))}`;
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
