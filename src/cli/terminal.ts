import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import password from "@inquirer/password";
import { toJson } from "./text.js";

/** How a process ends. See docs/command.md. */
export const exitCodes = {
  done: 0,
  /** It was done, and a check failed: a signature is wrong, for example. */
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

/** Where a command reads from and writes to. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hasColors: boolean;
  /** The width of `stdout`, in characters; absent if it isn't a terminal. */
  readonly width?: number | undefined;
  /** Whether a person reads `stderr`, and may see the service's own message. */
  readonly showsServiceText: boolean;
  /** Asks for a secret without showing it; absent if nobody can type one. Resolves to undefined if nothing was typed. */
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

/** From now on the first of these signals aborts instead of ending the process; a second one ends it. */
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

/** For programs: the whole result as one JSON text, without credentials. */
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
