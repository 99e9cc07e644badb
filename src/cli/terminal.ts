import type { Readable, Writable } from "node:stream";
import { styleText } from "node:util";
import { askSecret } from "./ask-secret.js";
import { interruption, untilNpxEnds } from "./interruption.js";
import { toJson } from "./printable.js";

type Style = "bold" | "green" | "red" | "yellow" | "dim";

/** Where a command reads from and writes to. */
export interface Terminal {
  readonly stdin: Readable;
  readonly stdout: Writable;
  readonly stderr: Writable;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hasColors: boolean;
  /** The width of `stdout`, in characters; absent where it is no terminal. */
  readonly width?: number | undefined;
  /** Whether somebody sees `stderr`, and may see what the service said itself. */
  readonly showsServiceText: boolean;
  /**
   * Asks for a secret without showing it; absent where nobody is there to type one. Resolves to undefined where nothing was typed.
   *
   * @throws {Interrupted} on Ctrl-C.
   */
  readonly ask?: ((question: string) => Promise<string | undefined>) | undefined;
  /** Resolves when the user, or who started the process, wants it to end. Until it is called, either ends the process at once. */
  untilStopped(): Promise<void>;
}

export function processTerminal(): Terminal {
  const { stdin, stdout, stderr, env } = process;
  const isTerminal = stdout.isTTY === true;
  return {
    ...{ stdin, stdout, stderr, env },
    hasColors: isTerminal && stdout.hasColors(env),
    // A terminal that does not know its width says 0.
    width: isTerminal ? stdout.columns || 80 : undefined,
    showsServiceText: stderr.isTTY === true,
    ask: stdin.isTTY && stderr.isTTY ? (question) => askSecret(question, stdin, stderr) : undefined,
    untilStopped: () => Promise.race([untilInterrupted(), untilNpxEnds(env)]),
  };
}

function untilInterrupted(): Promise<void> {
  return new Promise((resolve) => interruption().signal.addEventListener("abort", () => resolve(), { once: true }));
}

export function print({ stdout }: Terminal, ...lines: readonly string[]): void {
  stdout.write(`${lines.join("\n")}\n`);
}

/** For programs: the whole result as one JSON text, without credentials. */
export function printJson(terminal: Terminal, value: unknown): void {
  print(terminal, toJson(value, { indent: 2 }));
}

export function styled({ hasColors }: Terminal, style: Style, text: string): string {
  return hasColors ? styleText(style, text) : text;
}
