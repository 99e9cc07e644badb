import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import password from "@inquirer/password";
import { Help } from "commander";
import { redactText } from "../core/redact.js";
import { operations } from "../resources/catalogue.js";

const secretNames: ReadonlySet<string> = new Set(
  [...operations.values()].flatMap(({ record, body }) =>
    [...Object.entries(record), ...Object.entries(body?.fields ?? {})]
      .filter(([, kind]) => kind === "secret")
      .map(([name]) => name),
  ),
);

/** Whether a field of this name may be shown. Credentials are shown with `--with-credentials` only, whichever record they are in. */
export function isShown(name: string, withCredentials: boolean): boolean {
  return withCredentials || !secretNames.has(name);
}

/** Replaces controls of the terminal, line breaks, and marks of writing direction by spaces. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\p{Bidi_Control}]/gu, " ");
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** An error's message. Longer words are cut: a setting may have the content of a file, such as a key, in place of its name. */
export function messageOf(error: unknown): string {
  return printableLines(redactText(String((error as Error).message)).replace(/\S{100,}/g, "…"));
}

/** A path or a token as one word for a shell. */
export function asWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}

/** JSON without credentials, unless they are asked for, and without anything that controls a terminal. */
export function toJson(
  value: unknown,
  { indent, withCredentials = false }: { readonly indent?: number; readonly withCredentials?: boolean } = {},
): string {
  const withoutSecrets = (name: string, field: unknown) => (isShown(name, withCredentials) ? field : undefined);
  return JSON.stringify(value, withoutSecrets, indent).replace(
    /[\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As much of the text as fits, with `…` if that isn't all of it. */
export function clipped(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

/** Commander's layout for a window. Without a width, it wraps nothing. */
function layout(width: number | undefined): Help {
  const help = new Help();
  help.minWidthToWrap = 20;
  help.prepareContext({ helpWidth: width ?? Number.POSITIVE_INFINITY });
  return help;
}

export function wrapped(text: string, width: number | undefined): string {
  return layout(width).boxWrap(text, width ?? Number.POSITIVE_INFINITY);
}

/** Two columns. The right one is wrapped. */
export function rows(pairs: readonly (readonly [label: string, text: string])[], width: number | undefined): string {
  const help = layout(width === undefined ? undefined : width + 2);
  const labelWidth = Math.max(...pairs.map(([label]) => help.displayWidth(label)));
  return pairs
    .map(([label, text]) => help.formatItem(label, labelWidth, text, help).replace(/^ {2}/gm, "").trimEnd())
    .join("\n");
}

/** How a process ends. See docs/command.md. */
export const exitCodes = {
  done: 0,
  /** A check failed. For example, a signature is wrong. */
  checkFailed: 1,
  /** The command was called wrongly, and nothing was done. */
  usage: 2,
  /** The command could not do what was asked. */
  failed: 3,
  /** By Ctrl-C: 128 and the number of the signal. */
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends the command with a code, when everything has been said. */
export class Exit extends Error {
  override readonly name = "Exit";
  readonly code: ExitCode;

  constructor(code: ExitCode) {
    super();
    this.code = code;
  }
}

/** The command was called wrongly. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The input and output of a command. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hasColors: boolean;
  /** The width of `stdout` in characters, if it is a terminal. */
  readonly width?: number | undefined;
  /** Whether a person reads `stderr`, and may see the service's own message. */
  readonly showsServiceText: boolean;
  /** Asks for a secret without showing it, if you can type one. Resolves to undefined if you typed nothing. */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** Resolves at Ctrl-C or SIGTERM, which end the process until this is called. */
  untilStopped(): Promise<void>;
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const isTerminal = stdout.isTTY === true;
  return {
    ...{ stdin, stdout, stderr, env },
    hasColors: isTerminal && stdout.hasColors(env),
    // A terminal that doesn't know its width says 0.
    width: isTerminal ? stdout.columns || 80 : undefined,
    showsServiceText: stderr.isTTY === true,
    ask: stdin.isTTY && stderr.isTTY ? askSecret : undefined,
    untilStopped: () =>
      new Promise((resolve) => interruption().signal.addEventListener("abort", () => resolve(), { once: true })),
  };
}

async function askSecret(message: string): Promise<string | undefined> {
  using _ = beforeInterruption(() => void process.stdin.setRawMode(false));
  try {
    return (await password({ message }, { output: process.stderr })) || undefined;
  } catch (error) {
    throw (error as Error).name === "ExitPromptError" ? new Exit(exitCodes.interrupted) : error;
  }
}

/** Ctrl-C, a service manager's request to end, and a window that was closed. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** From now on the first of these signals aborts instead of ending the process. A second one ends it. */
export function interruption(): Disposable & { readonly signal: AbortSignal } {
  const stop = new AbortController();
  return Object.assign(
    onFirstSignal(() => stop.abort()),
    { signal: stop.signal },
  );
}

/** Does `work` when one of these signals arrives, and then lets it end the process. */
export function beforeInterruption(work: () => void): Disposable {
  return onFirstSignal((name) => {
    work();
    process.kill(process.pid, name);
  });
}

function onFirstSignal(act: (name: NodeJS.Signals) => void): Disposable {
  const remove = (): void => {
    for (const name of signals) process.removeListener(name, onSignal);
  };
  const onSignal = (name: NodeJS.Signals): void => {
    remove();
    act(name);
  };
  for (const name of signals) process.on(name, onSignal);
  return { [Symbol.dispose]: remove };
}

export function print({ stdout }: Terminal, ...lines: readonly string[]): void {
  stdout.write(`${lines.join("\n")}\n`);
}

/** Prints the whole result as one JSON text, without credentials. */
export function printJson(terminal: Terminal, value: unknown): void {
  print(terminal, toJson(value, { indent: 2 }));
}

export function styled(
  { hasColors }: Terminal,
  style: "bold" | "green" | "red" | "yellow" | "dim",
  text: string,
): string {
  return hasColors ? styleText(style, text) : text;
}
