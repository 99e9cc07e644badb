import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { toJson } from "./printable.js";

type Style = "bold" | "green" | "red" | "yellow" | "dim";

/** Where a command reads from and writes to. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether `stdout` shows colours. */
  readonly hasColors: boolean;
  /** Of `stdout`, in characters; absent where it is no terminal. */
  readonly width?: number | undefined;
  /** Whether somebody sees `stderr` while `stdout` goes elsewhere. */
  readonly showsProgress: boolean;
  /** Resolves when the user, or who started the process, wants it to end. Until it is called, either ends the process at once. */
  untilStopped(): Promise<void>;
}

/** The one of this process. */
export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const isTerminal = stdout.isTTY === true;
  return {
    ...{ stdin, stdout, stderr, env },
    hasColors: isTerminal && stdout.hasColors(env),
    width: isTerminal ? stdout.columns : undefined,
    showsProgress: stderr.isTTY === true && !isTerminal,
    untilStopped: () =>
      new Promise((resolve) => {
        // A second one is not waited for.
        for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => resolve());
      }),
  };
}

export function print({ stdout }: Terminal, ...lines: readonly string[]): void {
  stdout.write(`${lines.join("\n")}\n`);
}

/** For programs: the whole result as one JSON text. */
export function printJson(terminal: Terminal, value: unknown): void {
  print(terminal, toJson(value, 2));
}

export function styled({ hasColors }: Terminal, style: Style, text: string): string {
  return hasColors ? styleText(style, text) : text;
}
